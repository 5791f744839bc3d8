"""Functions that kernels call and Numba's own pipeline compiles: unlike kernels they may contain all that it knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core.errors import NumbaError


class CompileError(Exception):
    """A function that Numba cannot compile; the message is the last line of Numba's own."""


def compiled(function: Callable[..., Any], signature: object) -> Any:
    """The function as kernels call it. Raises CompileError.

    It divides as IEEE 754 says: 1 / 0 is an infinity.
    """
    try:
        return numba.njit(signature, error_model="numpy", inline="never")(function)
    except NumbaError as error:
        raise CompileError(str(error).strip().splitlines()[-1]) from error


def pointer(function: Callable[..., Any], signature: object) -> Any:
    """The function as an argument of kernels: its type is that of its signature, so that they are compiled once."""
    return numba.cfunc(signature, cache=True, error_model="numpy")(function)
