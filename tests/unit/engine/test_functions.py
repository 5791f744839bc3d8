"""Functions in queries: every engine has them, whatever the cuts and restarts, and what cannot work is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.events.column_operations import column_values, slice_columns
from saffron.engine.events.columns import Column
from saffron.engine.events.computed_columns import ComputedColumns
from saffron.engine.events.decoding.ndjson import decode_ndjson
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.errors import FunctionError, QueryError
from saffron.history.partitioning import partitioning_of
from saffron.language import bind
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.trend_plan import TrendPlan
from saffron.mapping.message import parse
from saffron.mapping.where import condition
from saffron.schema.computed import Applied, Computed, ComputedRead, Constant, Read
from saffron.schema.functions import own
from saffron.schema.functions.own import register
from saffron.schema.schema import Kind, Schema

SCHEMA = Schema(
    {"x": Kind.FLOAT, "n": Kind.LONG, "s": Kind.STRING, "t": Kind.BOOL, "l": Kind.ARRAY},
    {"A": ("x", "n", "s", "t", "l"), "B": ("x", "n", "s", "t", "l")},
    {},
    given=True,
)
WITHIN = " WITHIN 9 ms "


def random_events(rng: random.Random, count: int) -> list[dict[str, Any]]:
    made = []
    for ts in range(count):
        event: dict[str, Any] = {"type": rng.choice("AB"), "ts": ts, "x": rng.choice([0, 0.5, 1, 1.5, 2, -1])}
        event |= {"s": rng.choice(["ab", "AB", "Ab", "é", "É", ""])} if rng.random() < 0.9 else {}
        event |= {"t": rng.random() < 0.5, "n": 2**62 + rng.randrange(2), "l": [rng.choice(["a", 1])]}
        event["low"] = event["s"].lower() if "s" in event else None
        event["floor"] = int(event["x"] // 1)
        made.append(event)
    return made


def results(query: str, events: list[dict[str, Any]], cuts: list[int], name: str = "q") -> list[dict[str, Any]]:
    """Of the query by itself, taken up from a snapshot behind each cut."""
    schema, columns = decode_ndjson("\n".join(map(json.dumps, events)).encode())
    kind = TrendOperator if "COUNT(" in query else MatchOperator
    operator = kind(partition=0, compiled=False)
    added = {"op": "add", "name": name, "version": 1, "text": query, "slot": 0, "from": "now", "shed": "none"}
    known = Control(0, "schema", {"schema": schema_to_record(schema)})
    controls: tuple[Control, ...] = (known, Control(0, "query", added))
    lines: list[bytes] = []
    for begin, stop in zip([0, *cuts], [*cuts, len(columns)], strict=True):
        last = stop == len(columns)
        watermark = 10**6 if last else int(columns.ts[stop])
        part = slice_columns(columns, begin, stop)
        found = operator.apply(Block(part, begin, stop, watermark, end=last, controls=controls))
        lines += found.json(0, len(found))
        assert operator.statuses()[name].state == "active", operator.statuses()
        controls = ()
        state = operator.snapshot()
        operator = kind(partition=0, compiled=False)
        operator.restore(state)
    return [json.loads(line) for line in lines]


def without_ids(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = [list((one.get("key") or one.get("group") or {}).values()) for one in found]
    plain = [{k: v for k, v in one.items() if k not in ("id", "key", "group")} for one in found]
    return [{**one, "by": key} for one, key in zip(plain, keys, strict=True)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("query", "twin"),
    [
        ("PATTERN SEQ(A a, B+ b[]) WHERE [lower(s)]" + WITHIN, "PATTERN SEQ(A a, B+ b[]) WHERE [low]" + WITHIN),
        (
            "PATTERN SEQ(A a, NOT A c, B b) WHERE [lower(s), floor(x)]" + WITHIN,
            "PATTERN SEQ(A a, NOT A c, B b) WHERE [low, floor]" + WITHIN,
        ),
        (
            "PATTERN SEQ(A a, B b) WHERE lower(a.s) < lower(b.s) AND floor(a.x) = floor(b.x)" + WITHIN
            + "RETURN lower(b.s) AS s, floor(a.x) AS f",
            "PATTERN SEQ(A a, B b) WHERE a.low < b.low AND a.floor = b.floor" + WITHIN
            + "RETURN b.low AS s, a.floor AS f",
        ),
        (
            "PATTERN SEQ(A+ a, B b) WHERE [floor(x)] AND lower(a.s) <= lower(NEXT(a).s) GROUP BY lower(s)" + WITHIN
            + "SLIDE 3 ms RETURN COUNT(*)",
            "PATTERN SEQ(A+ a, B b) WHERE [floor] AND a.low <= NEXT(a).low GROUP BY low" + WITHIN
            + "SLIDE 3 ms RETURN COUNT(*)",
        ),
        (
            "PATTERN A+ a WHERE coalesce(floor(a.x), 0) < NEXT(a).floor" + WITHIN + "RETURN COUNT(*)",
            "PATTERN A+ a WHERE a.floor < NEXT(a).floor" + WITHIN + "RETURN COUNT(*)",
        ),
    ],
)  # fmt: skip
def test_a_function_is_as_good_as_an_attribute_whatever_the_cuts_and_restarts(query: str, twin: str, seed: int) -> None:
    rng = random.Random(seed)
    events = random_events(rng, 60)
    found = results(query, events, sorted(rng.sample(range(1, 60), rng.randrange(4))))
    assert without_ids(found) == without_ids(results(twin, events, []))
    assert results(query, events, []) == found


def test_results_name_a_key_by_its_text() -> None:
    events = [{"type": "A", "ts": 1, "s": "Q", "x": 1}, {"type": "B", "ts": 2, "s": "q", "x": 1.5}]
    (match,) = results("PATTERN SEQ(A a, B b) WHERE [lower(s), floor(x)]" + WITHIN, events, [])
    assert match["key"] == {"lower(s)": "q", "floor(x)": 1}
    query = "PATTERN (A|B)+ GROUP BY lower(s), hour(ts)" + WITHIN + "RETURN lower(s), COUNT(*), upper(lower(s)) AS u"
    (trend,) = results(query + " HAVING lower(s) != 'x'", events, [])
    assert (trend["group"], trend["return"]) == ({"lower(s)": "q", "hour(ts)": 0}, {"COUNT(*)": 3, "u": "Q"})


def test_whole_numbers_beyond_2_53_keep_all_digits() -> None:
    events = [{"type": "A", "ts": 1, "n": 2**62 + 1, "s": str(2**62 + 1)}, {"type": "B", "ts": 2, "n": 2**62}]
    query = (
        "PATTERN SEQ(A a, B b) WHERE {}"
        + WITHIN
        + "RETURN coalesce(b.s, CAST(a.n AS string)) AS s, nullif(a.n, b.n) AS n"
    )
    for asked, count in (
        ("CAST(a.s AS number) = a.n", 1), ("CAST(a.s AS number) = b.n", 0), ("coalesce(a.n, 0) > b.n", 1),
        ("coalesce(b.n, 0) = 4611686018427387905", 0), ("CASE WHEN b.s IS NULL THEN b.n END = 4611686018427387904", 1),
    ):  # fmt: skip
        found = results(query.format(asked), events, [])
        assert [one["return"] for one in found] == [{"s": str(2**62 + 1), "n": 2**62 + 1}] * count, asked


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("query", "carets", "message"),
    [
        ("A a WHERE lower(a.x) = 'q'", "a.x", "lower takes text, this is a number"),
        ("A a WHERE floor(a.s) = 1", "a.s", "floor takes numbers, this is a string"),
        ("A a WHERE a.s || a.x = 'q'", "a.x", "concat takes text, this is a number"),
        ("A a WHERE lower(a.s, 'x') = 'q'", "lower(a.s, 'x')", "lower takes 1 argument, not 2"),
        ("A a WHERE distance(a.x) > 1", "distance(a.x)", "distance takes 4 arguments, not 1"),
        ("A a WHERE lowr(a.s) = 'q'", "lowr(a.s)", "unknown function 'lowr'"),
        ('A a WHERE a.s LIKE "q"', '"q"', "LIKE takes a pattern in single quotes"),
        ("A a WHERE a.s LIKE a.s", "a.s", "LIKE takes a pattern in single quotes"),
        ("A a WHERE a.s LIKE 'q' ESCAPE 'qq'", "'qq'", "ESCAPE takes one character"),
        ("A a WHERE a.s REGEXP '('", "'('", "missing )"),
        ("A a WHERE a.s REGEXP '(?=q)'", "'(?=q)'", "invalid perl operator"),
        ("A a WHERE in_subnet(a.s, '10.0.0.0/99')", "'10.0.0.0/99'", "does not appear to be"),
        ("A a WHERE hour(a.ts, 'Mars/Base') = 1", "'Mars/Base'", "no time zone is called 'Mars/Base'"),
        ("A a WHERE date_trunc('age', a.ts) = 1", "'age'", "units are: second, minute"),
        ("A a WHERE date_trunc(a.s, a.ts) = 1", "a.s", "date_trunc takes a string in single quotes here"),
        ("A a WHERE a.ts > TIMESTAMP 'noon'", "'noon'", "this is no time"),
        ("A a WHERE CAST(a.x AS colour) = 1", "colour", "expected a type after AS"),
        ("A a WHERE CASE WHEN a.x THEN 1 END = 1", "a.x", "WHEN takes what is true or false"),
        ("A a WHERE CASE WHEN a.t THEN 1 ELSE 'q' END = 1", "'q'", "CASE mixes a number with a string"),
        ("A a WHERE coalesce(a.s, 1) = 'q'", "1", "COALESCE mixes a string with a number"),
        ("A a WHERE a.s = null", "null", "null is no value to compare with"),
        ("A a WHERE a.s IS 'q'", "'q'", "expected NULL after IS"),
        ("A a WHERE a.x BETWEEN 1 OR 2", "OR", "expected AND between the bounds of BETWEEN"),
        ("A a WHERE a.x > 1 || a.x < 0", "<", "expected the end of the comparison"),
        ("SEQ(A a, B b) WHERE a.s || b.s = 'q'", "a.s || b.s", "concat reads several events: a, b"),
        ("SEQ(A+ a[], B b) WHERE lower(first(a[].s)) = 'q'", "lower(first(a[].s))", "lower reads a list: a"),
        ("A a WHERE [lower(a.s)]", "a.s", "a.s is of one event, a key of all"),
        ("A a WHERE [lower('q')]", "lower('q')", "a key that reads no attribute"),
        ("A a WHERE [coalesce(l, l)]", "coalesce(l, l)", "an array, or an element"),
        ("A a WHERE a.l LIKE 'q'", "a.l", "LIKE takes text, this is an array"),
    ],
)
def test_misuse_is_refused_with_its_place(query: str, carets: str, message: str) -> None:
    text = "PATTERN " + query + WITHIN
    with pytest.raises(QueryError) as caught:
        bind(text, SCHEMA, name="q")
    assert message in caught.value.message
    assert text[caught.value.start : caught.value.end] == carets


def test_stars_in_a_pattern_of_like_are_warned_of() -> None:
    (warning,) = bind("PATTERN A a WHERE a.s LIKE '*q*'" + WITHIN, SCHEMA, name="q").warnings
    assert "% is any text" in warning


def test_a_key_of_a_function_is_not_spread_over_machines() -> None:
    match = bind("PATTERN SEQ(A a, B b) WHERE [lower(s)]" + WITHIN, SCHEMA, name="q").plan
    trend = bind("PATTERN A+ GROUP BY lower(s)" + WITHIN + "RETURN COUNT(*)", SCHEMA, name="q").plan
    assert isinstance(match, MatchPlan)
    assert isinstance(trend, TrendPlan)
    for plan in (match, trend):
        assert partitioning_of(plan).by == ()
        assert "lower(s)" in partitioning_of(plan).reason


# ---------------------------------------------------------------- functions of one's own


@pytest.fixture
def halves() -> Iterator[None]:
    def half(x: float) -> float | None:
        return None if x == 1 else 1 / (x - 2) if x > 1 else x / 2

    register("half", half, frozenset())
    yield
    own.forget("half")


def _fails(events: list[dict[str, Any]], text: str) -> MatchOperator:
    """An operator with this query and others, one of which reads another's results, behind the events."""
    schema, columns = decode_ndjson("\n".join(map(json.dumps, events)).encode())
    operator = MatchOperator(partition=0, compiled=False)
    known = Control(0, "schema", {"schema": schema_to_record(schema)})
    queries = {
        "own": text,
        "other": "PATTERN A a WHERE lower(a.s) = 'q'" + WITHIN,
        "maker": "PATTERN A a" + WITHIN + "RETURN a.s AS s INTO Made",
        "reader": "PATTERN Made m WHERE lower(m.s) = 'q'" + WITHIN,
    }
    added = [
        {"op": "add", "name": name, "version": 1, "text": one, "slot": slot, "from": "now", "shed": "none"}
        for slot, (name, one) in enumerate(queries.items())
    ]
    controls = (known, *(Control(0, "query", one) for one in added))
    found = operator.apply(Block(columns, 0, len(columns), 9, controls=controls))
    assert [json.loads(line)["query"] for line in found.json(0, len(found)) if line] == ["other", "reader"]
    return operator


