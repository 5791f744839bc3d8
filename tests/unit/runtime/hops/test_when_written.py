"""Counts wait for the log: each is reported once, or forgotten."""

from __future__ import annotations

from saffron.runtime.hops.when_written import WhenWritten
from saffron.runtime.telemetry.metric_names import BLOCKS
from saffron.runtime.telemetry.metrics import Metrics


def made() -> tuple[Metrics, WhenWritten[int]]:
    metrics = Metrics()
    return metrics, WhenWritten(metrics.add)


def test_what_is_sealed_is_reported_in_order_once_it_is_written() -> None:
    metrics, counts = made()
    counts.add(BLOCKS, 1, "t")
    counts.written_while(lambda mark: True)
    assert metrics.value(BLOCKS, "t") == 0, "not sealed"
    counts.seal(1)
    counts.add(BLOCKS, 10, "t")
    counts.seal(2)
    counts.written_while(lambda mark: mark <= 1)
    assert (metrics.value(BLOCKS, "t"), counts.waits) == (1, True)
    counts.written()
    assert (metrics.value(BLOCKS, "t"), counts.waits) == (11, False)


def test_after_a_restart_the_log_says_which_were_written() -> None:
    metrics, counts = made()
    for mark in (1, 2, 3):
        counts.add(BLOCKS, 10**mark, "t")
        counts.seal(mark)
    counts.add(BLOCKS, 5, "t")
    counts.drop()
    assert counts.settle(lambda mark: mark <= 2)
    assert (metrics.value(BLOCKS, "t"), counts.waits) == (110, False)
    counts.seal(4)
    counts.written()
    assert metrics.value(BLOCKS, "t") == 110, "what was dropped never counts"
    counts.seal(5)
    assert not counts.settle(lambda mark: False)
