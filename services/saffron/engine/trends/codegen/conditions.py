"""The conditions of a trend query, as generated text.

Only checked parts of the plan are written out: numbers by repr, attributes and strings by index. Everything is
computed in float64 with NaN for null (`plan.Binary`); a string is the number under which the query interned it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

from saffron.engine.kernels import arithmetic, functions, generated
from saffron.engine.kernels.kernel_source import KernelSource
from saffron.engine.kernels.numba_functions import pointer
from saffron.engine.kernels.numba_types import types
from saffron.engine.trends.core import expression_text
from saffron.engine.trends.core.graphs import Graphs
from saffron.engine.trends.core.measures import Measures
from saffron.language.plan.expressions import Attribute, Binary, Call, Const, Expr, In, Unary, Which
from saffron.language.plan.pairs import nearest_and_rest
from saffron.language.plan.trend_plan import TrendPlan
from saffron.schema.schema import Kind

_MATRIX = types.float64[:, ::1]
_SELECT = types.void(
    types.int64, types.int64, types.int64, types.int64, _MATRIX, _MATRIX, types.int64[::1], types.boolean[::1]
)


@dataclass(frozen=True)
class Reads:
    """The attributes and values that the conditions and aggregates of a plan read.

    `attributes`: (name, kind) of each column, the stored ones first; `stored`: how many are kept with each vertex,
    for edge conditions read them of the earlier event. `summed`: those read as mantissa and exponent besides.
    `strings`: the string literals with the codes that they are interned as. `ordered`: some condition orders strings,
    so that their ranks are needed.
    """

    attributes: tuple[tuple[str, Kind], ...]
    stored: int
    summed: tuple[tuple[str, Kind], ...]
    strings: Mapping[str, int]
    ordered: bool


def reads(graphs: Graphs, measures: Measures, code_of: Callable[[str], int] | None = None) -> Reads:
    """The attributes and values that the conditions and aggregates of this plan read.

    `code_of`: of a string literal; None: they have the codes 0, 1, ...
    """
    asked = [expr for one in graphs.trees.values() for expr in one.expressions]
    edges = [part for exprs in graphs.conditions for expr in exprs for part in walk(expr)]
    local = [place.local for place in graphs.places]
    others = [
        part for exprs in (*local, opening_condition(graphs.plan), asked) for expr in exprs for part in walk(expr)
    ]
    earlier = {(a.name, a.kind) for a in edges if isinstance(a, Attribute) and a.which is not Which.ADJACENT}
    parts = edges + others
    rest = {(a.name, a.kind) for a in parts if isinstance(a, Attribute)} | set(measures.read)
    literals = {c.value for c in parts if isinstance(c, Const) and isinstance(c.value, str)}
    return Reads(
        attributes=(*sorted(earlier, key=str), *sorted(rest - earlier, key=str)),
        stored=len(earlier),
        summed=tuple(measures.summed),
        strings={text: n if code_of is None else code_of(text) for n, text in enumerate(sorted(literals))},
        ordered=any(
            isinstance(p, Binary) and p.operator in expression_text.ORDERINGS and _of_strings(p) for p in parts
        ),
    )


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


def conditions(graphs: Graphs, needs: Reads, *, compiled: bool) -> ModuleType:
    """The plan's own functions: `select`, `keep` and `choose_openings` (see `write`)."""
    made = conditions_source(graphs, needs)
    module = generated.load(made.text, helpers=made.helpers, compiled=compiled)
    if compiled and not hasattr(module, "select_pointer"):
        # A pointer has the same type for every query, so that the loops that call it are compiled once.
        module.select_pointer = pointer(module.select, _SELECT)  # type: ignore[attr-defined]
    elif not compiled:
        module.select_pointer = module.select  # type: ignore[attr-defined]
    return module


def conditions_source(graphs: Graphs, needs: Reads) -> KernelSource:
    """The text of `conditions`."""
    return KernelSource("select", write(graphs, needs), (arithmetic, functions, expression_text))


