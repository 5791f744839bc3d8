"""Match queries: which edge each condition stands on (N3), keys, names, windows."""

from __future__ import annotations

import pytest

from saffron.language import bind, compile_query
from saffron.language.plan.clauses import OpenOn, Window
from saffron.language.plan.expressions import Aggregate, Attribute, Binary, Const, Expr, Scope, Which
from saffron.language.plan.formulas import formula
from saffron.language.plan.limits import MAX_COMPONENTS
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Component, Condition, Edge, Strategy
from saffron.language.plan.rewrite import reads
from saffron.schema.event_types import one_type
from saffron.schema.schema import Kind
from tests.unit.language.samples import LETTERS, RALLY, STOCK

PATTERN = "PATTERN SEQ(A a, B+ b[], C c, A+ d[]) "


def match(text: str) -> MatchPlan:
    plan = compile_query(text, LETTERS)
    assert isinstance(plan, MatchPlan)
    return plan


def placed(condition: str, pattern: str = PATTERN) -> list[tuple[str, str, str, bool]]:
    """(variable, edge, formula, local) of each condition."""
    plan = match(f"{pattern} WHERE {condition} WITHIN 1 h")
    names = [component.variable for component in plan.components]
    return [(names[part.component], part.edge.value, formula(part.expr, names), part.local) for part in plan.conditions]


def test_the_example_of_the_language_page_in_full() -> None:
    def at(component: int, which: Which, name: str, kind: Kind) -> Attribute:
        return Attribute(component, which, name, kind)

    average = Aggregate("avg", 0, Scope.BEFORE, "price", Kind.FLOAT)
    fall = Binary("*", Const(0.8), at(0, Which.LAST, "volume", Kind.INT))
    plan = compile_query(RALLY, STOCK, name="file")
    assert isinstance(plan, MatchPlan)
    assert (plan.name, plan.stream, plan.strategy, plan.key) == ("rally", "events", Strategy.NEXT, ("symbol",))
    assert plan.components == (Component("a", one_type("Stock"), True), Component("b", one_type("Stock"), False))
    assert plan.window == Window(3_600_000, False, None, None)
    assert plan.conditions == (
        Condition(
            0,
            Edge.BEGIN,
            Binary(">", at(0, Which.CURRENT, "volume", Kind.INT), Const(1000)),
            True,
            "a[1].volume > 1000",
        ),
        Condition(
            0,
            Edge.TAKE,
            Binary(">", at(0, Which.CURRENT, "price", Kind.FLOAT), average),
            False,
            "a[i].price > avg(a[..i-1].price)",
        ),
        Condition(
            1,
            Edge.BEGIN,
            Binary("<", at(1, Which.SINGLE, "volume", Kind.INT), fall),
            False,
            "b.volume < 0.8 * a[last].volume",
        ),
    )
    assert [item.name for item in plan.returns] == ["symbol", "gain", "count(a[])"]
    assert plan.text.startswith("PATTERN SEQ(Stock+ a[], Stock b) WHERE skip-till-next-match { [symbol] AND")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.x > 1", [("a", "begin", "a.x > 1", True)]),
        ("c.x > a.x", [("c", "begin", "c.x > a.x", False)]),
        ("a.x < c.x", [("c", "begin", "a.x < c.x", False)]),
        ("b[i].x > 1", [("b", "begin", "b[i].x > 1", True), ("b", "take", "b[i].x > 1", True)]),
        ("b[i].x > a.x", [("b", "begin", "b[i].x > a.x", False), ("b", "take", "b[i].x > a.x", False)]),
        ("b[1].x > 1", [("b", "begin", "b[i].x > 1", True)]),
        ("b[first].x > a.x", [("b", "begin", "b[i].x > a.x", False)]),
        ("b[i].x > b[i-1].x", [("b", "take", "b[i].x > b[i-1].x", False)]),
        ("b[i].x > b[i-3].x + a.x", [("b", "take", "b[i].x > b[i-3].x + a.x", False)]),
        ("b[i-1].x > 3", [("b", "take", "b[i-1].x > 3", False)]),
        ("b[i].x > avg(b[..i-1].x)", [("b", "take", "b[i].x > avg(b[..i-1].x)", False)]),
        ("b[i].x >= max(b[1..i-1].x)", [("b", "take", "b[i].x >= max(b[..i-1].x)", False)]),
        ("count(b[..i-1]) < 5", [("b", "take", "count(b[..i-1]) < 5", False)]),
        ("b[i].x >= b[1].x", [("b", "begin", "b[i].x >= b[i].x", True), ("b", "take", "b[i].x >= b[1].x", False)]),
        ("b[last].x > 1", [("b", "proceed", "b[last].x > 1", False)]),
        ("b[last].x > b[1].x", [("b", "proceed", "b[last].x > b[1].x", False)]),
        ("b.len > 3", [("b", "proceed", "b.len > 3", False)]),
        ("avg(b[].x) > a.x", [("b", "proceed", "avg(b[].x) > a.x", False)]),
        ("count(b[]) = 2", [("b", "proceed", "count(b[]) = 2", False)]),
        ("c.x > avg(b[].x)", [("c", "begin", "c.x > avg(b[].x)", False)]),
        ("c.x > b[1].x and c.y < b.len", [("c", "begin", "c.x > b[1].x", False), ("c", "begin", "c.y < b.len", False)]),
        ("b[last].x < c.x", [("c", "begin", "b[last].x < c.x", False)]),
        ("b[b.len].x < c.x", [("c", "begin", "b[last].x < c.x", False)]),
        (
            "d[i].x > b[last].x",
            [("d", "begin", "d[i].x > b[last].x", False), ("d", "take", "d[i].x > b[last].x", False)],
        ),
        ("d[last].x > b[1].x", [("d", "proceed", "d[last].x > b[1].x", False)]),
        ("a.x > 1 OR c.x > 1", [("c", "begin", "a.x > 1 OR c.x > 1", False)]),
        ("NOT b[i].x = 1", [("b", "begin", "NOT b[i].x = 1", True), ("b", "take", "NOT b[i].x = 1", True)]),
        ("a.flag", [("a", "begin", "a.flag", True)]),
        ("1 = 1", [("a", "begin", "1 = 1", True)]),
        ("c.ts - a.ts <= 5 s", [("c", "begin", "c.ts - a.ts <= 5000", False)]),
        ("c.timestamp > 0", [("c", "begin", "c.ts > 0", True)]),
        ("a.type = 'A'", [("a", "begin", "a.type = 'A'", True)]),
        ("a.k IN ('p', 'q')", [("a", "begin", "a.k IN ('p', 'q')", True)]),
        ("C.x > 1", [("c", "begin", "c.x > 1", True)]),
        ("min(a.x, c.x) < 2", [("c", "begin", "least(a.x, c.x) < 2", False)]),
        ("first(b[..i-1].k) = b[i].k", [("b", "take", "first(b[..i-1].k) = b[i].k", False)]),
    ],
)
def test_conditions_stand_on_the_edge_of_their_last_identifier(
    condition: str, expected: list[tuple[str, str, str, bool]]
) -> None:
    assert placed(condition) == expected