@pytest.mark.usefixtures("halves")
def test_a_function_of_ones_own_that_fails_ends_its_query_and_no_other() -> None:
    operator = _fails([{"type": "A", "ts": 1, "s": "Q", "x": 2}], "PATTERN A a WHERE half(a.x) = 0.5" + WITHIN)
    statuses = operator.statuses()
    assert statuses["own"].state == "failed"
    assert "function 'half' failed on (2)" in statuses["own"].reason
    assert {name for name, status in statuses.items() if status.state == "active"} == {"other", "maker", "reader"}


@pytest.mark.usefixtures("halves")
@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("PATTERN SEQ(A a, B b) WHERE half(a.x) = 0.5", "A"),
        ("PATTERN SEQ(A a, B b) WHERE half(b.x) = 0.5", "B"),
        ("PATTERN SEQ(A a, B b) WHERE half(a.x) < half(b.x)", "AB"),
        ("PATTERN SEQ(A a, B b) WHERE [half(x)]", "AB"),
        ("PATTERN SEQ(A a, NOT B b, A c) WHERE half(b.x) = 0.5", "B"),
        ("PATTERN SEQ(A+ a[], B b) WHERE sum(half(a[].x)) = 0.5", "A"),
        ("PATTERN SEQ(A+ a[], B b) WHERE count(half(a[].x) > 0) = 1", "A"),
        ("PATTERN SEQ(A a, (B | C) b) WHERE half(b.x) = 0.5", "BC"),
        ("PATTERN SEQ(A a, ANY b) WHERE half(b.x) = 0.5", "ABCD"),
    ],
)
def test_a_function_of_ones_own_is_called_for_events_of_those_types_only_that_it_is_read_of(
    text: str, types: str
) -> None:
    for kind in "ABCD":
        schema, columns = decode_ndjson(
            b"".join(
                b'{"type":"%s","ts":%d,"x":%d}\n' % (one.encode(), at, 2 if one == kind else 1)
                for at, one in enumerate("ABCDAB")
            )
        )
        operator = MatchOperator(partition=0, compiled=False)
        added = [
            {"op": "add", "name": name, "version": 1, "text": one, "slot": slot, "from": "now", "shed": "none"}
            for slot, (name, one) in enumerate(
                (("own", text + WITHIN), ("other", "PATTERN D d WHERE half(d.x) > 9" + WITHIN))
            )
        ]
        known = Control(0, "schema", {"schema": schema_to_record(schema)})
        controls = (known, *(Control(0, "query", one) for one in added))
        operator.apply(Block(columns, 0, len(columns), 9, controls=controls))
        failed = {name for name, status in operator.statuses().items() if status.state == "failed"}
        assert failed == {name for name, own in (("own", types), ("other", "D")) if kind in own}


