"""JSON read by the flattening kernel. Functions return byte positions, or EXACT: take the exact path."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# Loops and chains of comparisons stand as the compiler likes them:
# ruff: noqa: PLR1714, SIM109

from __future__ import annotations

import numpy as np

from saffron.engine.kernels.jit import inlined

_QUOTE, _BACKSLASH, _COMMA, _COLON, _CLOSE, _DOT = 34, 92, 44, 58, 125, 46
_CLOSE_LIST, _MINUS, _ZERO, _NINE, _SPACE = 93, 45, 48, 57, 32
_LETTER_U, _LETTER_N, _LETTER_T, _LETTER_F = 117, 110, 116, 102
EXACT, FULL = -1, -2
"""Instead of a position: the exact path decides; there is no room in the output."""
TEXT_VALUE, NUMBER_VALUE, TRUTH_VALUE, NULL_VALUE, ARRAY_VALUE, ESCAPED_VALUE = range(6)
_NULL = np.frombuffer(b"null", np.uint8).copy()
_TRUE = np.frombuffer(b"true", np.uint8).copy()
_FALSE = np.frombuffer(b"false", np.uint8).copy()


@inlined
def blanks(buffer, p, end):
    while p < end and (buffer[p] == 32 or buffer[p] == 9 or buffer[p] == 10 or buffer[p] == 13):
        p += 1
    return p


@inlined
def after_value(buffer, p, end, in_list):
    """The position behind the comma after a value, or at the bracket that closes; EXACT where neither stands."""
    p = blanks(buffer, p, end)
    if p >= end:
        return EXACT
    if buffer[p] == _COMMA:
        p = blanks(buffer, p + 1, end)
        if p >= end or buffer[p] == (_CLOSE_LIST if in_list else _CLOSE):
            return EXACT
        return p
    return p if buffer[p] == (_CLOSE_LIST if in_list else _CLOSE) else EXACT


@inlined
def read_name(buffer, p, end, scratch):
    """(begin, end, value): positions of a member's name, without quotes, and of its value.

    `p`: position of the opening quote. `value` is EXACT if the name has an escape, or is no name. A byte beyond ASCII
    sets `scratch.wide[0]`.
    """
    if buffer[p] != _QUOTE:
        return p, p, np.int64(EXACT)
    p += 1
    name = p
    while p < end and buffer[p] != _QUOTE:
        byte = buffer[p]
        if byte == _BACKSLASH or byte < _SPACE:
            return name, p, np.int64(EXACT)
        if byte >= 128:
            scratch.wide[0] = 1
        p += 1
    name_end = p
    p = blanks(buffer, p + 1, end)
    if p >= end or buffer[p] != _COLON:
        return name, name_end, np.int64(EXACT)
    p = blanks(buffer, p + 1, end)
    return name, name_end, p if p < end else np.int64(EXACT)


@inlined
def read_value(buffer, p, end, scratch):
    """(position behind a value that is no object and no array, or EXACT; what it is)."""
    byte = buffer[p]
    if byte == _QUOTE:
        return _string(buffer, p + 1, end, scratch)
    if byte == _MINUS or (_ZERO <= byte <= _NINE):
        p = read_number(buffer, p, end)
        return p, NUMBER_VALUE
    if byte == _LETTER_N:
        return _word(buffer, p, end, _NULL), NULL_VALUE
    if byte == _LETTER_T:
        return _word(buffer, p, end, _TRUE), TRUTH_VALUE
    if byte == _LETTER_F:
        return _word(buffer, p, end, _FALSE), TRUTH_VALUE
    return np.int64(EXACT), NULL_VALUE


@inlined
def _word(buffer, p, end, word):
    if p + len(word) > end:
        return np.int64(EXACT)
    for k in range(len(word)):
        if buffer[p + k] != word[k]:
            return np.int64(EXACT)
    return np.int64(p + len(word))


@inlined
def read_number(buffer, p, end):
    """The position behind a number by JSON's grammar, or EXACT."""
    if buffer[p] == _MINUS:
        p += 1
    first = p
    while p < end and _ZERO <= buffer[p] <= _NINE:
        p += 1
    if p == first or (buffer[first] == _ZERO and p > first + 1):
        return np.int64(EXACT)
    if p < end and buffer[p] == _DOT:
        p += 1
        first = p
        while p < end and _ZERO <= buffer[p] <= _NINE:
            p += 1
        if p == first:
            return np.int64(EXACT)
    if p < end and (buffer[p] == 69 or buffer[p] == 101):
        p += 1
        if p < end and (buffer[p] == 43 or buffer[p] == _MINUS):
            p += 1
        first = p
        while p < end and _ZERO <= buffer[p] <= _NINE:
            p += 1
        if p == first:
            return np.int64(EXACT)
    return np.int64(p)


@inlined
def _string(buffer, p, end, scratch):
    """(position behind the closing quote or EXACT, TEXT_VALUE or ESCAPED_VALUE); `p` is behind the opening one."""
    kind = TEXT_VALUE
    while p < end and buffer[p] != _QUOTE:
        byte = buffer[p]
        if byte < _SPACE:
            return np.int64(EXACT), kind
        if byte == _BACKSLASH:
            kind = ESCAPED_VALUE
            p += 1
            if p >= end:
                return np.int64(EXACT), kind
            byte = buffer[p]
            if byte == _LETTER_U:
                if p + 4 >= end:
                    return np.int64(EXACT), kind
                for k in range(p + 1, p + 5):
                    digit = buffer[k] | 32
                    if not (_ZERO <= buffer[k] <= _NINE or 97 <= digit <= 102):
                        return np.int64(EXACT), kind
                p += 4
            elif not (
                byte == _QUOTE or byte == _BACKSLASH or byte == 47 or byte == 98 or byte == _LETTER_F
                or byte == _LETTER_N or byte == 114 or byte == _LETTER_T
            ):  # fmt: skip
                return np.int64(EXACT), kind
        elif byte >= 128:
            scratch.wide[0] = 1
        p += 1
    return (p + 1 if p < end else np.int64(EXACT)), kind
