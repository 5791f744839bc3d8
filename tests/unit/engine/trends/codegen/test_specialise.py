"""Kernels made for one query do what the kernels for all of them do: both as Python, over random aggregate queries."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from saffron.engine.trends.codegen import source
from saffron.engine.trends.codegen.folding import Known
from saffron.engine.trends.codegen.specialise import Specialiser
from saffron.engine.trends.queries.trend_query import TrendQuery
from saffron.language import compile_query
from saffron.language.plan.trend_plan import TrendPlan
from tests.unit.engine.trends.language import Case, blocks, case, run

SEEDS = range(70_000, 70_040)


def made(text: str, known: Known, entry: str) -> str:
    """The functions made for `entry` out of those of the text; digests in their names are their numbers."""
    functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    maker = Specialiser(functions, known)
    maker.entry(entry)
    written = "\n".join(ast.unparse(function) for function in maker.made)
    for number, name in enumerate(function.name for function in maker.made if function.name != entry):
        written = written.replace(name, f"{name[:-17]}_{number}")
    return written


def test_special_kernels_give_what_the_common_ones_give(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [one for one in map(case, SEEDS) if isinstance(one, Case) and not one.plan.exact]
    expected = [run(one, blocks(one)) for one in asked]
    build = TrendQuery.__init__

    def special(self: TrendQuery, *arguments: Any, **options: Any) -> None:
        build(self, *arguments, **options)
        self._kernels = source.special(self.wiring, self._sizes().lasting, compiled=False)

    monkeypatch.setattr(TrendQuery, "__init__", special)
    for one, found in zip(asked, expected, strict=True):
        assert run(one, blocks(one)) == found, str(one)


class Numbers(ast.NodeTransformer):
    """Puts numbers for the constants that a text begins with."""

    def __init__(self) -> None:
        self.known: dict[str, ast.expr] = {}

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id.isupper():
            self.known[target.id] = node.value
            return None
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.known.get(node.id, node)


@pytest.mark.parametrize(
    "pattern", ["A+ WHERE A.x < NEXT(A).x", "SEQ(A+, NOT C, B)", "(SEQ(A+, B))+ WHERE A.x + NEXT(A).x > 3", "A+ OR B+"]
)
def test_the_text_to_be_read_is_what_is_compiled_but_for_names_of_constants(pattern: str) -> None:
    plan = compile_query(f"RETURN COUNT(*), SUM(A.x) PATTERN {pattern} WITHIN 10 ms SLIDE 2 ms", None, name="q")
    assert isinstance(plan, TrendPlan)
    query = TrendQuery(plan, {}, 0, compiled=False)
    read = query.sources()[1].text
    compiled = source.written_for(query.wiring, query._sizes().lasting)
    assert "store_head[KEYS]" in read
    assert "store_head[KEYS]" not in compiled
    assert ast.unparse(Numbers().visit(ast.parse(read))) == ast.unparse(ast.parse(compiled))


def test_what_is_known_is_a_literal_and_what_cannot_be_is_left_out() -> None:
    text = """
def f(i, wiring, store):
    total = 0
    for s in range(len(wiring.states)):
        if wiring.states[s, FLAG]:
            total += g(s, i, store)
    if not wiring.states[0, FLAG]:
        store.unused[0] = 1
    return total
def g(s, i, store):
    return store.numbers[s, i] + 2 * WIDTH
"""
    states = np.array([[1], [0], [1]])
    known = Known({"states": states}, {}, {"FLAG": 0, "WIDTH": 4})
    assert made(text, known, "f").splitlines() == [
        "def g_0(i, store_numbers):",
        "    return store_numbers[0, i] + 8",
        "def g_1(i, store_numbers):",
        "    return store_numbers[2, i] + 8",
        "def f(i, wiring, store):",
        "    store_numbers = store.numbers",
        "    total = 0",
        "    total += g_0(i, store_numbers)",
        "    total += g_1(i, store_numbers)",
        "    return total",
    ]


def test_what_is_the_same_for_many_queries_is_the_same_text() -> None:
    text = """
def f(i, wiring, store):
    g(0, i, wiring, store)
    g(1, i, wiring, store)
def g(s, i, wiring, store):
    for a in range(wiring.params[WIDTH]):
        h(s, a, i, store)
def h(s, a, i, store):
    for slot in between(0, i, store.numbers.shape[2]):
        store.numbers[s, a, slot] = store.numbers.shape[1]
"""
    common = frozenset(["g", "h"])

    def of(width: int, shapes: dict[tuple[str, int], int]) -> list[str]:
        told = {("store.numbers", 1): width}
        known = Known({"params": np.array([width])}, shapes, {"WIDTH": 0}, common=common, told=told)
        return made(text, known, "f").splitlines()

    assert of(3, {}) == [
        "def h_0(s, a, i, store_numbers):",
        "    slot = 0 % store_numbers.shape[2]",
        "    for _ in range(i - 0 + 1):",
        "        store_numbers[s, a, slot] = store_numbers.shape[1]",
        "        slot = slot + 1 if slot + 1 < store_numbers.shape[2] else 0",
        "def g_1(s, i, params_0, store_numbers):",
        "    for a in range(params_0):",
        "        h_0(s, a, i, store_numbers)",
        "def f(i, wiring, store):",
        "    store_numbers = sized(store.numbers, 1, 3)",
        "    g_1(0, i, 3, store_numbers)",
        "    g_1(1, i, 3, store_numbers)",
    ]
    assert of(3, {})[:8] == of(4, {})[:8]
    assert of(1, {("store.numbers", 2): 1})[:3] == [
        "def h_0(s, a, i, store_numbers):",
        "    store_numbers[s, a, 0] = store_numbers.shape[1]",
        "def g_1(s, i, store_numbers):",
    ]


@pytest.mark.parametrize(
    ("windows", "loop"),
    [
        (1, ["    store_slots[0] += 1"]),
        (
            3,
            [
                "    slot = low % 3",
                "    for _ in range(high + 1 - low + 1):",
                "        store_slots[slot] += 1",
                "        slot = slot + 1 if slot + 1 < 3 else 0",
            ],
        ),
    ],
)
def test_slots_of_windows_are_a_plain_loop_and_one_window_needs_none(windows: int, loop: list[str]) -> None:
    text = """
def f(low, high, store):
    for slot in between(low, high + 1, len(store.slots)):
        store.slots[slot] += 1
"""
    known = Known({}, {("store.slots", 0): windows}, {})
    lines = made(text, known, "f").splitlines()
    assert lines == ["def f(low, high, store):", "    store_slots = store.slots", *loop]


def test_a_parameter_that_is_assigned_to_is_no_literal() -> None:
    text = """
def f(i):
    return g(1, i)
def g(n, i):
    while n < i:
        n += n
    return n
"""
    assert "return g_0(1, i)" in made(text, Known({}, {}, {}), "f")