@pytest.mark.parametrize("reads", ["picky(a.s)", "picky(a.s || '')", "lower(picky(a.s))", "picky(lower(a.s))"])
def test_a_function_of_ones_own_is_called_for_texts_of_its_events_only(reads: str) -> None:
    """Whatever texts the column holds beside: those of events of other types, and of earlier blocks."""
    called: set[str] = set()

    def picky(text: str) -> str:
        called.add(text)
        if text == "no":
            raise ValueError(text)
        return text

    def block(at: int, kinds: str, texts: list[str], *controls: Control) -> Block:
        events = b"".join(b'{"type":"%s","ts":%d,"s":"x"}\n' % (one.encode(), at + n) for n, one in enumerate(kinds))
        _, columns = decode_ndjson(events)
        values = ("yes", "no", "never", "x")
        codes = np.array([values.index(one) for one in texts], np.int32)
        columns = replace(columns, attributes={"s": Column(Kind.STRING, codes, values)})
        return Block(columns, at, at + len(columns), at + len(columns), controls=controls)

    def add(name: str, text: str, slot: int) -> Control:
        body = {"op": "add", "name": name, "version": 1, "text": text + WITHIN, "slot": slot, "from": "now"}
        return Control(0, "query", body)

    register("picky", picky, frozenset())
    try:
        operator = MatchOperator(partition=0, compiled=False)
        schema, _ = decode_ndjson(b'{"type":"A","ts":0,"s":"x"}\n{"type":"B","ts":0,"s":"x"}')
        own_one = add("of A", f"PATTERN A a WHERE {reads} = 'yes'", 0)
        other = add("of B", f"PATTERN B a WHERE {reads} = 'yes'", 1)
        first = Control(0, "schema", {"schema": schema_to_record(schema)})
        for one in (block(0, "AB", ["yes", "x"], first, own_one, other), block(2, "AAB", ["x", "yes", "no"])):
            operator.apply(one)
        states = {name: status.state for name, status in operator.statuses().items()}
        assert states == {"of A": "active", "of B": "failed"}
        operator.apply(block(5, "AA", ["yes", "x"]))
        assert operator.statuses()["of A"].state == "active"
        operator.apply(block(7, "A", ["no"]))
        assert operator.statuses()["of A"].state == "failed"
    finally:
        own.forget("picky")
    assert called == {"yes", "x", "no"}


