"""Kernels from the text of modules: what stands in them behind `# ---- template begins`, with decorators.

The modules hold plain functions that import one another, so that they also run as Python; their text makes one module
that is compiled whole. A module's CALLED names the functions that are compiled by themselves and called.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection
from types import ModuleType

_BEGIN = "# ---- template begins"


def text(*parts: ModuleType, called: Collection[str] = ()) -> str:
    """One source for `jit.load`. `called`: more functions that are not compiled into their callers, entry points.

    For the clause EXACT leave `numbers` out, name `exact` among the helpers, and load it without compiling.
    """
    lines = ["from typing import Any"]
    for part in parts:
        own = inspect.getsource(part)
        for line in own[own.index(_BEGIN) :].splitlines():
            if line.startswith("def "):
                name = line[4 : line.index("(")]
                # Kernels make no arrays: without reference counts and with small parts inlined they are much faster.
                apart = name in called or name in getattr(part, "CALLED", ())
                lines.append("@kernel(_nrt=False)" if apart else "@inlined")
            lines.append(line)
    return "\n".join([*lines, ""])
