"""Functions in queries: every engine has them, whatever the cuts and restarts, and what cannot work is refused."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.events.column_operations import column_values, slice_columns
from saffron.engine.events.computed_columns import ComputedColumns
from saffron.engine.events.decoding.ndjson import decode_ndjson
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.match.match_operator import MatchOperator
from saffron.errors import QueryError
from saffron.history.partitioning import partitioning_of
from saffron.language import bind
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.trend_plan import TrendPlan
from saffron.mapping.message import parse
from saffron.mapping.where import condition
from saffron.schema.computed import Applied, Computed, ComputedRead, Constant, Read
from saffron.schema.schema import Kind
from tests.unit.engine.function_results import SCHEMA, WITHIN, random_events, results, without_ids


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
