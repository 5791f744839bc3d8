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
from saffron.runtime.results.marks import Mark, Marks
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
    marks = Marks(told.append)
    marks.note([failure("q", 2)], 7)
    marks.note([failure("q", 2)], 9)
    assert [(one.name, one.version) for one in told] == [("q", 2)]
    assert marks.at(8) == (Mark("q", 2, 7),)
    marks.passed(block(change("add", "q", 2)), 7)
    marks.passed(block(change("remove", "q", 1), change("fail", "other", 3, added=3)), 8)
    assert marks.at(9) == (Mark("q", 2, 7),), "none of these ends version 2"
    marks.passed(block(change("fail", "q", 4, added=2)), 10)
    assert marks.at(10) == (Mark("q", 2, 7, until=10),), "a place in the middle of that block still needs it"
    assert marks.at(11) == ()


def test_whoever_takes_over_stops_it_before_the_block_or_behind_it() -> None:
    marks, operator = Marks(lambda failure: None), Stopped()
    marks.take_over([Mark("before", 1, 7), Mark("behind", 1, 7, 3)])
    for offset in (6, 7, 8, 9):
        marks.stop(operator, offset)  # type: ignore[arg-type]
        if offset == 7:
            assert operator.stopped == [("before", 1)]
    assert operator.stopped == [("before", 1), ("behind", 1)]
    assert marks.left_out(7, 2) == frozenset()
    assert marks.left_out(7, 3) == marks.left_out(7, 4) == {"behind"}


def test_what_the_log_says_needs_no_mark() -> None:
    marks = Marks(lambda failure: None)
    marks.note([failure("q", logged=True)], 7)
    assert marks.at(7) == ()


def test_marks_and_counts_go_with_the_committed_place() -> None:
    place = Place(7, 5, 6, {"a": 3, "b": 2}, (Mark("q", 2, 7, 3), Mark("r", 1, 6, until=7)))
    kept = Place.of(place.committed(InputState("topic")))
    assert kept is not None
    assert kept.place == place
    assert Place.of(Committed(7)) is None


def test_so_many_that_fail_at_once_are_no_fault_of_theirs() -> None:
    marks = Marks(lambda failure: None)
    marks.note([failure(f"query{number}") for number in range(200)], 7)
    with pytest.raises(SaffronError, match="200 queries failed at once"):
        Place(7, 0, 7, failed=marks.at(7)).committed(InputState("topic"))


def test_results_of_a_query_that_is_gone_do_not_count() -> None:
    from saffron.runtime.results.chain_plan import index_behind

    class Results:
        names = ("a", "c")
        query = np.array([0, 1, 0], np.int32)

    place = Place(7, 5, 6, {"a": 1, "b": 3, "c": 1})
    assert index_behind(place, Results()) == 2  # type: ignore[arg-type]
