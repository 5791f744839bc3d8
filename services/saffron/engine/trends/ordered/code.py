"""The ordered index for other kernels: as Python, or as machine code that is made once for all queries.

The templates of `numbers` and of the index's four modules make one module. In machine code its long parts are called
by address (`jit.separate`), so that a query's kernels name them without compiling them:

    generated.load(source, functions=ordered_code.functions())   # insert, aggregate, ... in kernels, and only there
    ordered_code.plain(unlimited=True)                           # the same names as Python, for EXACT over integers
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any

from saffron.engine.kernels import generated, jit
from saffron.engine.kernels.kernel_source import KernelSource
from saffron.engine.kernels.numba_types import types
from saffron.engine.trends.core import arrays, exact, layout, numbers
from saffron.engine.trends.ordered import few as ordered_few
from saffron.engine.trends.ordered import nodes as ordered_nodes
from saffron.engine.trends.ordered import ordered, references
from saffron.engine.trends.ordered import removal as ordered_removal
from saffron.engine.trends.ordered import tree as ordered_tree

_BEGIN = "# ---- template begins"
_NAMESPACE = re.compile(r"\b(?:layout|ordered)\.(?=[A-Z])")
_PARTS = (ordered_nodes, ordered_tree, ordered_removal, ordered_few)
PUBLIC = ("ready", "insert", "aggregate", "rebalance", "free_root")
"""The functions that kernels call. Their docstrings are in `ordered_tree`, `ordered_few` and `ordered_removal`."""


def plain(*, unlimited: bool = False) -> ModuleType:
    """The functions as Python; `unlimited`: over integers of any size."""
    text = "\n".join(["from typing import Any", *map(text_of, _PARTS if unlimited else (numbers, *_PARTS))])
    helpers = (arrays, layout, ordered, exact) if unlimited else (arrays, layout, ordered)
    return generated.load(text, helpers=helpers, compiled=False)


def functions(names: Sequence[str] = PUBLIC) -> Mapping[str, Callable[..., Any]]:
    """These by name, all of them signed, for `generated.load`: other kernels call them as machine code.

    The caller's source must hold `machine_name()`; a comment will do. The name follows from their content. Machine code
    from the cache would crash if it called the addresses of another version.
    """
    machine = _machine()
    return {name: getattr(machine, name) for name in names}


def machine_name() -> str:
    """The name of the module that has them as machine code."""
    return generated.module_name(_machine_source())


@cache
def _machine() -> ModuleType:
    source = _machine_source()
    names: dict[str, Any] = {"separate": jit.separate, "SIGNATURES": _signatures()}
    return generated.load(source.text, helpers=source.helpers, functions=names)


@cache
def _machine_source() -> KernelSource:
    """The source of the index as machine code. Functions with a signature are separate parts, others are inlined."""
    lines = ["from typing import Any"]
    signatures = _signatures()
    for part in (numbers, *_PARTS):
        for line in text_of(part).splitlines():
            if line.startswith("def "):
                name = line[4 : line.index("(")]
                lines.append(f'@separate(SIGNATURES["{name}"])' if name in signatures else "@inlined")
            lines.append(line)
    return KernelSource("insert", "\n".join([*lines, ""]), (arrays, layout, ordered, references))


def text_of(part: ModuleType) -> str:
    """The functions of a template module; constants of `layout` and `ordered` go by their own names there."""
    text = inspect.getsource(part)
    return _NAMESPACE.sub("", text[text.index(_BEGIN) :])


def _signatures() -> Mapping[str, Any]:
    """Signatures of the long functions, and of those that kernels call. A root is an int64."""
    index = references.INDEX
    i, f, b = types.int64, types.float64, types.boolean
    order, bounds = (i, f, i), (i, f, i, f, i)
    return {
        "add_aligned": types.UniTuple(i, 2)(i, i, i, i),
        "copy_entries": types.void(i, i, i, index),
        "opened": types.UniTuple(i, 3)(i, i, b, index),
        "total": types.UniTuple(i, 2)(i, i, i, types.int64[:, ::1], types.int32[:, ::1]),
        "sum_child": types.void(i, i, index),
        "divide_path": types.UniTuple(i, 2)(i, i, i, b, index),
        "lacks": b(index),
        "insert": i(i, i, f, index),
        "add_side": types.void(i, *order, b, index),
        "aggregate": types.void(i, *bounds, index),
        "prune": i(i, i, index),
        "free_tree": types.void(i, index),
        "tree_of_list": i(i, i, index),
        "ready": i(i, i, index),
        "rebalance": i(i, i, index),
        "free_root": types.void(i, index),
    }
