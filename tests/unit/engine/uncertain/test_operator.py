"""Imprecise time through the operators: from JSON to results, by the schema and by CONFIDENCE; what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.json_schema import from_json_schema
from saffron.engine.events.raw import batch_of_values
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.windows import WindowingOperator
from saffron.records.query import QueryRecord

TS = {"type": ["integer", "array"]}


def schema_of(ts: Mapping[str, Any]) -> Any:
    def branch(name: str, **attributes: str) -> dict[str, Any]:
        properties = {"type": {"const": name}, "ts": ts, **{k: {"type": kind} for k, kind in attributes.items()}}
        return {"type": "object", "properties": properties}

    branches = [
        branch("ReducerStart", task="string"),
        branch("LoadStd", task="string", val="number"),
        branch("ReducerEnd", task="string"),
    ]
    return from_json_schema({"oneOf": branches})


EVENTS: Sequence[Mapping[str, Any]] = (
    {"type": "ReducerStart", "ts": 10, "task": "r"},
    {"type": "LoadStd", "ts": [5, 14], "task": "r", "val": 0.2},
    {"type": "LoadStd", "ts": [12, 21], "task": "r", "val": 0.3},
    {"type": "LoadStd", "ts": [12, 11], "task": "r", "val": 0.9},
    {"type": "LoadStd", "ts": [13, 22], "task": "q", "val": 0.9},
    {"type": "ReducerEnd", "ts": 22, "task": "r"},
    {"type": "ReducerStart", "ts": 4, "task": "late"},
)
QUERY = """PATTERN SEQ(ReducerStart a, LoadStd+ b[], ReducerEnd c)
WHERE [task] AND b[i].val >= b[i-1].val WITHIN 10 minutes RETURN b.len AS loads"""


def run(
    text: str, events: Sequence[Mapping[str, Any]] = EVENTS, ts: Mapping[str, Any] = TS, block: int = 4096
) -> tuple[list[dict[str, Any]], list[str], str]:
    """(results, reasons of dead letters, why the query was refused)."""
    windowing = WindowingOperator(0, "events", schema_of(ts), disorder_ms=8, max_block_events=block)
    matcher = MatchOperator(partition=0, compiled=False)
    windowing.query("q", QueryRecord("q", 1, "add", text))
    windowing.ingest(batch_of_values([orjson.dumps(event) for event in events]))
    windowing.advance_watermark(10**6, end=True)
    found: list[dict[str, Any]] = []
    for one in windowing.flush():
        found += _results(matcher, one)
    letters = [f"{letter.reason}: {letter.detail}" for letter in windowing.take_dead_letters()]
    statuses = matcher.statuses()
    notices = [str(notice.reason) for notice in windowing.take_notices() if notice.state == "rejected"]
    return found, letters, statuses["q"].reason if "q" in statuses else "".join(notices)


def _results(matcher: MatchOperator, block: Block) -> list[dict[str, Any]]:
    results = matcher.apply(block)
    assert np.all(np.diff(results.position) >= 0)
    return [orjson.loads(text) for text in results.json(0, len(results))]


def test_from_json_to_matches() -> None:
    found, letters, refused = run(QUERY + " CONFIDENCE >= 0.3")
    assert refused == ""
    assert [letter.split(":")[0] for letter in letters] == ["bad-ts", "late"]
    assert [(one["return"]["loads"], one["confidence"]) for one in found] == [(1, 1.0), (1, 0.4), (2, 0.34)]
    best = found[0]
    assert best["events"]["b"] == [{"seq": 2, "ts": [12, 21], "type": "LoadStd", "task": "r", "val": 0.3}]
    assert (best["key"], best["start"], best["end"], best["window"]) == ({"task": "r"}, 10, 22, None)
    assert list(best)[-2:] == ["return", "confidence"]


def test_the_threshold() -> None:
    assert len(run(QUERY)[0]) == 3
    assert len(run(QUERY + " CONFIDENCE >= 0.4")[0]) == 2
    assert len(run(QUERY + " CONFIDENCE >= 1")[0]) == 1


@pytest.mark.parametrize("block", [1, 2, 3])
def test_blocks(block: int) -> None:
    assert run(QUERY, block=block) == run(QUERY)


def test_the_distribution_is_the_schemas() -> None:
    last_bar = {**TS, "x-time": {"distribution": [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]}}
    assert [one["confidence"] for one in run(QUERY, ts=last_bar)[0]] == [1.0, 1.0, 1.0]


def test_confidence_over_exact_times_is_certainty() -> None:
    exact = [event for event in EVENTS if isinstance(event["ts"], int)]
    exact.insert(1, {"type": "LoadStd", "ts": 12, "task": "r", "val": 0.3})
    found, _, refused = run(QUERY + " CONFIDENCE >= 0.5", exact, {"type": "integer"})
    assert (refused, [one["confidence"] for one in found]) == ("", [1.0])
    assert "confidence" not in run(QUERY, exact, {"type": "integer"})[0][0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("WITHIN 10 minutes", "WITHIN 5 EVENTS"), "no positions to count"),
        (("WITHIN 10 minutes", "WITHIN 10 minutes OPEN ON ReducerStart"), "leave OPEN ON out"),
        (("RETURN", "OUTPUT FIRST RETURN"), "OUTPUT chooses among matches"),
        (("RETURN", "CONSUME b RETURN"), "CONSUME takes matches"),
        (("RETURN", "TIME STRICT RETURN"), "leave TIME out"),
        (("LoadStd+ b[]", "LoadStd{2,3} b[]"), "SEQ of events and A+"),
        (("b.len AS loads", "a.ts"), "ts has no single value"),
        (("AND b[i]", "AND c.ts - a.ts < 5 s AND b[i]"), "ts has no single value"),
        (("WHERE [task]", "WHERE skip-till-next-match { [task] }"), "skip-till-next-match"),
        (("b.len AS loads", "COUNT(*)"), "exact times"),
    ],
)
def test_what_has_no_meaning_is_refused_with_the_reason(change: tuple[str, str], said: str) -> None:
    text = QUERY.replace(*change)
    if "{ [task]" in text or "COUNT" in text:
        text = text.replace(" AND b[i].val >= b[i-1].val", "")
    found, _, refused = run(text)
    assert said in refused
    assert found == []


def test_events_dropped_for_the_query_serve_no_match() -> None:
    windowing = WindowingOperator(0, "events", schema_of(TS), disorder_ms=8)
    windowing.query("q", QueryRecord("q", 1, "add", QUERY))
    windowing.ingest(batch_of_values([orjson.dumps(event) for event in EVENTS]))
    windowing.advance_watermark(10**6, end=True)
    (block,) = windowing.flush()
    dropped = np.where(block.columns.seq == 2, np.uint64(1), np.uint64(0))
    found = _results(
        MatchOperator(partition=0, compiled=False), replace(block, columns=replace(block.columns, dropped=dropped))
    )
    assert [one["events"]["b"][0]["seq"] for one in found] == [0]


def test_a_late_query_sees_the_past_and_a_snapshot_keeps_it() -> None:
    windowing = WindowingOperator(0, "events", schema_of(TS), disorder_ms=0, max_block_events=2)
    body = QueryRecord("q", 1, "add", QUERY, "earliest")
    windowing.ingest(batch_of_values([orjson.dumps(event) for event in sorted(EVENTS[:3], key=str)][::-1]))
    windowing.ingest(batch_of_values([b'{"type":"LoadStd","ts":[15,20],"task":"r","val":1}']))
    windowing.ingest(batch_of_values([b'{"type":"ReducerEnd","ts":22,"task":"r"}']))
    blocks = windowing.flush()
    windowing.query("q", body)
    windowing.ingest(batch_of_values([b'{"type":"ReducerEnd","ts":23,"task":"r"}']))
    later = windowing.flush()
    matcher = MatchOperator(partition=0, compiled=False)
    for one in blocks:
        matcher.apply(one)
    found = []
    for one in later:
        results = matcher.apply(one, lambda: iter([*blocks, *later]))
        found += [orjson.loads(text) for text in results.json(0, len(results))]
        again = MatchOperator(partition=0, compiled=False)
        again.restore(matcher.snapshot())
        matcher = again
    ends = [one["events"]["c"]["ts"] for one in found]
    assert set(ends) == {22, 23}
    assert ends.count(22) == ends.count(23)
    assert matcher.statistics()["results"] == {"q": len(found)}
    assert matcher.observations() == {}