def test_a_function_of_ones_own_is_called_in_a_step_of_its_query_while_that_is_in_force() -> None:
    notes: list[str] = []
    called: list[str] = []

    def seen(x: float) -> float:
        called.append(notes[-1])
        return x

    def block(at: int, *controls: Control) -> Block:
        _, columns = decode_ndjson(b'{"type":"A","ts":%d,"x":%d}' % (at, at))
        return Block(columns, at, at + 1, at, controls=controls)

    def add(name: str, text: str) -> Control:
        return Control(0, "query", {"op": "add", "name": name, "version": 1, "text": text, "slot": 0, "from": "now"})

    register("seen", seen, frozenset())
    try:
        operator = MatchOperator(partition=0, compiled=False, note=lambda query, *_: notes.append(query))
        schema, _ = decode_ndjson(b'{"type":"A","ts":0,"x":0}')
        first = add("own", "PATTERN A a WHERE seen(a.x) >= 0" + WITHIN)
        others = add("other", "PATTERN A a" + WITHIN), add("trend", "PATTERN A a" + WITHIN + "RETURN COUNT(*)")
        operator.apply(block(0, Control(0, "schema", {"schema": schema_to_record(schema)}), first, *others))
        operator.apply(block(1))
        assert called == ["own", "own"]
        operator.stop("own", 1, "it failed before")
        operator.apply(block(2))
    finally:
        own.forget("seen")
    assert called == ["own", "own"], "what no query in force reads is not computed"