def write(graphs: Graphs, needs: Reads) -> str:
    """The source of a plan's conditions; equal for all plans without any.

    `select` marks the vertices that event i may follow; `keep` clears the bits of states whose local conditions an
    event does not meet; `choose_openings` unmarks the events that do not open a window.
    """
    places = {read: index for index, read in enumerate(needs.attributes)}
    codes = needs.strings

    def current(attribute: Attribute) -> str:
        return f"float(attributes[{places[attribute.name, attribute.kind]}, i])"

    def either(attribute: Attribute) -> str:
        if attribute.which is Which.ADJACENT:
            return current(attribute)
        return f"float(values[{places[attribute.name, attribute.kind]}, v])"

    def all_true(exprs: Sequence[Expr], reader: expression_text.Reader) -> str:
        return " and ".join(expression_text.truth(expr, codes, reader) for expr in exprs) or "True"

    lines = ["import math", "", "def select(condition, begin, stop, i, values, attributes, ranks, chosen):"]
    for number, exprs in enumerate(graphs.conditions):
        lines += [
            f"    if condition == {number}:",
            "        for v in range(begin, stop):",
            f"            chosen[v] = {all_true(exprs, either)}",
        ]
    lines += ["    return", "", "@kernel()", "def keep(states, attributes, ranks):", "    for i in range(len(states)):"]
    for s, exprs in enumerate(place.local for place in graphs.places):
        if exprs:
            lines += [f"        if (states[i] >> {s}) & 1 and not ({all_true(exprs, current)}):"]
            lines += [f"            states[i] ^= {1 << s}"]
    lines += [
        "        pass",
        *_ranges(graphs, codes, current),
        "@kernel()",
        "def choose_openings(candidates, attributes, ranks):",
    ]
    lines += ["    for i in range(len(candidates)):"]
    lines += [f"        candidates[i] = candidates[i] and {all_true(opening_condition(graphs.plan), current)}"]
    return "\n".join(lines) + "\n"


def _ranges(graphs: Graphs, codes: expression_text.Codes, current: expression_text.Reader) -> list[str]:
    """Write `rank_events`: the ranks of each event in the trees, and the ranges that it asks for (`arrays.Batch`).

    `rests` [5, trees, n]: what float64 does not hold of each of the five values, where trees have codes.
    """

    def pair(side: Expr) -> tuple[str, str]:
        nearest, rest = nearest_and_rest(side)
        return expression_text.value(nearest, codes, current), expression_text.value(rest, codes, current)

    lines = ["", "@kernel()", "def rank_events(keys, own, words, lows, highs, rests, attributes, ranks):"]
    lines += ["    for i in range(keys.shape[1]):"]
    for tree, asked in enumerate(graphs.trees.values()):
        earlier = " and ".join(expression_text.truth(expr, codes, current) for expr in asked.before) or "True"
        later = " and ".join(expression_text.truth(expr, codes, current) for expr in asked.after) or "True"
        lower, upper, equal = asked.low or asked.unequal, asked.high, asked.equal
        key = ("0.0", "0.0") if asked.key is None else pair(asked.key)
        low = ("-math.inf", "0.0") if lower is None else pair(lower.later)
        high = ("math.inf", "0.0") if upper is None else pair(upper.later)
        own, word = (("0.0", "0.0"),) * 2 if equal is None else (pair(equal.earlier), pair(equal.later))
        lines += [
            f"        keys[{tree}, i] = within({key[0]}) if {earlier} else math.nan",
            f"        lows[{tree}, i] = {low[0] if lower is None else f'within({low[0]})'} if {later} else math.nan",
            f"        highs[{tree}, i] = {high[0] if upper is None else f'within({high[0]})'}",
        ]
        if equal is not None:
            lines += [f"        own[{tree}, i] = {own[0]} + 0.0", f"        words[{tree}, i] = {word[0]} + 0.0"]
        if graphs.has_codes:
            five = enumerate((key, own, word, low, high))
            lines += [f"        rests[{place}, {tree}, i] = {rest}" for place, (_, rest) in five]
        lines += [
            f"        keys[{tree}, i] = math.nan if math.isnan(own[{tree}, i]) else keys[{tree}, i]",
            f"        if math.isnan(words[{tree}, i]) or math.isnan(highs[{tree}, i]):",
            f"            lows[{tree}, i] = math.nan",
        ]
    return [*lines, "        pass", ""]


def _of_strings(expr: Binary) -> bool:
    return Kind.STRING in {expression_text.kind(expr.left), expression_text.kind(expr.right)}
