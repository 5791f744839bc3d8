from __future__ import annotations

import json
from typing import Any

import pytest

from saffron.control.tables import Tables
from saffron.runtime.log.topics import Topics

TOPICS = Topics("p.")


@pytest.fixture
def tables() -> Tables:
    return Tables(TOPICS, 100)


def put(tables: Tables, topic: str, key: str, value: Any, at: int = 7) -> None:
    tables.apply(topic, key.encode(), None if value is None else json.dumps(value).encode(), at)


def test_streams_begin_with_the_default_one(tables: Tables) -> None:
    assert list(tables.streams.all()) == ["events"]
    trades = {"name": "trades", "topic": "t", "key": "symbol", "schema": None, "disorder": 0, "idle": None}
    put(tables, TOPICS.streams, "trades", trades)
    put(tables, TOPICS.streams, "events", {**trades, "name": "events", "topic": "p.events"})
    assert [(one.name, one.key) for one in tables.streams.all().values()] == [
        ("events", "symbol"),
        ("trades", "symbol"),
    ]
    put(tables, TOPICS.streams, "trades", None)
    assert tables.streams.get("trades") is None
    assert tables.streams.get("events") is not None


def test_models_are_shown_without_their_tables(tables: Tables) -> None:
    model = {"query": "q", "kind": "transitions", "version": [2, 5], "observations": 10, "sha256": "x"}
    put(tables, TOPICS.models, "q/transitions", {**model, "model": {"matrix": []}, "trained_through": {}})
    assert tables.models() == [{**model, "published_at": 7}]
    put(tables, TOPICS.models, "q/transitions", None)
    assert tables.models() == []


def test_load_keeps_the_last_word(tables: Tables) -> None:
    put(tables, TOPICS.load, "matcher/events/0", {"service": "matcher", "position": 1})
    put(tables, TOPICS.load, "matcher/events/0", {"service": "matcher", "position": 2})
    assert tables.load() == [{"service": "matcher", "position": 2}]


def test_partial_matches_of_a_query_add_up_over_partitions(tables: Tables) -> None:
    put(tables, TOPICS.queries, "q", {"name": "q", "version": 1, "op": "add", "text": "x", "from": "now"})
    assert tables.query("q")["partial_matches"] is None
    put(tables, TOPICS.load, "matcher/events/0", {"partial_matches": {"q": 3, "r": 8}})
    put(tables, TOPICS.load, "matcher/events/1", {"partial_matches": {"q": 4}})
    put(tables, TOPICS.load, "force/events/0", {"kind": "force", "query": "q", "n": 2})
    assert tables.query("q")["partial_matches"] == 7
    assert len(tables.load()) == 2


@pytest.mark.parametrize(
    ("topic", "value"),
    [
        (TOPICS.queries, b"{"),
        (TOPICS.queries, b"[1]"),
        (TOPICS.queries, b'{"name": "q"}'),
        (TOPICS.query_status, b'{"name": "q"}'),
        (TOPICS.models, b'{"query": "q"}'),
        (TOPICS.health, b'{"service": "matcher"}'),
        (TOPICS.queries, b"\xff"),
    ],
)
def test_what_nobody_can_read_is_noted_and_skipped(tables: Tables, topic: str, value: bytes) -> None:
    tables.apply(topic, b"q", value, 7)
    (problem,) = tables.problems
    assert (problem["topic"], problem["key"], problem["at"]) == (topic, "q", 7)
    assert tables.queries.names() == []
    assert tables.live.view(0)["services"] == []
    assert tables.models() == []


