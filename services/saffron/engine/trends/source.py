"""What runs a trend query: the loops, as Python for any query or made for this one, and its conditions, generated text.

Only checked parts of the plan are written out: numbers by repr, attributes and strings by index. Everything is
computed in float64 with NaN for null (`plan.Binary`); a string is the number under which the query interned it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from types import ModuleType
from typing import Any

from numba import cfunc, types

from saffron.engine import arithmetic, jit
from saffron.engine.events.schema import Kind
from saffron.engine.trends import (
    exact,
    expressions,
    kernels,
    kernels_absences,
    kernels_cells,
    kernels_final,
    kernels_lists,
    kernels_matrices,
    kernels_panes,
    kernels_tables,
    kernels_trees,
    kernels_windows,
    layout,
    numbers,
    ordered,
    ordered_code,
    references,
)
from saffron.engine.trends.folding import Known
from saffron.engine.trends.graphs import Graphs
from saffron.engine.trends.layout import Wiring
from saffron.engine.trends.measures import Measures
from saffron.engine.trends.specialise import Specialiser
from saffron.language.plan import Attribute, Binary, Call, Const, Expr, In, TrendPlan, Unary, Which

_PARTS = (
    kernels_tables,
    kernels_cells,
    kernels_trees,
    kernels_absences,
    kernels_lists,
    kernels_final,
    kernels_matrices,
    kernels_panes,
    kernels_windows,
    kernels,
)
_IMPORTS = ("import math", "from typing import Any")
_RARE = (
    *("add_key", "close", "lengthen", "finish_keys", "open_window", "add_aligned"),
    *("finish_panes", "compose", "through", "load", "make_one", "product", "times"),
)
_NAMES_OF_TREES = (
    *("AFTER", "BEFORE", "BLOCK", "BLOCKS", "FAN", "FILLED", "FOUND", "GIVEN", "HEIGHT", "KEY", "LAST", "LISTS"),
    *("ROWS", "WORD"),
)
_OF_TREES = {name: getattr(ordered, name) for name in _NAMES_OF_TREES}
_FEW = 2
_STATE, _TOTAL = frozenset({"s"}), frozenset({"s", "total"})
_VARIABLE = dict.fromkeys(("gather_vertex", "append", "start_sums", "gather_chosen", "is_positive", "finish"), _STATE)
_VARIABLE |= dict.fromkeys(("gather_total", "accumulate", "zero"), _TOTAL)
_VARIABLE |= dict.fromkeys(("measure_number", "measure_extreme", "gather_found", "add_entry", "extra_marks"), _STATE)
_VARIABLE |= dict.fromkeys(("add_cell", "add_to_cell", "copy_to_cell"), frozenset({"x", "cell"}))
"""With more than a few states: parts that are the same for all of them are compiled once."""
_ONCE = {"through": frozenset({"slot", "begins"}), "load": frozenset({"slot", "first"}), "compose": frozenset({"left"})}
_ONCE |= {"make_one": frozenset({"slot"})}
"""Parts that are compiled once, whatever they are called with."""
_BEGIN = "# ---- template begins"
_ENTRY_POINTS = ("advance", "close_until")
_MATRIX = types.float64[:, ::1]
_SELECT = types.void(
    types.int64, types.int64, types.int64, types.int64, _MATRIX, _MATRIX, types.int64[::1], types.boolean[::1]
)


@dataclass(frozen=True)
class Reads:
    """What the conditions and aggregates of a plan read.

    `attributes`: (name, kind) of each column, the stored ones first; `stored`: how many are kept with each vertex,
    for edge conditions read them of the earlier event. `summed`: those read as mantissa and exponent besides.
    `strings`: the string literals, interned as 0, 1, ... `ordered`: some condition orders strings, so that their ranks
    are needed.
    """

    attributes: tuple[tuple[str, Kind], ...]
    stored: int
    summed: tuple[tuple[str, Kind], ...]
    strings: tuple[str, ...]
    ordered: bool


def reads(graphs: Graphs, measures: Measures) -> Reads:
    """What the conditions and aggregates of this plan read."""
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
        strings=tuple(sorted(literals)),
        ordered=any(isinstance(p, Binary) and p.operator in expressions.ORDERINGS and _of_strings(p) for p in parts),
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


@cache
def core(*, unlimited: bool = False) -> ModuleType:
    """The loops that all queries share (`numbers`, `kernels_...`, `kernels`), as Python.

    `unlimited`: for EXACT, over integers of any size.
    """
    texts = [_text(part) for part in (_PARTS if unlimited else (numbers, *_PARTS))]
    trees = ordered_code.plain(unlimited=unlimited)
    names = {**_OF_TREES, **{name: getattr(trees, name) for name in ordered_code.PUBLIC}}
    if unlimited:
        names |= {name: value for name, value in vars(exact).items() if not name.startswith("_")}
    return jit.load("\n".join([*_IMPORTS, *texts]), helpers=(layout,), functions=names, compiled=False)


def special(wiring: Wiring, shapes: Mapping[tuple[str, int], int], *, compiled: bool) -> Any:
    """The loops for one query (`specialise`), as machine code or as Python."""
    text = _written(_Frozen(wiring, shapes))
    if not compiled:
        trees = ordered_code.plain(unlimited=False)
        names: dict[str, Any] = {name: getattr(trees, name) for name in ordered_code.PUBLIC}
        names["part"] = names["rare"] = lambda function: function
        names["rehash"] = core().rehash
        return jit.load(text, helpers=(references,), functions=names, compiled=False)
    functions: dict[str, Any] = {"part": _part, "rare": partial(_part, always=False)}
    if len(wiring.trees):
        functions |= ordered_code.functions()
        text = f"# {functions['ready'].__module__}\n{text}"  # it is named after what it is made from
    return references.ByReference(jit.load(text, helpers=(references,), functions=functions), _rehash())


@cache
def _rehash() -> Any:
    """As machine code, which is the same for every query."""
    lines = ["from __future__ import annotations", "@kernel()", ast.unparse(_functions()["rehash"]), ""]
    return jit.load("\n".join(lines)).rehash


class _Frozen:
    """A wiring and sizes as a key: what was written for them once serves every query that has the same."""

    def __init__(self, wiring: Wiring, shapes: Mapping[tuple[str, int], int]) -> None:
        self.wiring, self.shapes = wiring, shapes
        arrays = tuple((array.shape, array.dtype.str, array.tobytes()) for array in wiring)
        self._key = arrays, tuple(sorted(shapes.items()))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and self._key == other._key


@lru_cache(maxsize=256)
def _written(one: _Frozen) -> str:
    return written_for(one.wiring, one.shapes)


def _part(function: Any, *, always: bool = True) -> Any:
    """Decorator of a part of kernels, compiled once whatever literals it is called with: inlining sees to them."""
    part = jit.inlined(function, always=always)
    typed = part.get_call_template

    def unliteral(arguments: Sequence[Any], keywords: Any) -> Any:
        return typed(tuple(map(types.unliteral, arguments)), keywords)

    part.get_call_template = unliteral
    return part


def written_for(wiring: Wiring, shapes: Mapping[tuple[str, int], int]) -> str:
    """The source of the loops for a query of this wiring, whose arrays have these sizes for good."""
    constants = {name: value for name, value in (vars(layout) | _OF_TREES).items() if name.isupper()}
    variable = _ONCE | (_VARIABLE if len(wiring.states) > _FEW else {})
    maker = Specialiser(_functions(), Known(wiring._asdict(), shapes, constants, variable=variable))
    for name in _ENTRY_POINTS:
        maker.entry(name)
        _open(maker.made[-1])
    lines = [*_IMPORTS]
    for function in maker.made:
        # Kernels make no arrays: without reference counts and with every hot part inlined they are much faster.
        rare = function.name.rpartition("_")[0] in _RARE
        mark = "@kernel()" if function.name in _ENTRY_POINTS else "@rare" if rare else "@part"
        lines += [mark, ast.unparse(function), ""]
    return "\n".join(lines)


def _open(function: ast.FunctionDef) -> None:
    """Entry points are called with tables of arrays."""
    tables = [argument.arg for argument in function.args.args if argument.arg in ("store", "batch", "index")]
    function.body[:0] = ast.parse("\n".join(f"{name} = {name}_in({name})" for name in tables)).body


def _text(part: ModuleType) -> str:
    text = inspect.getsource(part)
    return text[text.index(_BEGIN) :]


@cache
def _functions() -> Mapping[str, ast.FunctionDef]:
    """The functions of all parts, by name."""
    trees = [ast.parse(_text(part)).body for part in (numbers, *_PARTS)]
    return {node.name: node for body in trees for node in body if isinstance(node, ast.FunctionDef)}


def conditions(graphs: Graphs, needs: Reads, *, compiled: bool) -> ModuleType:
    """The plan's own functions: `select`, `keep` and `choose_openings` (see `write`)."""
    module = jit.load(write(graphs, needs), helpers=(layout, arithmetic, expressions), compiled=compiled)
    if compiled and not hasattr(module, "select_pointer"):
        # A pointer has the same type for every query, so that the loops that call it are compiled once.
        module.select_pointer = cfunc(_SELECT, cache=True, error_model="numpy")(module.select)  # type: ignore[attr-defined]
    elif not compiled:
        module.select_pointer = module.select  # type: ignore[attr-defined]
    return module


