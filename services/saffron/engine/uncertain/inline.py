"""Marks of functions that kernels are made of. They make no arrays, so that nothing need count references."""

from __future__ import annotations

from typing import Any

from saffron.engine.jit import jitable

inline: Any = jitable(forceinline=True, _nrt=False)
"""Becomes part of each caller."""
apart: Any = jitable(_nrt=False)
"""Is called: for what is seldom done."""