DIGEST = {
    "service": "matcher", "stream": "events", "partition": 0, "at": 9, "interval_ms": 1000, "events": 0, "results": 0,
    "latency_ms": None, "partial_matches": 0, "watermark": None, "lag": 0,
}  # fmt: skip
SHED = {"why": "shed", "share": 0.5, "keep": None, "estimated": {"q": {"due": 1, "lost": 0, "found": 1, "false": 0}}}
STRANGE: list[tuple[str, dict[str, Any]]] = [
    *(
        (TOPICS.health, {**DIGEST, name: None})
        for name in ("service", "at", "interval_ms", "events", "partial_matches")
    ),
    *((TOPICS.health, {**DIGEST, name: "now"}) for name in DIGEST if name not in ("service", "stream")),
    *((TOPICS.health, {**DIGEST, name: True}) for name in DIGEST),
    *((TOPICS.health, {**DIGEST, name: ["m"]}) for name in DIGEST),
    *((TOPICS.health, {**DIGEST, "interval_ms": value}) for value in (0, -1, 1.5)),
    *((TOPICS.health, {**DIGEST, "latency_ms": value}) for value in ({}, {"p50": 1}, {"p50": 1, "p99": "2"})),
    *((TOPICS.health, {**DIGEST, "service": "shedder", "shed": {**SHED, name: []}}) for name in SHED),
    (TOPICS.health, {**DIGEST, "service": "shedder", "shed": {**SHED, "estimated": {"q": {"due": 1}}}}),
    (TOPICS.health, {**DIGEST, "mistyped": {"x": "many"}}),
    (TOPICS.load, {"partial_matches": None}),
    (TOPICS.load, {"partial_matches": 3}),
    (TOPICS.load, {"partial_matches": {"q": "many"}}),
    (TOPICS.load, {"partial_matches": {"q": True}}),
]


@pytest.mark.parametrize(("topic", "row"), STRANGE)
def test_a_report_of_another_form_is_noted_and_spoils_no_view(tables: Tables, topic: str, row: dict[str, Any]) -> None:
    put(tables, TOPICS.queries, "q", {"name": "q", "version": 1, "op": "add", "text": "x", "from": "now"})
    put(tables, TOPICS.health, "m", {**DIGEST, "at": 8, "events": 5})
    put(tables, TOPICS.load, "m", {"partial_matches": {"q": 2}})
    before = tables.live.view(10), tables.query("q"), tables.load()
    put(tables, topic, "x", row, at=11)
    assert [(one["topic"], one["at"]) for one in tables.problems] == [(topic, 11)]
    assert (tables.live.view(10), tables.query("q"), tables.load()) == before


def test_messages_that_are_read_again_change_nothing(tables: Tables) -> None:
    row = {"name": "q", "version": 1, "op": "add", "text": "x", "from": "now"}
    messages = [
        (TOPICS.queries, row, 0),
        (TOPICS.queries, {**row, "version": 2, "op": "pause"}, 1),
        (TOPICS.health, {**DIGEST, "events": 3}, 5),
        (TOPICS.health, {**DIGEST, "events": 4}, 6),
    ]
    for topic, body, offset in messages:
        tables.apply(topic, b"q", json.dumps(body).encode(), 7, offset)
    before = tables.query("q"), tables.live.view(10)
    assert (before[0]["version"], tables.next_offset(TOPICS.health)) == (2, 7)
    for topic, body, offset in messages[::2]:
        tables.apply(topic, b"q", json.dumps(body).encode(), 8, offset)
    assert (tables.query("q"), tables.live.view(10)) == before


def test_what_services_write_is_read(tables: Tables) -> None:
    put(
        tables, TOPICS.health, "s", {**DIGEST, "service": "shedder", "shed": SHED, "latency_ms": {"p50": 1, "p99": 2.5}}
    )
    put(
        tables,
        TOPICS.health,
        "m",
        {**DIGEST, "service": "model_builder", "stream": None, "partition": None, "lag": None},
    )
    assert not tables.problems
    overload = tables.live.view(10)["overload"]
    assert (overload["why"], overload["missed"]) == ("shed", {"q": 0.0})


def test_problems_are_bounded_and_a_missing_key_is_no_accident(tables: Tables) -> None:
    for _ in range(100):
        tables.apply(TOPICS.queries, None, b"{", 7)
    assert 0 < len(tables.problems) < 100


def test_applying_again_changes_nothing(tables: Tables) -> None:
    query = {"name": "q", "version": 1, "op": "add", "text": "x", "from": "now"}
    put(tables, TOPICS.queries, "q", query)
    before = tables.queries.view("q")
    put(tables, TOPICS.queries, "q", query)
    assert tables.queries.view("q") == before
