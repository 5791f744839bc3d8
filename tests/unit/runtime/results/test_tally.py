"""What a chain keeps book of: only what is committed counts."""

from __future__ import annotations

import numpy as np

from saffron.runtime.results.tally import Tally
from tests.unit.runtime.fakes import FakeResults

RESULTS = FakeResults([("a", 0), ("a", 1), ("b", 0)])


def test_results_count_when_they_are_committed() -> None:
    tally = Tally()
    tally.block_applied(40.0, 50.0)
    tally.results_written(RESULTS, 0, 2, 20)
    assert (tally.results, tally.drain_latencies()) == (0, {})
    tally.transaction_committed(70.0)
    assert tally.results == 2
    tally.results_written(RESULTS, 2, 3, 5)
    tally.block_finished(50.0)
    tally.transaction_committed(90.0)
    assert {query: times.tolist() for query, times in tally.drain_latencies().items()} == {"fake": [70.0, 70.0, 90.0]}
    assert {stage: times.tolist() for stage, times in tally.drain_stages().items()} == {
        "apply": [10.0],
        "commit": [40.0],
    }
    assert (tally.results, tally.commits) == (3, 2)
    assert (tally.drain_latencies(), tally.drain_stages()) == ({}, {})


def test_results_of_the_past_count_and_have_no_latency() -> None:
    tally = Tally()
    tally.results_written(FakeResults([("a", 0), ("a", 1), ("b", 0)], past=np.array([True, True, False])), 0, 3, 9, [0])
    tally.transaction_committed(70.0)
    assert tally.results == 2
    assert {query: times.tolist() for query, times in tally.drain_latencies().items()} == {"fake": [70.0]}
    tally.results_written(FakeResults([("a", 0)], past=np.array([True])), 0, 1, 9)
    tally.transaction_committed(80.0)
    assert (tally.results, tally.drain_latencies()) == (3, {})


def test_results_that_are_too_large_are_counted_apart() -> None:
    tally = Tally()
    tally.results_written(RESULTS, 1, 3, 8, [2])
    tally.transaction_committed(70.0)
    assert (tally.results, tally.too_large) == (1, 1)
    assert {query: times.tolist() for query, times in tally.drain_latencies().items()} == {"fake": [70.0]}


def test_what_is_aborted_never_counts() -> None:
    tally = Tally()
    tally.results_written(RESULTS, 0, 3, 9, [0])
    tally.block_finished(50.0)
    tally.transaction_begun()
    tally.transaction_committed(70.0)
    assert (tally.results, tally.too_large, tally.drain_latencies(), tally.drain_stages()) == (0, 0, {}, {})


def test_the_writing_of_results_is_told_by_query_and_once() -> None:
    tally = Tally()
    tally.results_written(RESULTS, 0, 2, 600)
    tally.results_written(RESULTS, 2, 3, 100)
    assert tally.drain_writing() == {"fake": 700}
    assert tally.drain_writing() == {}
