"""Commands beside a system that runs: a second `up` calls ready only what is, and none says that nothing runs."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
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


@pytest.mark.parametrize("command", ["up", "down", "status", "doctor"])
def test_a_system_of_another_version_is_not_taken_for_none(tmp_path: Path, command: str) -> None:
    me = processes.identify(os.getpid())
    assert me is not None
    (tmp_path / "state.json").write_text(json.dumps({"supervisor": asdict(me), "of_another_version": 1}), "utf-8")
    done = CliRunner().invoke(main.app, [command, "--data", str(tmp_path)])
    told = f"{done.output} {done.exception}".replace("\n", " ")
    assert f"another version of Saffron runs under {tmp_path}" in told
    assert f"kill {me.pid}" in told
    assert done.exit_code == 1


def test_a_second_up_says_which_of_its_options_have_no_effect(tmp_path: Path) -> None:
    me = processes.identify(os.getpid())
    assert me is not None
    write_state(tmp_path, SystemState("running", "", me, "p.", "127.0.0.1:1", True, 1, None, "", ()))
    up = ["up", "--data", str(tmp_path)]
    options = ["--partitions", "4", "--latency-bound", "1s", "--without", "control"]
    told = CliRunner().invoke(main.app, [*up, *options]).output.replace("\n", " ")
    assert "started with, without --partitions, --latency-bound, --without: `saffron down` first" in told
    assert "started with" not in CliRunner().invoke(main.app, up).output