def test_a_condition_keeps_the_users_words() -> None:
    plan = match(PATTERN + "WHERE a.x  ≥\n 80%*a.y AND a.y > 1 WITHIN 1 h")
    assert [condition.text for condition in plan.conditions] == ["a.x ≥ 80%*a.y", "a.y > 1"]


def test_keys_are_collected_in_order_each_once() -> None:
    plan = match("PATTERN SEQ(A a, B b) WHERE [k, x] AND a.y > 1 AND [flag, k] WITHIN 1 h")
    assert plan.key == ("k", "x", "flag")
    assert len(plan.conditions) == 1


@pytest.mark.parametrize("key", ["[A.k]", "[A.k, a.k]"])
def test_a_key_asked_of_all_components_is_a_key(key: str) -> None:
    assert match(f"PATTERN A+ a[] WHERE {key} WITHIN 1 h").key == ("k",)


@pytest.mark.parametrize(
    ("pattern", "key", "expected"),
    [
        ("SEQ(A a, B b, A c)", "A.k", [("a", "begin", "a.k = a.k", True), ("c", "begin", "c.k = a.k", False)]),
        ("SEQ(A a, B+ b[])", "b.k", [("b", "begin", "b[i].k = b[i].k", True), ("b", "take", "b[i].k = b[1].k", False)]),
        ("SEQ(A+ a[], B b, A c)", "A.k", [("a", "begin", "a[i].k = a[i].k", True),
                                          ("a", "take", "a[i].k = a[1].k", False),
                                          ("c", "begin", "c.k = a[1].k", False)]),
    ],
)  # fmt: skip
def test_a_key_asked_of_some_components_becomes_conditions(
    pattern: str, key: str, expected: list[tuple[str, str, str, bool]]
) -> None:
    assert placed(f"[{key}]", f"PATTERN {pattern}") == expected


@pytest.mark.parametrize(
    ("pattern", "components"),
    [
        ("A a", [("a", "A", False)]),
        ("A+", [("A", "A", True)]),
        ("SEQ(A, A+, B, A x)", [("A", "A", False), ("A#2", "A", True), ("B", "B", False), ("x", "A", False)]),
        ("SEQ(B A, A)", [("A", "B", False), ("A#2", "A", False)]),
        ("SEQ(A a, SEQ(B b, C c))", [("a", "A", False), ("b", "B", False), ("c", "C", False)]),
    ],
)
def test_components(pattern: str, components: list[tuple[str, str, bool]]) -> None:
    plan = match(f"PATTERN {pattern} WITHIN 1 h")
    assert [(part.variable, str(part.types), part.closure) for part in plan.components] == components