@pytest.mark.parametrize("cuts", [[], [2, 4], [3]])
def test_a_function_of_ones_own_is_called_for_events_in_the_life_of_its_query_only(cuts: list[int]) -> None:
    """Wherever a block is cut: else a query could fail by an event that it never sees."""
    called: list[float] = []

    def seen(x: float) -> float:
        called.append(x)
        return x

    lines = b"".join(b'{"type":"A","ts":%d,"x":%d}\n' % (at, at) for at in range(6))
    schema, columns = decode_ndjson(lines)
    body = {"name": "own", "version": 1, "text": "PATTERN A a WHERE seen(a.x) >= 0" + WITHIN, "slot": 0, "from": "now"}
    controls = (
        Control(0, "schema", {"schema": schema_to_record(schema)}),
        Control(2, "query", {"op": "add", **body}),
        Control(4, "query", {"op": "remove", **body}),
    )
    register("seen", seen, frozenset())
    try:
        operator = MatchOperator(partition=0, compiled=False)
        for low, high in pairwise([0, *cuts, 6]):
            mine = tuple(one for one in controls if low <= one.position < high)
            operator.apply(Block(slice_columns(columns, low, high), low, high, high, controls=mine))
    finally:
        own.forget("seen")
    assert called == [2, 3]


@pytest.mark.usefixtures("halves")
def test_a_function_of_ones_own_is_refused_where_it_could_stop_more_than_its_query() -> None:
    with pytest.raises(QueryError, match="half is a function of your own"):
        bind("PATTERN A a WITHIN 9 ms OPEN ON A o WHERE half(o.x) > 1", SCHEMA, name="q")
    with pytest.raises(QueryError, match="half is a function of your own") as raised:
        condition("x = 1 AND y + half(x) > 1")
    assert (raised.value.start, raised.value.end) == (14, 21)