def write(graphs: Graphs, needs: Reads) -> str:
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


def _ranges(graphs: Graphs, codes: expressions.Codes, current: expressions.Reader) -> list[str]:
    """`rank_events`: where each event stands in the trees, and what it asks of them (`layout.Batch`, ranges)."""
    lines = ["", "@kernel()", "def rank_events(keys, own, words, lows, highs, attributes, ranks):"]
    lines += ["    for i in range(keys.shape[1]):"]
    for tree, asked in enumerate(graphs.trees.values()):
        earlier = " and ".join(expressions.truth(expr, codes, current) for expr in asked.before) or "True"
        later = " and ".join(expressions.truth(expr, codes, current) for expr in asked.after) or "True"
        key = "0.0" if asked.key is None else expressions.value(asked.key, codes, current)
        lower, upper = asked.low or asked.unequal, asked.high
        low = "-math.inf" if lower is None else expressions.value(lower.later, codes, current)
        high = "math.inf" if upper is None else expressions.value(upper.later, codes, current)
        lines += [
            f"        keys[{tree}, i] = within({key}) if {earlier} else math.nan",
            f"        lows[{tree}, i] = {low if lower is None else f'within({low})'} if {later} else math.nan",
            f"        highs[{tree}, i] = {high if upper is None else f'within({high})'}",
        ]
        if asked.equal is not None:
            lines += [
                f"        own[{tree}, i] = {expressions.value(asked.equal.earlier, codes, current)} + 0.0",
                f"        words[{tree}, i] = {expressions.value(asked.equal.later, codes, current)} + 0.0",
            ]
        lines += [
            f"        keys[{tree}, i] = math.nan if math.isnan(own[{tree}, i]) else keys[{tree}, i]",
            f"        if math.isnan(words[{tree}, i]) or math.isnan(highs[{tree}, i]):",
            f"            lows[{tree}, i] = math.nan",
        ]
    return [*lines, "        pass", ""]


def _of_strings(expr: Binary) -> bool:
    return Kind.STRING in {expressions.kind(expr.left), expressions.kind(expr.right)}
