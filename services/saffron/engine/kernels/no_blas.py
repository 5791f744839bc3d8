"""Numba without BLAS: no kernel multiplies matrices by it, and looking for it imports all of scipy.linalg."""

from __future__ import annotations

import sys
from importlib import import_module

_LINALG = "scipy.linalg"


def leave_out() -> None:
    """Import Numba's array functions as if SciPy had no linear algebra: 0.15 s of each process's start,
    and 15 MB of its memory, where SciPy is installed.

    Who uses `scipy.linalg` itself finds it afterwards, as before.
    """
    if _LINALG in sys.modules:
        return
    sys.modules[_LINALG] = None  # type: ignore[assignment]
    try:
        import_module("numba.np.arraymath")
    finally:
        del sys.modules[_LINALG]
