"""Compiling a query ahead of time, in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.match.match_operator import MatchOperator
from saffron.runtime.kernels.warm import Request, Warming
from saffron.schema.schema import Kind, Schema

OPERATOR = "saffron.engine.match.match_operator:MatchOperator"
KINDS = {"n": Kind.INT, "f": Kind.FLOAT, "b": Kind.BOOL, "s": Kind.STRING}
SCHEMA = schema_to_record(Schema(KINDS, {"A": ("n", "f"), "B": ("b", "s")}, {"A": frozenset(), "B": frozenset()}))


def request(name: str, version: int = 1, text: str = "PATTERN SEQ(A a, B b) WITHIN 1 second") -> Request:
    return Request(OPERATOR, name, version, text, "events", SCHEMA)


def test_the_block_brings_the_query_and_an_event_of_each_type() -> None:
    operator = MatchOperator(partition=0, compiled=False)
    block = request("q").block()
    assert block.columns.type.values == ("A", "B")
    assert len(operator.apply(block)) == 1
    assert operator.statuses()["q"].state == "active"


@pytest.mark.slow
def test_requests_are_compiled_one_after_the_other_and_only_the_newest_version(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warming = Warming(tmp_path, OPERATOR)
    for asked in (request("a"), request("b", 1), request("b", 2), request("broken", 1, "PATTERN")):
        warming.ask(asked)
    done = finished(warming, 3)
    assert [(one.name, one.version) for one in done] == [("a", 1), ("b", 2), ("broken", 1)]
    assert [record.args for record in caplog.records] == []
    assert list(tmp_path.glob("kernel_*.py")), "the sources are kept where the service looks for them"
    warming.close()


@pytest.mark.slow
def test_a_child_that_dies_is_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    warming = Warming(tmp_path, OPERATOR)
    assert warming._child is None, "there is nothing to do"
    warming.ask(request("a"))
    warming.step()
    assert warming._child is not None
    warming._child.kill()
    assert [one.name for one in finished(warming, 1)] == ["a"]
    assert "compiling query a ahead of time failed: gone" in caplog.text
    warming.ask(request("b"))
    assert [one.name for one in finished(warming, 1)] == ["b"]
    assert len(caplog.records) == 1
    warming.close()


def finished(warming: Warming, count: int) -> list[Request]:
    done: list[Request] = []
    while len(done) < count:
        done += [one.request for one in warming.step() if not one.failure]
        warming.wait(10)
    return done
