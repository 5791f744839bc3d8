"""Ctrl-C at any time of `saffron demo`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.command.command import Command, interrupt, read_until

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.mark.parametrize("moment", ["starting", "waiting for the broker", "waiting for windowing", "producing"])
def test_ctrl_c_leaves_nothing_running(moment: str, tmp_path: Path) -> None:
    saffron = Command(tmp_path / "data")
    with saffron.start("demo", "--data", str(saffron.data)) as process:
        read_until(process, moment)
        rest = interrupt(process)
        assert process.returncode == 130, rest
    assert "Traceback" not in rest
    assert saffron.survivors() == []
