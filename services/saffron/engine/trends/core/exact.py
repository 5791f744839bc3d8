"""The functions of `numbers` without a limit, for the clause EXACT, whose loops run as Python (T5).

Counts are (n, 0), sums (n, x) with x even, n a Python integer of any size. Arrays of n have dtype object, those of
exponents int32 as always. `generated.load(..., compiled=False)` loads the loops with these names in place of `numbers`.
"""

from __future__ import annotations

from typing import Any


def add(n: int, e: int, m: int, f: int) -> tuple[int, int]:
    """The sum of two counts."""
    return n + m, 0


def total(row: int, first: int, stop: int, ns: Any, es: Any) -> tuple[int, int]:
    """The sum of the counts ns[row, first:stop]."""
    return sum(ns[row, first:stop].tolist()), 0


def add_signed(n: int, x: int, m: int, y: int) -> tuple[int, int]:
    """The sum of two sums."""
    if n == 0 or m == 0:
        return (m, y) if n == 0 else (n, x)
    least = min(int(x), int(y))
    return (n << ((int(x) - least) >> 1)) + (m << ((int(y) - least) >> 1)), least


def product(n: int, e: int, m: int, f: int) -> tuple[int, int]:
    """The product of two counts."""
    return n * m, 0


def times(n: int, e: int, m: int, y: int) -> tuple[int, int]:
    """The sum that is the count (n, e) times the sum (m, y)."""
    return (n * m, int(y)) if n != 0 and m != 0 else (0, 0)


def scaled(n: int, e: int, m: int, f: int) -> tuple[int, int]:
    """The sum that is the count (n, e) times the number m * 2**f."""
    return (n * int(m), 2 * int(f)) if n != 0 and m != 0 else (0, 0)
