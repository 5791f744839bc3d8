"""A system that was started for a benchmark or an experiment does not outlive it."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack

import pytest
from bench.shared.system import ended_when_told


def test_being_told_to_end_leaves_what_it_began_in_good_order() -> None:
    before, ended = signal.getsignal(signal.SIGTERM), list[str]()

    def told() -> None:
        with ended_when_told(), ExitStack() as began:
            began.callback(ended.append, "system")
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit, match="143"):
        told()
    assert ended == ["system"]
    assert signal.getsignal(signal.SIGTERM) == before
