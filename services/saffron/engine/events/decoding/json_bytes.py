"""The signs and words of JSON as bytes, and the steps that all kernels take which read it."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# Comparisons stand as the compiler likes them:
# ruff: noqa: PLR1714

from __future__ import annotations

import numpy as np

from saffron.engine.kernels.hashing import with_byte
from saffron.engine.kernels.jit import inlined

QUOTE, BACKSLASH, COMMA, COLON, DOLLAR, POINT, MINUS, PLUS = 34, 92, 44, 58, 36, 46, 45, 43
OPEN, CLOSE, OPEN_LIST, CLOSE_LIST = 123, 125, 91, 93
ZERO, NINE, LOWER_E, UPPER_E = 48, 57, 101, 69
SPACE, TAB, LINE_FEED, RETURN = 32, 9, 10, 13
NULL = np.frombuffer(b"null", dtype=np.uint8).copy()
TRUE = np.frombuffer(b"true", dtype=np.uint8).copy()
FALSE = np.frombuffer(b"false", dtype=np.uint8).copy()


@inlined
def behind_blanks(buffer, p, end):
    """Position of the first byte from `p` on that is no white space."""
    while p < end and buffer[p] <= SPACE:
        byte = buffer[p]
        if byte != SPACE and byte != TAB and byte != LINE_FEED and byte != RETURN:
            return p
        p += 1
    return p


@inlined
def behind_digits(buffer, p, end):
    """Position of the first byte from `p` on that is no digit."""
    while p < end and ZERO <= buffer[p] <= NINE:
        p += 1
    return p


@inlined
def behind_word(buffer, p, end, word):
    """Position behind `word` where it stands at `p`, else -1."""
    if p + len(word) > end:
        return np.int64(-1)
    for k in range(len(word)):
        if buffer[p + k] != word[k]:
            return np.int64(-1)
    return np.int64(p + len(word))


@inlined
def add_name(buffer, start, end, path, ends, states, depth):
    """Add the name of an object, with a dot, to the path of the level below; False where it has no room.

    ends, states [levels]: where the path of each level ends, and its hash so far.
    """
    at = ends[depth]
    if at + (end - start) + 1 > len(path):
        return False
    value = states[depth]
    for k in range(start, end):
        path[at] = buffer[k]
        value = with_byte(value, buffer[k])
        at += 1
    path[at] = POINT
    ends[depth + 1] = at + 1
    states[depth + 1] = with_byte(value, np.uint8(POINT))
    return True
