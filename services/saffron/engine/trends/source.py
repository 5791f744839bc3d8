"""The loops of a trend query: as Python for any query, or made for this one (`specialise`)."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, partial
from types import ModuleType
from typing import Any

from numba import types

from saffron.engine import jit
from saffron.engine.trends import (
    exact,
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
from saffron.engine.trends.layout import Wiring
from saffron.engine.trends.specialise import Specialiser

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
_ENTRY = "advance"


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
    """The source of the loops for a query of this wiring, whose arrays have these sizes for good.

    READ: the arrays that they read, as (tuple, name); ASKS: whether they call `select`.
    """
    constants = {name: value for name, value in (vars(layout) | _OF_TREES).items() if name.isupper()}
    variable = _ONCE | (_VARIABLE if len(wiring.states) > _FEW else {})
    maker = Specialiser(_functions(), Known(wiring._asdict(), shapes, constants, variable=variable))
    read = [tuple(path.split(".")) for path in maker.entry(_ENTRY)]
    _open(maker.made[-1])
    lines = [*_IMPORTS]
    for function in maker.made:
        # Kernels make no arrays: without reference counts and with every hot part inlined they are much faster.
        rare = function.name.rpartition("_")[0] in _RARE
        mark = "@kernel()" if function.name == _ENTRY else "@rare" if rare else "@part"
        lines += [mark, ast.unparse(function), ""]
    asks = any("select(" in line for line in lines)
    return "\n".join([*lines, f"READ, ASKS = {read!r}, {asks}", ""])


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
