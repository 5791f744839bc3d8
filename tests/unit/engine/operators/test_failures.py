"""Failures of queries: the query and its readers end, each once, and nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from saffron.engine.operators.containment import ADVANCING, READING, failure_text, unnoted
from saffron.engine.operators.failures import Ending, Failures
from saffron.engine.operators.standing import StandingQuery
from saffron.records.status import FAILED, QueryStatus
from tests.unit.schema.test_own_functions import HOSTILE

Query = StandingQuery[str]
READERS = {"maker": ["reader"], "reader": ["last"]}


class Bench:
    """Three queries, each a reader of the one before; notes what the engine is asked to do."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.queries = {
            name: Query(name, 1, "", 0, earliest=False, runs=f"runs of {name}") for name in ("maker", "reader", "last")
        }
        ending: Ending[Query] = Ending(
            readers=lambda one: [self.queries[name] for name in READERS.get(one.name, [])],
            has_touched_others=lambda one: one.name == "reader",
            close=lambda runs: self.done.append(f"close {runs}"),
            leave=lambda one: self.done.append(f"leave {one.name}"),
            forget=lambda one: self.done.append(f"forget {one.name}"),
            settled=lambda: self.done.append("settled"),
        )
        self.failures: Failures[Query] = Failures(ending, unnoted)

    def told(self) -> list[tuple[str, str, bool, bool]]:
        return [(one.name, one.step, one.anew, one.logged) for one in self.failures.take()]


def fails(bench: Bench, name: str) -> None:
    with bench.failures.step(bench.queries[name], ADVANCING):
        raise ValueError("no")


def test_its_readers_end_with_a_query() -> None:
    bench = Bench()
    bench.failures.position = 7
    fails(bench, "maker")
    maker, reader, last = bench.queries.values()
    assert maker.failure == "advancing at position 7: ValueError: no"
    assert reader.failure == "query maker failed, whose results it reads"
    assert last.failure == "query reader failed, whose results it reads"
    assert bench.told() == [
        ("maker", ADVANCING, False, False),
        ("reader", READING, True, False),
        ("last", READING, False, False),
    ]
    assert bench.told() == []
    assert bench.done == [
        step for name in ("maker", "reader", "last") for step in (f"close runs of {name}", f"forget {name}")
    ]


def test_the_others_go_on() -> None:
    bench = Bench()
    fails(bench, "last")
    assert [one.failure != "" for one in bench.queries.values()] == [False, False, True]
    assert bench.queries["maker"].runs == "runs of maker"


def test_the_engine_settles_once_for_all_that_ended() -> None:
    bench = Bench()
    bench.failures.settle()
    assert bench.done == []
    fails(bench, "maker")
    fails(bench, "maker")
    bench.failures.settle()
    bench.failures.settle()
    assert bench.done.count("settled") == 1
    assert len(bench.told()) == 3


def test_what_the_log_ends_is_reported_first() -> None:
    bench = Bench()
    bench.failures.end_here(bench.queries["reader"], "the log says so")
    assert bench.done == ["leave reader", "forget reader", "leave last", "forget last"]
    assert bench.told() == [("last", READING, False, True)]
    assert bench.queries["maker"].failure == ""


def test_a_query_that_failed_before_ends_now_or_once_it_comes() -> None:
    bench = Bench()
    bench.failures.stop("last", 1, "it killed the process", bench.queries["last"])
    assert bench.queries["last"].failure == "it killed the process"
    bench.failures.stop("reader", 2, "it killed the process", bench.queries["reader"])
    assert bench.queries["reader"].failure == ""
    again: dict[int, Any] = {version: Query("reader", version, "", 0, earliest=False) for version in (2, 3)}
    for query in again.values():
        bench.failures.added(query)
    assert [query.failure for query in again.values()] == ["it killed the process", ""]


EXCEPTIONS = [error for error in HOSTILE if isinstance(error, Exception)]


@pytest.mark.parametrize("error", EXCEPTIONS, ids=lambda error: type(error).__name__)
def test_the_reason_fits_a_record_whatever_the_exception_says(error: Exception) -> None:
    reason = failure_text(ADVANCING, 7, error)
    assert reason.startswith(f"advancing at position 7: {type(error).__name__}")
    assert QueryStatus("q", 1, "matcher", "events", 0, FAILED, reason, 7).encode()
    assert len(reason) < 1000


def test_each_of_several_versions_that_failed_before_ends_once_it_comes() -> None:
    bench = Bench()
    for version in (2, 4):
        bench.failures.stop("reader", version, "it killed the process", bench.queries["reader"])
    again: dict[int, Any] = {version: Query("reader", version, "", 0, earliest=False) for version in (2, 3, 4)}
    for query in again.values():
        bench.failures.added(query)
    assert [query.failure for query in again.values()] == ["it killed the process", "", "it killed the process"]
