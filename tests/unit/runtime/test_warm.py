"""Compiling a query ahead of time, in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from saffron.engine.events.schema import Kind, Schema
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.match.operator import MatchOperator
from saffron.runtime.warm import Request, Warming

KINDS = {"n": Kind.INT, "f": Kind.FLOAT, "b": Kind.BOOL, "s": Kind.STRING}
SCHEMA = schema_to_record(Schema(KINDS, {"A": ("n", "f"), "B": ("b", "s")}, {"A": frozenset(), "B": frozenset()}))


def request(name: str, version: int = 1, text: str = "PATTERN SEQ(A a, B b) WITHIN 1 second") -> Request:
    return Request("saffron.engine.match.operator:MatchOperator", name, version, text, "events", SCHEMA)


def test_the_block_brings_the_query_and_an_event_of_each_type() -> None:
    operator = MatchOperator(partition=0, compiled=False)
    block = request("q").block()
    assert block.columns.type.values == ("A", "B")
    assert len(operator.apply(block)) == 1
    assert operator.statuses()["q"].state == "active"


@pytest.mark.slow
def test_requests_are_compiled_one_after_the_other_and_only_the_newest_version(tmp_path: Path) -> None:
    warming = Warming(tmp_path)
    for asked in (request("a"), request("b", 1), request("b", 2), request("broken", 1, "PATTERN")):
        warming.ask(asked)
    done: list[Request] = []
    while len(done) < 3:
        done += warming.step()
        warming.wait(10)
    assert [(one.name, one.version) for one in done] == [("a", 1), ("b", 2), ("broken", 1)]
    assert list(tmp_path.glob("kernel_*.py")), "the sources are kept where the service looks for them"
    warming.close()
