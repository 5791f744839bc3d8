"""Arrays of events: read by every engine, whatever the cuts and restarts, and as the reference matcher reads them."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

import saffron
from saffron.engine.events.block import Block, Control
from saffron.engine.events.column_operations import slice_columns
from saffron.engine.events.decoding.ndjson import decode_ndjson
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.errors import QueryError
from saffron.language import bind, explain_text
from saffron.runtime.result_formats.forms import codec
from saffron.schema.numbers import shown
from saffron.schema.schema import Kind, Schema
from tests.reference.match.answers import answers, returned
from tests.reference.match.question import names, question

EVENTS: list[dict[str, Any]] = [
    {
        "type": "A", "ts": 1, "k": 1, "l": ["x", 1.0, {"k": 2}],
        "o": [{"s": "S1", "n": 2, "b": True}, {"s": "S2", "n": 5}],
    },
    {"type": "B", "ts": 2, "k": 1, "l": [], "o": [{"s": "S1", "n": 1}], "x": 1},
    {"type": "B", "ts": 3, "k": 1, "o": [{"s": "S9", "n": 7}], "x": 2},
]  # fmt: skip
WITHIN = " WITHIN 1 h "


@pytest.mark.filterwarnings("ignore:query warning")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "PATTERN SEQ(A a, B b) WHERE [k] AND length(a.o) = 2 AND contains(a.l, 1) AND b.o[1].n > 0" + WITHIN
            + "RETURN length(b.l), a.o[2].s, a.o[1] AS one, a.o[3].x AS none, a.o[2].n + 1 AS more, a.l",
            [{"length(b.l)": 0, "o[2].s": "S2", "one": {"s": "S1", "n": 2, "b": True}, "none": None, "more": 6,
              "l": ["x", 1, {"k": 2}]}],
        ),
        ("PATTERN SEQ((A a OR B c), B b) WHERE b.o[1].s = 'S1'" + WITHIN + "RETURN b.o[1].n", [{"o[1].n": 1}]),
        (
            "PATTERN SEQ(A a, B+ b[]) WHERE skip-till-any-match { a.o[1].b AND b[i].o[1].n <= 7 }" + WITHIN
            + "RETURN sum(b[].o[1].n) AS s, count(b[].l) AS c",
            [{"s": 1, "c": 1}, {"s": 8, "c": 1}, {"s": 7, "c": 0}],
        ),
        ("PATTERN SEQ(A a, B b) WHERE b.o[1].s = 'S9'" + WITHIN + "CONFIDENCE >= 0.1 RETURN a.k", [{"k": 1}]),
        (
            "PATTERN SEQ(A a, B+ b) WHERE b.o[1].n < NEXT(b).o[1].n AND length(a.l) = 3 GROUP BY k" + WITHIN
            + "RETURN COUNT(*), MAX(b.o[1].n) AS m, COUNT(b.l) AS c",
            [{"COUNT(*)": 3, "m": 7, "c": 2}],
        ),
        ("PATTERN B b" + WITHIN + "OPEN ON A a WHERE contains(a.l, 'x') RETURN b.x", [{"x": 1}, {"x": 2}]),
        ("PATTERN B b WHERE NOT contains(b.l, 'x')" + WITHIN + "RETURN b.x", [{"x": 1}, {"x": 2}]),
        ("PATTERN SEQ(A a, B b) WHERE a.o[1].s = b.o[1].s" + WITHIN + "RETURN b.x", [{"x": 1}]),
        ("PATTERN SEQ(A a, B b) WHERE a.o[1].s IN ('S1', 'S7')" + WITHIN + "RETURN b.x", [{"x": 1}]),
    ],
)  # fmt: skip
def test_every_engine_reads_them(query: str, expected: list[dict[str, Any]]) -> None:
    assert [json.loads(line)["return"] for line in saffron.replay(query, EVENTS).lines()] == expected


def test_results_that_are_arrays_are_events_to_others() -> None:
    made = "PATTERN B b" + WITHIN + "RETURN b.o AS l INTO M"
    reader = "PATTERN SEQ(M a, M b) WHERE b.l[1].n > a.l[1].n" + WITHIN + "RETURN a.l, length(b.l) AS n"
    lines = [json.loads(line) for line in saffron.replay([made, reader], EVENTS).lines()]
    assert [one["return"] for one in lines if "n" in one["return"]] == [{"l": [{"s": "S1", "n": 1}], "n": 1}]
    with pytest.raises(QueryError, match="an element of an array may be of any kind"):
        saffron.replay("PATTERN B b" + WITHIN + "RETURN b.o[1] AS e INTO M", EVENTS).lines().__next__()


def test_tables_have_them_as_json_texts() -> None:
    query = "PATTERN SEQ(A a, B b) WHERE a.k = 1" + WITHIN + "RETURN a.l, a.o[1].b AS e, a.l[1] AS s"
    (row,) = saffron.replay(query, EVENTS[:2]).to_arrow().to_pylist()
    assert row["return"] == {"l": '["x",1,{"k":2}]', "e": "true", "s": "x"}
    assert row["events"]["b"]["l"] == "[]"


@pytest.mark.parametrize("form", ["avro", "protobuf"])
def test_records_have_them_as_json_texts(form: str) -> None:
    query = "PATTERN SEQ(A a, B b) WHERE a.k = 1" + WITHIN + "RETURN a.l, a.l[3] AS e"
    (line,) = saffron.replay(query, EVENTS[:2]).lines()
    records = codec(form, "complex-events")
    result = json.loads(records.json(records.payload(json.dumps({**json.loads(line), "detected_at": 5}).encode())))
    assert result["return"] == {"l": '["x",1,{"k":2}]', "e": '{"k":2}'}
    assert result["events"]["b"]["l"] == "[]"


SCHEMA = Schema({"x": Kind.FLOAT, "s": Kind.STRING, "l": Kind.ARRAY}, {"A": ("x", "s", "l")}, {}, given=True)


@pytest.mark.parametrize(
    ("query", "carets", "message"),
    [
        ("PATTERN A a WHERE [l]" + WITHIN, "l", "'l' is an array, by which events cannot agree"),
        ("PATTERN A+ GROUP BY l" + WITHIN + "RETURN COUNT(*)", "l", "'l' is an array"),
        ("PATTERN ANY(2, A a[]) DISTINCT l" + WITHIN, "ANY(2, A a[]) DISTINCT l", "'l' is an array"),
        ("PATTERN A a WHERE a.l = 'x'" + WITHIN, "a.l", "an array is not compared as a whole"),
        ("PATTERN A a WHERE a.l IN ('x')" + WITHIN, "a.l", "an array is not compared as a whole"),
        ("PATTERN A a WHERE a.l" + WITHIN, "a.l", "a condition is true or false, this is an array"),
        ("PATTERN A a WHERE a.l + 1 > 2" + WITHIN, "a.l", "cannot add an array"),
        ("PATTERN A+ a" + WITHIN + "RETURN MAX(a.l)", "MAX(a.l)", "max of arrays"),
        ("PATTERN A+ a[]" + WITHIN + "RETURN first(a[].l)", "first(a[].l)", "first of arrays"),
        ("PATTERN A+ a[]" + WITHIN + "RETURN first(a[].l[1])", "first(a[].l[1])", "whether this element is a string"),
        ("PATTERN A a WHERE a.s[1] = 'x'" + WITHIN, "a.s[1]", "this is a string, and no array"),
        ("PATTERN A a WHERE length(a.x) = 1" + WITHIN, "a.x", "length takes text or an array, this is a number"),
        ("PATTERN A a WHERE contains(a.l)" + WITHIN, "contains(a.l)", "contains takes 2 arguments, not 1"),
        (
            "PATTERN SEQ(A a, A b) WHERE contains(a.l, b.x)" + WITHIN,
            "contains(a.l, b.x)",
            "contains reads several events",
        ),
        ("PATTERN A a WHERE length(3) = 1" + WITHIN, "3", "length takes text or an array"),
        ("PATTERN A a WHERE a.l[0] = 1" + WITHIN, "0", "no element of an array has the number 0"),
        ("PATTERN A a WHERE a.l[i] = 1" + WITHIN, "i", "expected the number of an element"),
    ],
)
def test_what_cannot_be_asked_of_them_is_refused(query: str, carets: str, message: str) -> None:
    with pytest.raises(QueryError, match=message.replace("(", r"\(").replace(")", r"\)")) as caught:
        bind(query, SCHEMA, name="q")
    assert query[caught.value.start : caught.value.end] == carets


def test_explanations_write_them_as_queries_do() -> None:
    conditions = ("length(a.l) = 1", "contains(b.l, 'x')", "a.l[1].s = b.l[2]", 'a.l[1]."o-o" > 3')
    text = "PATTERN SEQ(A a, A b) WHERE " + " AND ".join(conditions)
    shown_text = explain_text(bind(text + WITHIN, SCHEMA, name="q").plan)
    assert all(condition in shown_text for condition in conditions)


# ---------------------------------------------------------------- cuts, restarts, and the reference

CONDITIONS = (
    "length({v}.l) >= 2", "contains({v}.l, 1)", "contains({v}.l, 'a')", "NOT contains({v}.l, true)", "{v}.l[1] = 'a'",
    "{v}.l[2] > 1", "{v}.l[1].n <= 1", "{v}.l[1]", "{v}.l[1].n + {v}.l[2] > 1", "length({v}.l[1]) = 1",
    "{v}.l[1] IN (0, 1)", "contains({v}.l[1], 1)",
)  # fmt: skip
PAIRS = ("a.l[1] = b.l[1]", "a.l[1] < b.l[2]", "a.l[1] != b.l[1]", "length(a.l) = length(b.l)", "a.l[1].n > b.x")
RETURNS = " RETURN a.l, b.l[1] AS e, length(b.l) AS n, contains(a.l, 0) AS c"


def random_events(rng: random.Random, count: int) -> list[dict[str, Any]]:
    scalars = [0, 1, 2, 1.5, "a", "b", True, False, None, {"n": 1}, {"n": 0, "s": "x"}, [1], []]
    made = []
    for ts in range(count):
        event: dict[str, Any] = {"type": rng.choice("AB"), "ts": ts, "x": rng.randrange(3)}
        if rng.random() < 0.8:
            event["l"] = [rng.choice(scalars) for _ in range(rng.randrange(4))]
        made.append(event)
    return made


@pytest.mark.parametrize("seed", range(12))
def test_the_reference_matcher_reads_them_alike(seed: int) -> None:
    rng = random.Random(seed)
    events = [
        {"type": "A", "ts": 0, "x": 0, "l": [1]},
        *random_events(rng, 10),
        {"type": "B", "ts": 99, "x": 0, "l": []},
    ]
    shape = rng.choice(["SEQ(A a, B b)", "SEQ(A a, (B b OR A c))", "SEQ(A a, NOT A c, B b)"])
    conditions = [rng.choice(CONDITIONS).format(v=rng.choice("ab")) for _ in range(rng.randrange(2))]
    conditions.append(rng.choice([*PAIRS, rng.choice(CONDITIONS).format(v="b")]))
    query = f"PATTERN {shape} WHERE skip-till-any-match {{ {' AND '.join(conditions)} }} WITHIN 100 ms{RETURNS}"
    asked = question(query)
    expected = []
    for match in answers(asked, [{"seq": seq, **event} for seq, event in enumerate(events)]):
        parts = zip(names(asked), match.parts, strict=True)
        bound = {leaf.variable: part[0].seq for leaf, part in parts if part}
        expected.append((bound, {name: shown(one) for name, one in returned(asked, match).items()}))
    lines = [json.loads(line) for line in saffron.replay(query, events).lines()]
    found = [({name: one["seq"] for name, one in line["events"].items() if one}, line["return"]) for line in lines]
    assert found == expected, query


@pytest.mark.parametrize(
    "query",
    [
        "PATTERN SEQ(A a, B b) WHERE a.l[1] = b.l[1] WITHIN 9 ms" + RETURNS,
        "PATTERN SEQ(A a, (B b OR A c)) WHERE a.l[1] = 'a' WITHIN 9 ms" + RETURNS,
        "PATTERN SEQ(A+ a, B b) WHERE a.l[1] <= NEXT(a).l[1] WITHIN 9 ms SLIDE 3 ms RETURN COUNT(*), SUM(a.l[2])",
    ],
)
def test_results_depend_on_no_cut_and_no_restart(query: str) -> None:
    rng = random.Random(query)
    text = "\n".join(map(json.dumps, random_events(rng, 60))).encode()
    schema, columns = decode_ndjson(text)
    kind = TrendOperator if "COUNT(*)" in query else MatchOperator

    def results(cuts: list[int]) -> list[bytes]:
        operator = kind(partition=0, compiled=False)
        added = {"op": "add", "name": "q", "version": 1, "text": query, "slot": 0, "from": "now", "shed": "none"}
        known = Control(0, "schema", {"schema": schema_to_record(schema)})
        controls: tuple[Control, ...] = (known, Control(0, "query", added))
        lines: list[bytes] = []
        for begin, stop in zip([0, *cuts], [*cuts, len(columns)], strict=True):
            part = slice_columns(columns, begin, stop)
            last = stop == len(columns)
            watermark = 10**6 if last else int(columns.ts[stop])
            found = operator.apply(Block(part, begin, stop, watermark, end=last, controls=controls))
            lines += found.json(0, len(found))
            controls = ()
            state = operator.snapshot()
            operator = kind(partition=0, compiled=False)
            operator.restore(state)
        return lines

    whole = results([])
    assert whole
    for _ in range(3):
        assert results(sorted(rng.sample(range(1, 60), 5))) == whole


def test_a_query_waits_for_an_array_that_no_event_has_had() -> None:
    query = "PATTERN SEQ(A a, A b) WHERE length(b.l) = 1 AND b.l[1] = 'x' AND a.x = 1 WITHIN 9 ms RETURN b.l"
    lines = [
        b'{"type":"A","ts":1,"x":1}',
        b'{"type":"A","ts":2,"x":0,"l":["y"]}',
        b'{"type":"A","ts":3,"x":0,"l":["x"]}',
    ]
    before, first = decode_ndjson(lines[0])
    after, _ = decode_ndjson(b"\n".join(lines))
    _, rest = decode_ndjson(b"\n".join(lines[1:]), after)
    added = {"op": "add", "name": "q", "version": 1, "text": query, "slot": 0, "from": "now", "shed": "none"}
    operator = MatchOperator(partition=0, compiled=False)
    known = Control(0, "schema", {"schema": schema_to_record(before)})
    assert not len(operator.apply(Block(first, 0, 1, 1, controls=(known, Control(0, "query", added)))))
    grown = Control(1, "schema", {"schema": schema_to_record(after)})
    found = operator.apply(Block(replace(rest, seq=rest.seq + 1), 1, 3, 9, controls=(grown,)))
    assert [json.loads(line)["return"] for line in found.json(0, len(found))] == [{"l": ["x"]}]
    assert operator.statuses()["q"].state == "active"
