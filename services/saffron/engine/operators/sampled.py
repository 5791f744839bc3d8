"""The blocks that are looked at more closely than others: a share of them, by the hash of a number that each has."""

from __future__ import annotations

from saffron.engine.kernels.hashing import GOLDEN


def is_sampled(number: int, one_in: int) -> bool:
    """True if the number is in a pseudo-random sample of one in `one_in`; the same in every run."""
    return ((number + 1) * GOLDEN & 0xFFFFFFFFFFFFFFFF) >> 32 < (1 << 32) // one_in
