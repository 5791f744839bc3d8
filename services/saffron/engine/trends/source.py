"""What is compiled for a trend query: the common loops, once for all, and its conditions, which are generated text.

Only checked parts of the plan are written out: numbers by repr, attributes and strings by index. Everything is
computed in float64 with NaN for null (`plan.Binary`); a string is the number under which the query interned it.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from numba import cfunc, types

from saffron.engine import arithmetic, jit
from saffron.engine.events.schema import Kind
from saffron.engine.trends import expressions, kernels, kernels_tables, layout
from saffron.language.plan import Attribute, Binary, Call, Const, Expr, In, TrendPlan, Unary, Which

_BEGIN = "# ---- template begins"
_ENTRY_POINTS = ("advance", "close_until", "rehash")
_MATRIX = types.float64[:, ::1]
_SELECT = types.void(
    types.int64, types.int64, types.int64, types.int64, _MATRIX, _MATRIX, types.int64[::1], types.boolean[::1]
)


@dataclass(frozen=True)
class Reads:
    """What the conditions of a plan read.

    `attributes`: (name, kind) of each column, the stored ones first; `stored`: how many are kept with each vertex,
    for edge conditions read them of the earlier event. `strings`: the string literals, interned as 0, 1, ...
    `ordered`: some condition orders strings, so that their ranks are needed.
    """

    attributes: tuple[tuple[str, Kind], ...]
    stored: int
    strings: tuple[str, ...]
    ordered: bool


def reads(plan: TrendPlan) -> Reads:
    """What the conditions of this plan read."""
    edges = [part for exprs in edge_conditions(plan) for expr in exprs for part in walk(expr)]
    others = [
        part for exprs in (*plan.template.local, opening_condition(plan)) for expr in exprs for part in walk(expr)
    ]
    earlier = {(a.name, a.kind) for a in edges if isinstance(a, Attribute) and a.which is not Which.ADJACENT}
    parts = edges + others
    rest = {(a.name, a.kind) for a in parts if isinstance(a, Attribute)} - earlier
    literals = {c.value for c in parts if isinstance(c, Const) and isinstance(c.value, str)}
    ordered = any(isinstance(p, Binary) and p.operator in expressions.ORDERINGS and _of_strings(p) for p in parts)
    return Reads((*sorted(earlier, key=str), *sorted(rest, key=str)), len(earlier), tuple(sorted(literals)), ordered)


def edge_conditions(plan: TrendPlan) -> list[tuple[Expr, ...]]:
    """The conditions of the conditional transitions, numbered as `select` numbers them."""
    return [transition.conditions for transition in plan.template.transitions if transition.conditions]


def opening_condition(plan: TrendPlan) -> tuple[Expr, ...]:
    """The condition of OPEN ON, if there is one."""
    opens = plan.window.opens
    return () if opens is None or opens.expr is None else (opens.expr,)


def walk(expr: Expr) -> list[Expr]:
    """The expression and all parts of it."""
    children: Sequence[Expr] = ()
    if isinstance(expr, Unary):
        children = (expr.operand,)
    elif isinstance(expr, Binary):
        children = (expr.left, expr.right)
    elif isinstance(expr, Call):
        children = expr.arguments
    elif isinstance(expr, In):
        children = (expr.operand, *expr.choices)
    return [expr, *(part for child in children for part in walk(child))]


@cache
def core(*, compiled: bool) -> ModuleType:
    """The loops that all queries share (`kernels_tables`, `kernels`), as machine code or as Python."""
    lines = ["from typing import Any"]
    for part in (kernels_tables, kernels):
        text = inspect.getsource(part)
        for line in text[text.index(_BEGIN) :].splitlines():
            if line.startswith("def "):
                # Kernels make no arrays: without reference counts and with every part inlined they are much faster.
                lines.append("@kernel(_nrt=False)" if line[4 : line.index("(")] in _ENTRY_POINTS else "@inlined")
            lines.append(line)
    return jit.load("\n".join([*lines, ""]), helpers=(layout,), compiled=compiled)


def conditions(plan: TrendPlan, needs: Reads, *, compiled: bool) -> ModuleType:
    """The plan's own functions: `select`, `keep` and `choose_openings` (see `write`)."""
    module = jit.load(write(plan, needs), helpers=(layout, arithmetic, expressions), compiled=compiled)
    if compiled and not hasattr(module, "select_pointer"):
        # A pointer has the same type for every query, so that the loops that call it are compiled once.
        module.select_pointer = cfunc(_SELECT, cache=True, error_model="numpy")(module.select)  # type: ignore[attr-defined]
    elif not compiled:
        module.select_pointer = module.select  # type: ignore[attr-defined]
    return module


def write(plan: TrendPlan, needs: Reads) -> str:
    """The source of a plan's conditions; equal for all plans without any.

    `select` marks the vertices that event i may follow; `keep` clears the bits of states whose local conditions an
    event does not meet; `choose_openings` unmarks the events that do not open a window.
    """
    places = {read: index for index, read in enumerate(needs.attributes)}
    codes = {value: code for code, value in enumerate(needs.strings)}

    def current(attribute: Attribute) -> str:
        return f"float(attributes[{places[attribute.name, attribute.kind]}, i])"

    def either(attribute: Attribute) -> str:
        if attribute.which is Which.ADJACENT:
            return current(attribute)
        return f"float(values[{places[attribute.name, attribute.kind]}, v])"

    def all_true(exprs: Sequence[Expr], reader: expressions.Reader) -> str:
        return " and ".join(expressions.truth(expr, codes, reader) for expr in exprs) or "True"

    lines = ["import math", "", "def select(condition, begin, stop, i, values, attributes, ranks, chosen):"]
    for number, exprs in enumerate(edge_conditions(plan)):
        lines += [
            f"    if condition == {number}:",
            "        for v in range(begin, stop):",
            f"            chosen[v] = {all_true(exprs, either)}",
        ]
    lines += ["    return", "", "@kernel()", "def keep(states, attributes, ranks):", "    for i in range(len(states)):"]
    for s, exprs in enumerate(plan.template.local):
        if exprs:
            lines += [f"        if (states[i] >> {s}) & 1 and not ({all_true(exprs, current)}):"]
            lines += [f"            states[i] ^= {1 << s}"]
    lines += ["        pass", "", "@kernel()", "def choose_openings(candidates, attributes, ranks):"]
    lines += ["    for i in range(len(candidates)):"]
    lines += [f"        candidates[i] = candidates[i] and {all_true(opening_condition(plan), current)}"]
    return "\n".join(lines) + "\n"


def _of_strings(expr: Binary) -> bool:
    return Kind.STRING in {expressions.kind(expr.left), expressions.kind(expr.right)}
