"""The source of a trend query's loops: Python for any query, or code specialised for one (`specialise`)."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache, lru_cache, partial
from types import ModuleType
from typing import Any

from saffron.engine.kernels import generated, jit, memory
from saffron.engine.kernels.content_hash import stamp
from saffron.engine.kernels.kernel_source import KernelSource, constants_text
from saffron.engine.trends.codegen.folding import Known
from saffron.engine.trends.codegen.specialise import Specialiser
from saffron.engine.trends.codegen.syntax import named
from saffron.engine.trends.core import arrays, exact, layout, numbers
from saffron.engine.trends.core.arrays import Wiring
from saffron.engine.trends.kernels import absences as kernels_absences
from saffron.engine.trends.kernels import cells as kernels_cells
from saffron.engine.trends.kernels import final as kernels_final
from saffron.engine.trends.kernels import kernels
from saffron.engine.trends.kernels import lists as kernels_lists
from saffron.engine.trends.kernels import matrices as kernels_matrices
from saffron.engine.trends.kernels import panes as kernels_panes
from saffron.engine.trends.kernels import tables as kernels_tables
from saffron.engine.trends.kernels import trees as kernels_trees
from saffron.engine.trends.kernels import windows as kernels_windows
from saffron.engine.trends.ordered import code as ordered_code
from saffron.engine.trends.ordered import ordered, references

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
    *("add_key", "lengthen", "finish_keys", "open_window", "add_aligned"),
    *("compose", "through", "load", "make_one", "copy_matrix", "product", "times"),
)
_CONSTANTS = {name: value for name, value in (vars(ordered) | vars(layout)).items() if name.isupper()}
_COMMON = frozenset(
    [
        *("find", "add_row", "unmark", "add_key", "locate", "renew", "begin_of", "lengthen", "move", "first_from"),
        *("zero", "pour", "gather_total", "accumulate", "gather_vertex", "gather_chosen", "start_sums", "is_positive"),
        *("measure_count", "measure_sum", "measure_extreme", "append", "enter_numbers", "extra_marks"),
        *(
            "close",
            "close_until",
            "write_entry",
            "new_entry",
            "enter",
            "finish",
            "open_window",
            "barrier",
            "first_allowed",
            "cut",
            "add_total",
            "pair_up",
            "less",
            "halved",
        ),
        *("gather_found", "add_entry", "give_nothing", "place_of", "entered", "give_vertex", "let_go"),
        *(
            "has_matrices",
            "new_matrix",
            "release",
            "copy_matrix",
            "forget",
            "make_one",
            "add_cell",
            "add_to_cell",
            "copy_to_cell",
            "add_product",
            "through",
            "load",
            "compose",
        ),
        *("bits", "add", "total", "add_signed", "add_aligned", "multiply", "leading", "product", "times", "scaled"),
    ]
)
"""Functions that hardly depend on the query: compiled once for many, they are made for one when they are inlined."""
_WIDTHS = frozenset([layout.KEY_WIDTH, layout.GROUP_WIDTH])
_ENTRY = "advance"


@cache
def core(*, unlimited: bool = False) -> ModuleType:
    """The loops that all queries share (`numbers`, `kernels_...`, `kernels`), as Python.

    `unlimited`: for EXACT, over integers of any size.
    """
    texts = [ordered_code.text_of(part) for part in (_PARTS if unlimited else (numbers, *_PARTS))]
    trees = ordered_code.plain(unlimited=unlimited)
    names = _CONSTANTS | {name: getattr(trees, name) for name in ordered_code.PUBLIC}
    if unlimited:
        names |= {name: value for name, value in vars(exact).items() if not name.startswith("_")}
    return generated.load("\n".join([*_IMPORTS, *texts]), helpers=(arrays,), functions=names, compiled=False)


def special(wiring: Wiring, shapes: Mapping[tuple[str, int], int], *, compiled: bool) -> Any:
    """The loops for one query (`specialise`), as machine code or as Python."""
    if not compiled:
        text = _written(_Frozen(wiring, shapes))
        trees = ordered_code.plain(unlimited=False)
        names: dict[str, Any] = {name: getattr(trees, name) for name in ordered_code.PUBLIC}
        names |= {"part": _same, "rare": _same, "sized": _same}
        names["rehash"] = core().rehash
        return generated.load(text, helpers=(references,), functions=names, compiled=False)
    functions: dict[str, Any] = {"part": _part, "rare": partial(_part, always=False)}
    if len(wiring.trees):
        functions |= ordered_code.functions()
    made = machine_source(wiring, shapes)
    return references.ByReference(generated.load(made.text, helpers=made.helpers, functions=functions), _rehash())


def machine_source(wiring: Wiring, shapes: Mapping[tuple[str, int], int]) -> KernelSource:
    """The text of the loops for one query, as it is compiled."""
    text = _written(_Frozen(wiring, shapes))
    if len(wiring.trees):
        text = f"# {ordered_code.machine_name()}\n{text}"  # its name is a hash of its inputs
    return KernelSource(_ENTRY, text, (references, memory))


def loops_source(wiring: Wiring, shapes: Mapping[tuple[str, int], int]) -> KernelSource:
    """The text of the loops for one query, for readers: compiled code has numbers for the names of constants, which
    saves Numba time.
    """
    return KernelSource(_ENTRY, written_for(wiring, shapes, readable=True), (references,))


def _same(one: Any, *_: int) -> Any:
    return one


@cache
def _rehash() -> Any:
    """The compiled `rehash`, which is the same for every query."""
    lines = ["from __future__ import annotations", "@kernel()", ast.unparse(_functions()["rehash"]), ""]
    return generated.load("\n".join(lines)).rehash


class _Frozen:
    """A wiring and sizes as a key of cached texts, which serve every query that has the same."""

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
    """Decorator of a part of kernels, compiled once whatever literals it is called with: inlining sees to them.

    It is kept on disk: its name tells its text and that of all that it calls (`specialise`), but for the index."""
    of_index = stamp(ordered_code.__name__, ordered_code.__file__)
    return jit.inlined(function, always=always, literals=False, made_from=of_index)


def written_for(wiring: Wiring, shapes: Mapping[tuple[str, int], int], *, readable: bool = False) -> str:
    """The source of the loops for a query of this wiring, whose arrays have these sizes for good.

    READ: the arrays that they read, as (tuple, name); ASKS: whether they call `select`. `readable`: constants by name.
    """
    few = {place: n for place, n in shapes.items() if n == 0 or (n == 1 and not place[0].endswith("extremes"))}
    varied = _WIDTHS | frozenset([layout.COUNTED] * (shapes["store.sums", 1] > 1))
    known = Known(wiring._asdict(), few, _CONSTANTS, common=_COMMON, varied=varied, told=shapes)
    maker = Specialiser(_functions(), known)
    read = [tuple(path.split(".")) for path in maker.entry(_ENTRY)]
    _open(maker.made[-1])
    lines: list[str] = []
    asks = False
    for function in maker.made:
        # Kernels make no arrays: without reference counts and with every hot part inlined they are much faster.
        origin = function.name if function.name == _ENTRY else function.name.rpartition("_")[0]
        rare = origin in _RARE
        mark = "@kernel()" if function.name == _ENTRY else "@rare" if rare else "@part"
        made = ast.unparse(named(function) if readable else function)
        asks |= "select(" in made
        lines += [*_described(origin), mark, made, ""]
    text = "\n".join([*lines, f"READ, ASKS = {read!r}, {asks}", ""])
    return "\n".join([*_IMPORTS, "", *([constants_text(text, _CONSTANTS)] if readable else []), text])


def _described(name: str) -> list[str]:
    """The docstring of the function that one was made from, as comments."""
    told = ast.get_docstring(_functions()[name]) or ""
    return [f"# {line}".rstrip() for line in told.splitlines()]


def _open(function: ast.FunctionDef) -> None:
    """Entry points are called with tables of arrays."""
    tables = [argument.arg for argument in function.args.args if argument.arg in ("store", "batch", "index")]
    function.body[:0] = ast.parse("\n".join(f"{name} = {name}_in({name})" for name in tables)).body


@cache
def _functions() -> Mapping[str, ast.FunctionDef]:
    """The functions of all parts, by name."""
    trees = [ast.parse(ordered_code.text_of(part)).body for part in (numbers, *_PARTS)]
    return {node.name: node for body in trees for node in body if isinstance(node, ast.FunctionDef)}
