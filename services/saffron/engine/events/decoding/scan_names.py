"""Names for the scanner: the field that a name is of, by a guess from the name before it or by a hash table."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# Loops and chains of comparisons stand as the compiler likes them:
# ruff: noqa: SIM110

from __future__ import annotations

import numpy as np

from saffron.engine.events.decoding.json_bytes import BACKSLASH, QUOTE, SPACE
from saffron.engine.events.decoding.utf8 import is_utf8
from saffron.engine.kernels.hashing import folded, with_byte
from saffron.engine.kernels.jit import inlined

_UNSURE = -1


@inlined
def scan_name(buffer, p, end, fields, scratch, depth, around, previous):
    """(field, position, hash) of the name that begins at `p`, `depth` objects deep behind `around` bytes of the path.

    `field`: -1 where it is none. `position`: behind the closing quote, or -1 where unsure. `hash`: of other names.
    """
    guess = np.int64(scratch.follower[previous])
    low = fields.bounds[guess]
    length = fields.bounds[guess + 1] - low - around
    if np.uint64(length) < np.uint64(end - p) and buffer[p + length] == QUOTE:  # a negative length is a large one
        same = True
        for k in range(length):
            if buffer[p + k] != fields.text[low + around + k]:
                same = False
                break
        if same and (around == 0 or equal_bytes(scratch.path, 0, around, fields.text, low, around)):
            return guess, p + length + 1, np.uint64(0)
    field, p, value = _find_name(buffer, p, end, fields, scratch, depth)
    if field >= 0:
        scratch.follower[previous] = field
    return field, p, value


@inlined
def _find_name(buffer, start, end, fields, scratch, depth):
    """The slow path of `scan_name`: it finds the name in the hash table."""
    value = scratch.states[depth]
    p = start
    ascii_only = True
    while p < end and buffer[p] != QUOTE:
        byte = buffer[p]
        if byte == BACKSLASH or byte < SPACE:
            return np.int64(-1), _UNSURE, value
        ascii_only &= byte < 128
        value = with_byte(value, byte)
        p += 1
    if p >= end:
        return np.int64(-1), _UNSURE, value
    value = folded(value)
    around = scratch.ends[depth]
    mask = len(fields.slots) - 1
    slot = np.int64(value & np.uint64(mask))
    while fields.slots[slot] >= 0:
        field = np.int64(fields.slots[slot])
        low = fields.bounds[field]
        length = fields.bounds[field + 1] - low - around
        if equal_bytes(buffer, start, p - start, fields.text, low + around, length) and equal_bytes(
            scratch.path, 0, around, fields.text, low, around
        ):
            return field, p + 1, value
        slot = (slot + 1) & mask
    return np.int64(-1), (p + 1 if ascii_only or is_utf8(buffer, start, p) else _UNSURE), value


@inlined
def equal_bytes(left, at, length, right, low, right_length):
    """True if the bytes of one array from `at` on are those of another from `low` on."""
    if length != right_length:
        return False
    for k in range(length):
        if left[at + k] != right[low + k]:
            return False
    return True
