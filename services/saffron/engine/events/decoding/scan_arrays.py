"""Arrays for the scanner: their text without blanks, as the exact path writes it (`nesting.array_text`), or not at all.

Escapes, names that may stand twice, and numbers that results show otherwise than they are written are left to the exact
path.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# Comparisons stand as the compiler likes them:
# ruff: noqa: PLR1714, SIM109

from __future__ import annotations

from saffron.engine.events.decoding.json_bytes import (
    BACKSLASH,
    CLOSE,
    CLOSE_LIST,
    COLON,
    COMMA,
    FALSE,
    LOWER_E,
    MINUS,
    NINE,
    NULL,
    OPEN,
    OPEN_LIST,
    POINT,
    QUOTE,
    SPACE,
    TRUE,
    UPPER_E,
    ZERO,
    behind_blanks,
    behind_digits,
)
from saffron.engine.events.decoding.nesting import MAX_DEPTH
from saffron.engine.events.decoding.utf8 import is_utf8
from saffron.engine.kernels.hashing import folded, no_bytes, with_byte
from saffron.engine.kernels.jit import inlined

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
        if byte == OPEN_LIST or byte == OPEN:
            if depth + level >= MAX_DEPTH:
                return -1, at
            scratch.inside[level] = byte
            scratch.first_key[level] = n_keys
            level += 1
            out[at] = byte
            at += 1
            p = behind_blanks(buffer, p + 1, end)
            if p >= end:
                return -1, at
            if byte == OPEN_LIST:
                if buffer[p] != CLOSE_LIST:
                    continue
            elif buffer[p] != CLOSE:
                p, at, n_keys = _copy_key(buffer, p, end, out, at, scratch, n_keys, level)
                if p < 0:
                    return -1, at
                continue
        else:
            p, at = _copy_scalar(buffer, p, end, out, at)
            if p < 0:
                return -1, at
        while True:
            p = behind_blanks(buffer, p, end)
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
            if buffer[p] != COMMA:
                return -1, at
            out[at] = COMMA
            at += 1
            p = behind_blanks(buffer, p + 1, end)
            if p >= end:
                return -1, at
            if inside == OPEN:
                p, at, n_keys = _copy_key(buffer, p, end, out, at, scratch, n_keys, level)
                if p < 0:
                    return -1, at
            break


@inlined
def _copy_key(buffer, p, end, out, at, scratch, n_keys, level):
    """Copy the name at `p` and its colon: (position of its value or -1, end of the text, names that are noted)."""
    if buffer[p] != QUOTE or n_keys == len(scratch.keys):
        return -1, at, n_keys
    p, at, value = _copy_string(buffer, p, end, out, at)
    if p < 0:
        return -1, at, n_keys
    for k in range(scratch.first_key[level - 1], n_keys):
        if scratch.keys[k] == value:
            return -1, at, n_keys
    scratch.keys[n_keys] = value
    p = behind_blanks(buffer, p, end)
    if p >= end or buffer[p] != COLON:
        return -1, at, n_keys
    out[at] = COLON
    p = behind_blanks(buffer, p + 1, end)
    return (p if p < end else -1), at + 1, n_keys + 1


@inlined
def _copy_scalar(buffer, p, end, out, at):
    """Copy a string, a number, a truth value or null: (position behind it or -1, end of the text)."""
    byte = buffer[p]
    if byte == QUOTE:
        p, at, _ = _copy_string(buffer, p, end, out, at)
        return p, at
    if byte == MINUS or ZERO <= byte <= NINE:
        return _copy_number(buffer, p, end, out, at)
    if byte == TRUE[0]:
        return _copy_word(buffer, p, end, out, at, TRUE)
    if byte == FALSE[0]:
        return _copy_word(buffer, p, end, out, at, FALSE)
    return _copy_word(buffer, p, end, out, at, NULL)


@inlined
def _copy_string(buffer, p, end, out, at):
    """Copy the string at `p` with its quotes: (position behind it, end of the text, its hash).

    The position is -1 where the string has an escape, a control byte or invalid UTF-8, or does not end.
    """
    start = p + 1
    out[at] = QUOTE
    at += 1
    p += 1
    value = no_bytes()
    ascii_only = True
    while p < end and buffer[p] != QUOTE:
        byte = buffer[p]
        if byte == BACKSLASH or byte < SPACE:
            return -1, at, value
        ascii_only &= byte < 128
        value = with_byte(value, byte)
        out[at] = byte
        at += 1
        p += 1
    if p >= end or not (ascii_only or is_utf8(buffer, start, p)):
        return -1, at, value
    out[at] = QUOTE
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
    if buffer[p] == MINUS:
        p += 1
    first = p
    p = behind_digits(buffer, p, end)
    whole = p - first
    zero = whole == 1 and buffer[first] == ZERO
    if whole == 0 or whole > _WHOLE_DIGITS or (buffer[first] == ZERO and whole > 1):
        return -1, at
    if p < end and buffer[p] == POINT:
        p += 1
        point = p
        p = behind_digits(buffer, p, end)
        small = point
        while small < p and buffer[small] == ZERO:
            small += 1
        if p == point or buffer[p - 1] == ZERO or whole + p - point > _SHORT_DIGITS:
            return -1, at
        if zero and small - point > _ZEROS:
            return -1, at
    elif zero and first > start:
        return -1, at
    if p < end and (buffer[p] == LOWER_E or buffer[p] == UPPER_E):
        return -1, at
    for k in range(start, p):
        out[at] = buffer[k]
        at += 1
    return p, at


scan_array = inlined(_scan_array, always=False)
