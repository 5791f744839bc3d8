"""Counts that never overflow: an integer times a power of two.

A count is the pair (n, e), worth n * 2**e. It is exact, with e = 0, while it is below 2**63. Beyond, n holds its 63
leading bits (2**62 <= n < 2**63) and each addition rounds by at most half a unit of the last one, so that after m
additions in a row the relative error is below m * 2**-63. `kernels_tables.add` does the sums.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal

_CONTEXT = Context(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN)


def written(n: int, e: int) -> int | str:
    """The count as results show it: an integer while exact, else a decimal string with 17 digits."""
    if e == 0:
        return n
    value = _CONTEXT.multiply(Decimal(n), _CONTEXT.power(Decimal(2), Decimal(e)))
    return f"{value:.16e}"
