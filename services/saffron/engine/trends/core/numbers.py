"""Numbers that never overflow: an integer times a power of two, in flat arrays of int64 and int32 (T5).

A *count* is the pair (n, e), worth n * 2**e, n >= 0. It is exact, with e = 0, while it is below 2**63. Beyond, n holds
its 63 leading bits.

A *sum* is the pair (n, x), worth n * 2**(x >> 1), of either sign, |n| < 2**63. x >> 1 may be negative, so that sums of
fractions are exact too. The lowest bit of x is 1 once anything was rounded off: a sum is exact while x is even.

Errors are relative to the sum of the absolute values of the terms, with U = 2**-62. `add`, `add_signed`, `product`,
`times` and `scaled` err by at most U, `total` by at most U for each term. So d operations in a row err by less than
d * U (and `total`'s terms): a hundred million of them by a fortieth of 1e-9. Nothing is ever infinite: exponents are
int32.

The functions are plain: `source.core` compiles their text, random tests run it as Python. For the clause EXACT the
loops run as Python with the functions of `exact` in place of these (the same names), over arrays of Python integers.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Ints, Smalls

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def bits(n: int) -> int:
    """The length in bits of 0 <= n < 2**63."""
    length = 0
    for step in (32, 16, 8, 4, 2):
        if n >> step != 0:
            n >>= step
            length += step
    return length + n if n < 2 else length + 2


def add(n: int, e: int, m: int, f: int) -> tuple[int, int]:
    """The sum of two counts, rounded half up once it is scaled."""
    if e < f:
        n, e, m, f = m, f, n, e
    behind = int(e - f)  # without the JIT an int32 would make one of m
    if behind > 63:
        return n, e
    if behind > 0:
        m = (m >> behind) + ((m >> (behind - 1)) & 1)
    if n > layout.LARGEST - m:
        return (n >> 1) + (m >> 1) + (((n & 1) + (m & 1) + 1) >> 1), e + 1
    return n + m, e


def total(row: int, first: int, stop: int, ns: Ints, es: Smalls) -> Any:
    """The sum of the counts (ns[row, j], es[row, j]), first <= j < stop; bits below the last are cut."""
    top = 0
    for j in range(first, stop):
        top = max(top, es[row, j])
    high = 0  # the sum of the leading 31 bits and that of the last 32: neither can overflow
    low = 0
    for j in range(first, stop):
        n = ns[row, j] >> min(top - es[row, j], 63)
        high += n >> 32
        low += n & 0xFFFFFFFF
    high += low >> 32
    low &= 0xFFFFFFFF
    if high < 0x80000000:
        return (high << 32) | low, top
    over = bits(high) - 31
    n = (high << (32 - over)) + (low >> over)
    if n < layout.LARGEST:
        n += (low >> (over - 1)) & 1
    return n, top + over


def add_signed(n: int, x: int, m: int, y: int) -> tuple[int, int]:
    """The sum of two sums: exact if 63 bits hold it beside the smaller exponent, else rounded."""
    if (
        x == y
        and -(layout.LARGEST >> 1) <= n <= layout.LARGEST >> 1
        and -(layout.LARGEST >> 1) <= m <= layout.LARGEST >> 1
    ):
        return n + m, x
    return add_aligned(n, x, m, y)


def add_aligned(n: int, x: int, m: int, y: int) -> tuple[int, int]:
    """`add_signed` where exponents differ or the result may need a bit more."""
    lost = int(x | y) & 1
    e, f = int(x) >> 1, int(y) >> 1
    if n == 0 or (m != 0 and e < f):
        n, e, m, f = m, f, n, e
    if m == 0:
        return n, 2 * e + lost
    behind = e - f
    if behind > 0:  # widen the one with the greater exponent as far as it goes, then shorten the other
        wider = min(behind, 63 - bits(abs(n)))
        n <<= wider
        e -= wider
        behind -= wider
        if behind > 63:
            return n, 2 * e + 1
        if behind > 0:
            whole = abs(m)
            if whole & (layout.LARGEST >> (63 - behind)) != 0:
                lost = 1
            short = (whole >> behind) + ((whole >> (behind - 1)) & 1)
            m = -short if m < 0 else short
    if (n > 0 and m > layout.LARGEST - n) or (n < 0 and m < -layout.LARGEST - n):
        half = (n >> 1) + (m >> 1) + (((n & 1) + (m & 1)) >> 1)
        return half, 2 * (e + 1) + (lost | ((n ^ m) & 1))
    return n + m, 2 * e + lost


def multiply(a: int, b: int) -> tuple[int, int]:
    """(high, low) with a * b = high * 2**63 + low, both in [0, 2**63), as are a and b."""
    a1, a0 = a >> 32, a & 0xFFFFFFFF
    b1, b0 = b >> 32, b & 0xFFFFFFFF
    first = (a0 & 0xFFFF) * b0
    second = (a0 >> 16) * b0 + (first >> 16)
    third = a1 * b0 + (second >> 16)
    fourth = a0 * b1 + (third & 0xFFFFFFFF)
    low = ((fourth & 0x7FFFFFFF) << 32) | ((second & 0xFFFF) << 16) | (first & 0xFFFF)
    return ((a1 * b1 + (third >> 32) + (fourth >> 32)) << 1) | ((fourth >> 31) & 1), low


def leading(a: int, b: int) -> tuple[int, int, int]:
    """(n, e, lost): a * b as n * 2**e with the 63 leading bits, rounded half up; whether any other bit was lost."""
    if a < 0x80000000 and b < 0x80000000:
        return a * b, 0, 0
    high, low = multiply(a, b)
    if high == 0:
        return low, 0, 0
    over = bits(high)
    n = (high << (63 - over)) | (low >> over)
    up = (low >> (over - 1)) & 1
    lost = 1 if low & (layout.LARGEST >> (63 - over)) != 0 else 0
    if up and n == layout.LARGEST:
        return (layout.LARGEST >> 1) + 1, over + 1, lost
    return n + up, over, lost


def product(n: int, e: int, m: int, f: int) -> tuple[int, int]:
    """The product of two counts."""
    if n == 0 or m == 0:
        return 0, 0
    lead, over, _ = leading(n, m)  # 63 bits again if either is scaled, for then it has as many
    return lead, e + f + over


def times(n: int, e: int, m: int, y: int) -> tuple[int, int]:
    """The sum that is the count (n, e) times the sum (m, y)."""
    if n == 0 or m == 0:
        return 0, 0
    lead, over, lost = leading(n, abs(m))
    lost |= (y & 1) | (1 if e > 0 else 0)
    return (-lead if m < 0 else lead), 2 * (e + (y >> 1) + over) + lost


def scaled(n: int, e: int, m: int, f: int) -> tuple[int, int]:
    """The sum that is the count (n, e) times the number m * 2**f: an attribute's value (`wide.split`)."""
    if n == 0 or m == 0:
        return 0, 0
    lead, over, lost = leading(n, abs(m))
    lost |= 1 if e > 0 else 0
    return (-lead if m < 0 else lead), 2 * (e + f + over) + lost