def test_a_function_of_ones_own_says_what_it_takes_and_gives() -> None:
    def plain(x):  # type: ignore[no-untyped-def]
        return x

    def lists(x: list[int]) -> str:
        return str(x)

    def good(x: str) -> str:
        return x

    for function, name in ((plain, "plain"), (lists, "lists"), (good, "Good"), (good, "lower")):
        with pytest.raises(FunctionError):
            register(name, function, frozenset({"lower"}))


# ---------------------------------------------------------------- the fields of messages, and columns


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("lower(op) = 'u' AND op LIKE 'U%' AND source.table REGEXP '^ord'", True),
        ("CAST(t AS number) > 5 AND gone IS NULL AND n IS NOT NULL", True),
        ("n BETWEEN 9007199254740993 AND 9007199254740993", True),
        ("in_subnet(ip, '10.0.0.0/8') AND NOT in_subnet(ip, '11.0.0.0/8')", True),
        ("CASE op WHEN 'U' THEN false ELSE true END", False),
        ("coalesce(gone, op) || t = 'U12' AND floor(n / 2) > 3", True),
    ],
)
def test_messages_are_asked_with_functions(text: str, passed: bool) -> None:
    message = parse(b'{"op": "U", "n": 9007199254740993, "t": "12", "source": {"table": "orders"}, "ip": "10.1.2.3"}')
    assert condition(text)(message) is passed


@pytest.mark.parametrize("room", [0, 1, 3000, 10**6])
def test_columns_are_the_same_however_much_is_kept(room: int) -> None:
    rng = random.Random(room)
    one = Computed(Applied("lower", (Read("s"),)), Kind.STRING)
    two = Computed(Applied("concat", (Read("s"), Applied("to_string", (Read("x"),)))), Kind.STRING)
    three = Computed(Applied("contains", (Read("l"), Constant("a"))), Kind.BOOL)
    four = Computed(Applied("to_number", (Applied("to_string", (Read("n"),)),)), Kind.NUMBER)
    computing = ComputedColumns(room)
    for _ in range(4):
        events = random_events(rng, 40)
        _, columns = decode_ndjson("\n".join(map(json.dumps, events)).encode())
        found = computing.added(columns, [ComputedRead(each.name, ()) for each in (one, two, three, four)]).attributes
        for each in (one, two, three, four):
            expected = [each.of(event.get) for event in events]
            assert column_values(found[each.name]) == expected


def test_a_value_beyond_every_float_does_not_depend_on_the_other_events_of_its_block() -> None:
    """Of a formula on whole columns, and of the same where an integer beyond 2^53 has it computed value by value."""
    one = Computed(Applied("coalesce", (Applied("degrees", (Read("x"),)), Read("n"))), Kind.NUMBER)
    for others in ([], [{"type": "A", "ts": 2, "x": 1.5, "n": 2**53 + 1}]):
        events = [{"type": "A", "ts": 1, "x": 1e308, "n": 2}, *others]
        _, columns = decode_ndjson("\n".join(map(json.dumps, events)).encode())
        found = ComputedColumns(0).added(columns, [ComputedRead(one.name, ())]).attributes[one.name]
        assert column_values(found) == [one.of(event.get) for event in events]


