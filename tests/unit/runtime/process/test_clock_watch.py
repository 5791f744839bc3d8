"""A wall clock that is set while a service runs: the service begins anew."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from saffron.runtime.log.kafka.consumer import Waiting
from saffron.runtime.process.clock_watch import ClockWatch
from saffron.runtime.service import _serve
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metrics import Metrics

HOUR = 3_600_000


@dataclass
class Clocks:
    """Both clocks of a machine."""

    wall: int = 1_777_000_000_000
    steady: int = 5_000

    def watch(self) -> ClockWatch:
        return ClockWatch(lambda: self.wall, lambda: self.steady)

    def go(self, ms: int, set_by: int = 0) -> None:
        self.steady += ms
        self.wall += ms + set_by


@pytest.mark.parametrize("set_by", [HOUR, -HOUR, 2_001])
def test_a_setting_is_noticed(set_by: int) -> None:
    clocks = Clocks()
    watch = clocks.watch()
    clocks.go(30 * HOUR)
    assert watch.set_by() == 0
    clocks.go(10, set_by)
    assert watch.set_by() == set_by
    assert clocks.watch().set_by() == 0, "for one that begins now it is as it is"


def test_a_leap_second_is_none() -> None:
    clocks = Clocks()
    watch = clocks.watch()
    clocks.go(10, -1_000)
    assert watch.set_by() == 0


@dataclass
class Steps:
    """A service that sets the clock in its third step."""

    clocks: Clocks
    steps: int = 0
    closed: list[int] = field(default_factory=list)

    def step(self, now_ms: int, wait: float = 0.0) -> bool:
        self.steps += 1
        self.clocks.go(10, -HOUR if self.steps == 3 else 0)
        return True

    def close(self, now_ms: int) -> None:
        self.closed.append(now_ms)


def test_a_service_ends_in_order_then() -> None:
    clocks = Clocks()
    service = Steps(clocks)
    assert (
        _serve(
            service,
            Waiting(),
            Health("test"),
            Metrics(),
            cast("Any", SimpleNamespace(requested=False)),
            clocks.watch(),
            lambda now_ms: None,
        )
        == -HOUR
    )
    assert service.steps == 3
    assert len(service.closed) == 1