@pytest.mark.parametrize(
    ("items", "names"),
    [
        ("*", []),
        ("a.x", ["x"]),
        ("a.x, b.x", ["a.x", "b.x"]),
        ("a.x, b.y AS x", ["a.x", "x"]),
        ("b.x AS p, a.x", ["p", "x"]),
        ("a.(x, y)", ["x", "y"]),
        ("a.x+b.x, abs( a.x )", ["a.x + b.x", "abs(a.x)"]),
        ("a.x > 1, 'text', 5 s", ["a.x > 1", "'text'", "5000"]),
    ],
)
def test_names_of_return_items(items: str, names: list[str]) -> None:
    plan = match(f"PATTERN SEQ(A a, B b) WITHIN 1 h RETURN {items}")
    assert [item.name for item in plan.returns] == names


def test_return_over_closures() -> None:
    items = "b[1].k, b[last].x, b.len, count(b[]), sum(b[].x), stddev(b[].x), last(b[].k)"
    plan = match(f"PATTERN SEQ(A a, B+ b[]) WITHIN 1 h RETURN {items}")
    assert [item.name for item in plan.returns] == [
        "k", "x", "len", "count(b[])", "sum(b[].x)", "stddev(b[].x)", "last(b[].k)",
    ]  # fmt: skip
    assert [formula(item.expr, ["a", "b"]) for item in plan.returns] == [part.strip() for part in items.split(", ")]


@pytest.mark.parametrize(
    ("within", "window"),
    [
        ("WITHIN 90 s", Window(90_000, False, None, None)),
        ("WITHIN 100 EVENTS", Window(100, True, None, None)),
        ("WITHIN 1 min SLIDE 10 s", Window(60_000, False, 10_000, None)),
        ("WITHIN 1 h OPEN ON D", Window(3_600_000, False, None, OpenOn("D", None))),
    ],
)
def test_windows(within: str, window: Window) -> None:
    assert match(f"PATTERN A a {within}").window == window


def test_a_window_that_opens_on_events_that_fit() -> None:
    for reference in ("q.only_d", "D.only_d"):
        opens = match(f"PATTERN A a WITHIN 9 EVENTS OPEN ON D q WHERE {reference} > 2 AND q.x < 1").window.opens
        assert opens is not None
        assert opens.expr == Binary(
            "and",
            Binary(">", Attribute(0, Which.SINGLE, "only_d", Kind.INT), Const(2)),
            Binary("<", Attribute(0, Which.SINGLE, "x", Kind.FLOAT), Const(1)),
        )


@pytest.mark.parametrize(
    ("where", "strategy"),
    [
        ("", Strategy.NEXT),
        ("WHERE skip-till-any-match", Strategy.ANY),
        ("WHERE strict_contiguity(a, b[ ]) { a.x > 1 }", Strategy.STRICT),
        ("WHERE partition-contiguity { [k] }", Strategy.PARTITION),
    ],
)
def test_strategies(where: str, strategy: Strategy) -> None:
    assert match(f"PATTERN SEQ(A a, B+ b[]) {where} WITHIN 1 h").strategy is strategy


def test_the_normalised_text_has_neither_name_nor_layout() -> None:
    one = match("QUERY p PATTERN seq(A a; B b) where a.x==1 within 1 min")
    two = match("QUERY q WITHIN 60 s WHERE a.x = 1\nPATTERN SEQ(A a, B b) -- comment")
    assert one.text == two.text == "PATTERN SEQ(A a, B b) WHERE a.x = 1 WITHIN 60000 ms"
    assert (one.name, two.name) == ("p", "q")


def test_weight_is_kept() -> None:
    assert bind("PATTERN A a WITHIN 1 h WEIGHT 2.5", LETTERS, name="q").weight == 2.5
    assert bind("PATTERN A a WITHIN 1 h", LETTERS, name="q").weight == 1.0


def test_many_conditions_joined_by_or_make_a_shallow_expression() -> None:
    plan = match("PATTERN A a WHERE " + " OR ".join(f"a.x = {i}" for i in range(500)) + " WITHIN 1 h")

    def depth(expr: Expr) -> int:
        return 1 + max(depth(expr.left), depth(expr.right)) if isinstance(expr, Binary) else 0

    assert depth(plan.conditions[0].expr) <= 12


@pytest.mark.parametrize("function", ["count", "sum", "avg", "min", "max"])
def test_an_aggregate_over_many_lists_makes_no_huge_expression(function: str) -> None:
    lists = ", ".join(f"A+ v{i}[]" for i in range(MAX_COMPONENTS - 1))
    values = ", ".join(f"v{i}[].x" for i in range(MAX_COMPONENTS - 1))
    plan = match(f"PATTERN SEQ({lists}, B z) WHERE z.x > {function}({values}) WITHIN 1 h")
    assert sum(1 for _ in reads(plan.conditions[0].expr)) < 5_000
