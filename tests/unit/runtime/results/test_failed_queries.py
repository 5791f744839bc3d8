"""Where queries stop that have failed on a partition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.operators.containment import Failure
from saffron.errors import SaffronError
from saffron.runtime.hops.input_state import InputState
from saffron.runtime.log import Committed
from saffron.runtime.results.chain_plan import Place
from saffron.runtime.results.failed_queries import FailedQueries, FailedQuery, failed_queries_in, failed_queries_text
from saffron.runtime.results.query_counts import counts_of
from tests.unit.runtime.fakes import columns


class Stopped:
    """An operator that notes what it is to stop."""

    def __init__(self) -> None:
        self.stopped: list[tuple[str, int]] = []

    def stop(self, name: str, version: int, reason: str) -> None:
        assert reason
        self.stopped.append((name, version))


def failure(name: str, version: int = 1, **more: Any) -> Failure:
    return Failure(name, version, "advancing", 5, "why", **more)


def block(*controls: Control) -> Block:
    return Block(columns([], [], []), 0, 0, 0, controls=controls)


def change(op: str, name: str, version: int, **more: Any) -> Control:
    return Control(0, "query", {"op": op, "name": name, "version": version, **more})


def test_a_mark_is_told_once_and_kept_until_the_log_says_it() -> None:
    told: list[Failure] = []
    failed = FailedQueries(told.append)
    failed.add([failure("q", 2)], 7)
    failed.add([failure("q", 2)], 9)
    assert [(one.name, one.version) for one in told] == [("q", 2)]
    assert failed.to_commit(8) == (FailedQuery("q", 2, 7),)
    failed.block_applied(block(change("add", "q", 2)), 7)
    failed.block_applied(block(change("remove", "q", 1), change("fail", "other", 3, added=3)), 8)
    assert failed.to_commit(9) == (FailedQuery("q", 2, 7),), "none of these ends version 2"
    failed.block_applied(block(change("fail", "q", 4, added=2)), 10)
    assert failed.to_commit(10) == (FailedQuery("q", 2, 7, ended_at=10),), (
        "a place in the middle of that block still needs it"
    )
    assert failed.to_commit(11) == ()


def test_whoever_takes_over_stops_it_before_the_block_or_behind_it() -> None:
    failed, operator = FailedQueries(lambda failure: None), Stopped()
    failed.take_over([FailedQuery("before", 1, 7), FailedQuery("behind", 1, 7, 3)], 6)
    for offset in (6, 7, 8, 9):
        failed.stop_before(operator, offset)  # type: ignore[arg-type]
        if offset == 7:
            assert operator.stopped == [("before", 1)]
    assert operator.stopped == [("before", 1), ("behind", 1)]
    assert failed.excluded(7, 2) == frozenset()
    assert failed.excluded(7, 3) == failed.excluded(7, 4) == {"behind"}


def test_what_the_log_says_needs_no_mark() -> None:
    failed = FailedQueries(lambda failure: None)
    failed.add([failure("q", logged=True)], 7)
    assert failed.to_commit(7) == ()


def test_marks_and_counts_go_with_the_committed_place() -> None:
    place = Place(7, 5, 6, counts_of({"a": 3, "b": 2}), (FailedQuery("q", 2, 7, 3), FailedQuery("r", 1, 6, ended_at=7)))
    kept = Place.from_committed(place.to_committed(InputState("topic")))
    assert kept is not None
    assert kept.place == place
    assert Place.from_committed(Committed(7)) is None


def test_so_many_that_fail_at_once_are_no_fault_of_theirs() -> None:
    failed = FailedQueries(lambda failure: None)
    failed.add([failure(f"query{number}") for number in range(200)], 7)
    with pytest.raises(SaffronError, match="200 queries failed at once"):
        Place(7, 0, 7, failed=failed.to_commit(7)).to_committed(InputState("topic"))


def test_results_of_a_query_that_is_gone_do_not_count() -> None:
    from saffron.runtime.results.chain_plan import next_index

    class Results:
        names = ("a", "c")
        query = np.array([0, 1, 0], np.int32)

    place = Place(7, 5, 6, counts_of({"a": 1, "b": 3, "c": 1}))
    assert next_index(place, Results()) == 2  # type: ignore[arg-type]


def test_entries_are_read_as_they_were_written() -> None:
    entries = (FailedQuery("q", 1, 5), FailedQuery("\u00fc/x", 2, 7, 3, 9))
    assert failed_queries_in(failed_queries_text(entries)) == entries
    assert failed_queries_text(()) == b""
    assert failed_queries_in(b"") == ()
