"""Marks of functions that kernels are made of. They make no arrays, so that nothing need count references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from saffron.engine.kernels import jit
from saffron.engine.kernels.numba_types import types
from saffron.engine.match.uncertain.arrays import SHAPE, WORK

inline: Any = jit.jitable(forceinline=True, _nrt=False)
"""Becomes part of each caller."""


def apart(result: types.Type, *more: types.Type) -> Callable[[jit.Function], jit.Function]:
    """A decorator that compiles a function once, to be called with `shape`, `work` and more, not inlined."""
    return jit.separate(result(SHAPE, WORK, *more), later=True)
