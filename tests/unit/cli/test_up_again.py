"""A second `up`: it says what the first one has come to, and calls ready only what is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from saffron.cli import main
from saffron.runtime.local import processes
from saffron.runtime.local.state import SystemState, write_state


@pytest.mark.parametrize("phase", ["starting", "running", "stopping"])
def test_a_second_up_calls_ready_only_what_runs(tmp_path: Path, phase: str) -> None:
    me = processes.identify(os.getpid())
    assert me is not None
    write_state(tmp_path, SystemState(phase, "", me, "p.", "127.0.0.1:1", True, 1, None, "", ()))
    done = CliRunner().invoke(main.app, ["up", "--data", str(tmp_path)])
    assert f"a system runs already under {tmp_path} ({phase})" in done.output.replace("\n", "")
    assert ("ready: Kafka at" in done.output) == (phase == "running")
    assert done.exit_code == 0