def beyond(rng: random.Random, leaves: list[str], depth: int) -> str:
    """A random value of functions and operators, in which numbers beyond every float arise."""
    if depth == 0:
        return rng.choice(leaves)
    one, other, third = (beyond(rng, leaves, depth - 1) for _ in range(3))
    form = rng.choice((
        "degrees({0})", "degrees({0})", "coalesce(degrees({0}), {1})", "abs({0})", "floor({0})", "round({0}, 1)",
        "sqrt({0})", "sign({0})", "power({0}, 2)",
        "least({0}, {1}, {2})", "greatest({0}, {1}, {2})", "coalesce({0}, {1})", "nullif({0}, {1})",
        "CASE WHEN {0} > {1} THEN {2} WHEN {1} IS NULL THEN {0} END", "({0} * {1})", "({0} + {1})", "(-{0})",
    ))  # fmt: skip
    return form.format(one, other, third)


@pytest.mark.parametrize("seed", range(40))
def test_a_value_beyond_every_float_is_null_in_every_condition_and_result(seed: int) -> None:
    """Of one event on columns, of two in the kernels of matches and trends, and in Python for RETURN."""
    rng = random.Random(seed)
    values: list[dict[str, float]] = [{"x": rng.choice([1e308, -1e308, 1.7e308, 10])} for _ in range(2)]
    events = [{"type": "A", "ts": ts, "n": 2, **one} for ts, one in enumerate(values, 1)]
    for _ in range(4):
        leaves = ["a.x", "b.x", "10.5"][:: rng.choice([1, 1, 2])]
        left, right = beyond(rng, leaves, rng.randrange(1, 4)), rng.choice(leaves)
        condition = f"{left} {rng.choice(['<=', '>', '='])} {right}"
        if rng.random() < 0.3:
            condition = f"{left} IS NULL"
        (returned,) = results(
            f"PATTERN SEQ(A a, A b){WITHIN}RETURN CASE WHEN {condition} THEN 1 ELSE 0 END AS v", events, []
        )
        matches = results(f"PATTERN SEQ(A a, A b) WHERE {condition}{WITHIN}", events, [])
        assert len(matches) == returned["return"]["v"], (condition, values)
        if "a.x" in condition and "b.x" in condition:
            edge = condition.replace("b.x", "NEXT(a).x")
            (trends,) = results(f"PATTERN A+ a WHERE {edge}{WITHIN}RETURN COUNT(*)", events, [])
            assert trends["return"]["COUNT(*)"] == 2 + returned["return"]["v"], (edge, values)


@pytest.mark.parametrize("value", ["a.x * a.x * a.x", "-a.x * a.x * a.x"])
def test_a_number_beyond_every_float_is_no_time_and_no_text(value: str) -> None:
    units = ", ".join(f"{name}({value}) AS {name}" for name in ("hour", "minute", "day_of_week"))
    query = f"PATTERN A a{WITHIN}RETURN {units}, CAST({value} AS string) AS words"
    (found,) = results(query, [{"type": "A", "ts": 1, "x": 1e150}], [])
    assert found["return"] == {"hour": None, "minute": None, "day_of_week": None, "words": None}


@pytest.mark.parametrize("cuts", [[], [2], [1, 2]])
@pytest.mark.parametrize(
    "text", ["PATTERN SEQ(A a, NOT B b) WITHIN 5 ms", "PATTERN SEQ(A a, C+ c[]) WITHIN 5 ms OUTPUT LONGEST"]
)
def test_what_a_removed_query_had_decided_is_reported_wherever_blocks_are_cut(text: str, cuts: list[int]) -> None:
    lines = (
        b'{"type":"A","ts":0}\n{"type":"C","ts":1}\n{"type":"C","ts":20}\n{"type":"C","ts":21}\n{"type":"B","ts":22}'
    )
    schema, columns = decode_ndjson(lines)
    body = {"name": "q", "version": 1, "text": text, "slot": 0, "from": "now"}
    controls = (
        Control(0, "schema", {"schema": schema_to_record(schema)}),
        Control(0, "query", {"op": "add", **body}),
        Control(3, "query", {"op": "remove", **body}),
    )
    operator = MatchOperator(partition=0, compiled=False)
    found = []
    for low, high in pairwise([0, *cuts, 5]):
        mine = tuple(one for one in controls if low <= one.position < high)
        one = operator.apply(
            Block(slice_columns(columns, low, high), low, high, int(columns.ts[high - 1]), controls=mine)
        )
        found += one.json(0, len(one))
    assert len(found) == 1
