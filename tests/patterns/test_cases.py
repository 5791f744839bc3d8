"""Every text case, at several block sizes, and with a snapshot and restore between any two blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.raw import batch_of_lines
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.operators.aggregates import registered
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.engine.windows.operator import WindowingOperator
from saffron.errors import QueryError
from saffron.language import compile_query, explain_text
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.records.query import QueryRecord
from saffron.schema.schema import END_OF_TIME, Schema
from tests.patterns.aggregates import known
from tests.patterns.case import Case, read_case

CASES = [read_case(path) for path in sorted(Path(__file__).parent.glob("*.case"))]
RUNNABLE = [case for case in CASES if {"matches", "trends", "results"} & set(case.sections)]

Make = Callable[[], MatchOperator | TrendOperator]


def ids(case: Case) -> str:
    return case.path.stem


def results(case: Case, block_events: int, restarts: bool) -> list[dict[str, Any]]:
    """The case's results through windowing and the engine that its plan asks for, kernels run as Python."""
    query, events = case.sections["query"], batch_of_lines(case.events())
    schema = infer_schema([events])
    with known(case.sections.get("aggregates", "").split()):
        plan = plan_of(case, None)
        name = plan.name
        windowing = WindowingOperator(0, "events", schema, max_block_events=block_events)
        for other, text in {**case.beside(), name: query}.items():
            windowing.query(other, QueryRecord(other, 1, "add", text))
        windowing.ingest(events)
        windowing.advance_watermark(END_OF_TIME, end=True)
        kind = MatchOperator if isinstance(plan, MatchPlan) else TrendOperator
        found = list(_run(windowing, lambda: kind(partition=0, compiled=False), restarts))
    return [result for result in found if result["query"] == name]


def plan_of(case: Case, schema: Schema | None) -> Plan:
    """The case's query, bound as the services bind it."""
    text = case.sections["query"]
    return compile_query(text, schema, name="case", lenient=schema is None, aggregates=frozenset(registered()))


def _run(windowing: WindowingOperator, make: Make, restarts: bool) -> Iterator[dict[str, Any]]:
    operator = make()
    for block in windowing.flush():
        found = operator.apply(block)
        yield from map(json.loads, found.json(0, len(found)))
        if restarts:
            fresh = make()
            fresh.restore(operator.snapshot())
            operator = fresh


def match_line(result: dict[str, Any]) -> str:
    """ "0; 1,2; -": sequence numbers by component, "-" for one that is not bound."""
    parts = [event if isinstance(event, list) else [event] for event in result["events"].values()]
    return "; ".join(",".join(str(event["seq"]) for event in part if event) or "-" for part in parts)


def trend_line(result: dict[str, Any]) -> str:
    """ "[0,10) sector='tech' 43": window, group, COUNT(*); or what RETURN has, as JSON."""
    low, high = result["window"]
    group = [f"{name}={value!r}" for name, value in result["group"].items()]
    returned = result["return"]
    alone = list(returned) == ["COUNT(*)"]
    return " ".join([f"[{low},{high})", *group, str(returned["COUNT(*)"]) if alone else json.dumps(returned)])


@pytest.mark.parametrize("block_events", [1, 2, 3, 1000])
@pytest.mark.parametrize("case", RUNNABLE, ids=ids)
def test_results_at_any_block_size(case: Case, block_events: int) -> None:
    found = results(case, block_events, restarts=False)
    if "matches" in case.sections:
        assert [match_line(result) for result in found] == case.lines("matches")
    if "trends" in case.sections:
        assert [trend_line(result) for result in found] == case.lines("trends")
    if "results" in case.sections:
        assert found == [json.loads(line) for line in case.lines("results")]


@pytest.mark.parametrize("case", RUNNABLE, ids=ids)
def test_a_restart_between_any_two_blocks_changes_nothing(case: Case) -> None:
    assert results(case, 1, restarts=True) == results(case, 1000, restarts=False)


@pytest.mark.parametrize("case", [case for case in CASES if "explain" in case.sections], ids=ids)
def test_explain(case: Case) -> None:
    printed = [line.strip() for line in explain_text(compile_query(case.sections["query"], None)).splitlines()]
    position = 0
    for line in case.lines("explain"):
        assert line in printed[position:], f"{line!r} is not (or not in this order) in\n" + "\n".join(printed)
        position = printed.index(line, position) + 1


@pytest.mark.parametrize("case", [case for case in CASES if "error" in case.sections], ids=ids)
def test_error(case: Case) -> None:
    schema = infer_schema([batch_of_lines(case.events())]) if "events" in case.sections else None
    with pytest.raises(QueryError) as caught:
        compile_query(case.sections["query"], schema)
    assert str(caught.value).strip() == case.sections["error"].strip()
