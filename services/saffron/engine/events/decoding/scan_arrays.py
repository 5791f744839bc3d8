"""Arrays for the scanner: their text without blanks, as the exact path writes it (`nesting.array_text`), or not at all.

Escapes, names that may stand twice, and numbers that results show otherwise than they are written are left to the exact
path.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# Comparisons stand as the compiler likes them:
# ruff: noqa: PLR1714, SIM109

from __future__ import annotations

import numpy as np

from saffron.engine.events.decoding.nesting import MAX_DEPTH
from saffron.engine.events.decoding.utf8 import is_utf8
from saffron.engine.kernels.hashing import folded, no_bytes, with_byte
from saffron.engine.kernels.jit import inlined

_QUOTE, _BACKSLASH, _COMMA, _COLON, _MINUS, _POINT, _ZERO, _NINE = 34, 92, 44, 58, 45, 46, 48, 57
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = 123, 125, 91, 93
_SPACE, _TAB, _LINE_FEED, _RETURN, _LOWER_E, _UPPER_E = 32, 9, 10, 13, 101, 69
_NULL = np.frombuffer(b"null", dtype=np.uint8).copy()
_TRUE = np.frombuffer(b"true", dtype=np.uint8).copy()
_FALSE = np.frombuffer(b"false", dtype=np.uint8).copy()
_WHOLE_DIGITS = 18
"""Digits that an integer may have to be within 64 bits."""
_SHORT_DIGITS = 15
"""Digits that a decimal may have to be the shortest text of its float64."""
_ZEROS = 3
"""Zeros behind the point of a small decimal that is written without an exponent."""


def _scan_array(buffer, p, end, depth, out, at, scratch):
    """(position behind the array at `p` or -1 where unsure, where its text, written to `out` from `at`, ends).

    `depth`: how many objects and arrays are around it.
    """
    level, n_keys = 0, 0
    while True:
        byte = buffer[p]
        if byte == _OPEN_LIST or byte == _OPEN:
            if depth + level >= MAX_DEPTH:
                return -1, at
            scratch.inside[level] = byte
            scratch.first_key[level] = n_keys
            level += 1
            out[at] = byte
            at += 1
            p = _skip(buffer, p + 1, end)
            if p >= end:
                return -1, at
            if byte == _OPEN_LIST:
                if buffer[p] != _CLOSE_LIST:
                    continue
            elif buffer[p] != _CLOSE:
                p, at, n_keys = _copy_key(buffer, p, end, out, at, scratch, n_keys, level)
                if p < 0:
                    return -1, at
                continue
        else:
            p, at = _copy_scalar(buffer, p, end, out, at)
            if p < 0:
                return -1, at
        while True:
            p = _skip(buffer, p, end)
            if p >= end:
                return -1, at
            inside = scratch.inside[level - 1]
            if buffer[p] == inside + 2:  # the closing sign of both kinds of brackets
                out[at] = buffer[p]
                at += 1
                p += 1
                level -= 1
                n_keys = scratch.first_key[level]
                if level == 0:
                    return p, at
                continue
            if buffer[p] != _COMMA:
                return -1, at
            out[at] = _COMMA
            at += 1
            p = _skip(buffer, p + 1, end)
            if p >= end:
                return -1, at
            if inside == _OPEN:
                p, at, n_keys = _copy_key(buffer, p, end, out, at, scratch, n_keys, level)
                if p < 0:
                    return -1, at
            break


@inlined
def _skip(buffer, p, end):
    while p < end and (buffer[p] == _SPACE or buffer[p] == _LINE_FEED or buffer[p] == _TAB or buffer[p] == _RETURN):
        p += 1
    return p


@inlined
def _copy_key(buffer, p, end, out, at, scratch, n_keys, level):
    """Copy the name at `p` and its colon: (position of its value or -1, end of the text, names that are noted)."""
    if buffer[p] != _QUOTE or n_keys == len(scratch.keys):
        return -1, at, n_keys
    p, at, value = _copy_string(buffer, p, end, out, at)
    if p < 0:
        return -1, at, n_keys
    for k in range(scratch.first_key[level - 1], n_keys):
        if scratch.keys[k] == value:
            return -1, at, n_keys
    scratch.keys[n_keys] = value
    p = _skip(buffer, p, end)
    if p >= end or buffer[p] != _COLON:
        return -1, at, n_keys
    out[at] = _COLON
    p = _skip(buffer, p + 1, end)
    return (p if p < end else -1), at + 1, n_keys + 1


@inlined
def _copy_scalar(buffer, p, end, out, at):
    """Copy a string, a number, a truth value or null: (position behind it or -1, end of the text)."""
    byte = buffer[p]
    if byte == _QUOTE:
        p, at, _ = _copy_string(buffer, p, end, out, at)
        return p, at
    if byte == _MINUS or _ZERO <= byte <= _NINE:
        return _copy_number(buffer, p, end, out, at)
    if byte == _TRUE[0]:
        return _copy_word(buffer, p, end, out, at, _TRUE)
    if byte == _FALSE[0]:
        return _copy_word(buffer, p, end, out, at, _FALSE)
    return _copy_word(buffer, p, end, out, at, _NULL)


@inlined
def _copy_string(buffer, p, end, out, at):
    """Copy the string at `p`: (position behind it or -1, end of the text, its hash)."""
    start = p + 1
    out[at] = _QUOTE
    at += 1
    p += 1
    value = no_bytes()
    ascii_only = True
    while p < end and buffer[p] != _QUOTE:
        byte = buffer[p]
        if byte == _BACKSLASH or byte < _SPACE:
            return -1, at, value
        ascii_only &= byte < 128
        value = with_byte(value, byte)
        out[at] = byte
        at += 1
        p += 1
    if p >= end or not (ascii_only or is_utf8(buffer, start, p)):
        return -1, at, value
    out[at] = _QUOTE
    return p + 1, at + 1, folded(value)


@inlined
def _copy_word(buffer, p, end, out, at, word):
    if p + len(word) > end:
        return -1, at
    for k in range(len(word)):
        if buffer[p + k] != word[k]:
            return -1, at
        out[at + k] = word[k]
    return p + len(word), at + len(word)


@inlined
def _copy_number(buffer, p, end, out, at):
    """Copy a number that is its own shortest text."""
    start = p
    if buffer[p] == _MINUS:
        p += 1
    first = p
    while p < end and _ZERO <= buffer[p] <= _NINE:
        p += 1
    whole = p - first
    zero = whole == 1 and buffer[first] == _ZERO
    if whole == 0 or whole > _WHOLE_DIGITS or (buffer[first] == _ZERO and whole > 1):
        return -1, at
    if p < end and buffer[p] == _POINT:
        p += 1
        point = p
        while p < end and _ZERO <= buffer[p] <= _NINE:
            p += 1
        small = point
        while small < p and buffer[small] == _ZERO:
            small += 1
        if p == point or buffer[p - 1] == _ZERO or whole + p - point > _SHORT_DIGITS:
            return -1, at
        if zero and small - point > _ZEROS:
            return -1, at
    elif zero and first > start:
        return -1, at
    if p < end and (buffer[p] == _LOWER_E or buffer[p] == _UPPER_E):
        return -1, at
    for k in range(start, p):
        out[at] = buffer[k]
        at += 1
    return p, at


scan_array = inlined(_scan_array, always=False)
