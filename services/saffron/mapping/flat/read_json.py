"""JSON read by the flattening kernel. Functions return byte positions, or EXACT: take the exact path."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# Loops and chains of comparisons stand as the compiler likes them:
# ruff: noqa: PLR1714, SIM109

from __future__ import annotations

import numpy as np

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
    PLUS,
    POINT,
    QUOTE,
    SPACE,
    TRUE,
    UPPER_E,
    ZERO,
    behind_blanks,
    behind_digits,
    behind_word,
)
from saffron.engine.kernels.jit import inlined

_LETTER_U, _LETTER_N, _LETTER_T, _LETTER_F = 117, 110, 116, 102
EXACT, FULL = -1, -2
"""Instead of a position: the exact path decides; there is no room in the output."""
TEXT_VALUE, NUMBER_VALUE, TRUTH_VALUE, NULL_VALUE, ARRAY_VALUE, ESCAPED_VALUE = range(6)


@inlined
def after_value(buffer, p, end, in_list):
    """The position behind the comma after a value, or at the bracket that closes; EXACT where neither stands."""
    p = behind_blanks(buffer, p, end)
    if p >= end:
        return EXACT
    if buffer[p] == COMMA:
        p = behind_blanks(buffer, p + 1, end)
        if p >= end or buffer[p] == (CLOSE_LIST if in_list else CLOSE):
            return EXACT
        return p
    return p if buffer[p] == (CLOSE_LIST if in_list else CLOSE) else EXACT


@inlined
def read_name(buffer, p, end, scratch):
    """(begin, end, value): positions of a member's name, without quotes, and of its value.

    `p`: position of the opening quote. `value` is EXACT if the name has an escape, or is no name. A byte beyond ASCII
    sets `scratch.wide[0]`.
    """
    if buffer[p] != QUOTE:
        return p, p, np.int64(EXACT)
    p += 1
    name = p
    while p < end and buffer[p] != QUOTE:
        byte = buffer[p]
        if byte == BACKSLASH or byte < SPACE:
            return name, p, np.int64(EXACT)
        if byte >= 128:
            scratch.wide[0] = 1
        p += 1
    name_end = p
    p = behind_blanks(buffer, p + 1, end)
    if p >= end or buffer[p] != COLON:
        return name, name_end, np.int64(EXACT)
    p = behind_blanks(buffer, p + 1, end)
    return name, name_end, p if p < end else np.int64(EXACT)


@inlined
def read_value(buffer, p, end, scratch):
    """(position behind a value that is no object and no array, or EXACT; what it is)."""
    byte = buffer[p]
    if byte == QUOTE:
        return _string(buffer, p + 1, end, scratch)
    if byte == MINUS or (ZERO <= byte <= NINE):
        p = read_number(buffer, p, end)
        return p, NUMBER_VALUE
    if byte == _LETTER_N:
        return behind_word(buffer, p, end, NULL), NULL_VALUE
    if byte == _LETTER_T:
        return behind_word(buffer, p, end, TRUE), TRUTH_VALUE
    if byte == _LETTER_F:
        return behind_word(buffer, p, end, FALSE), TRUTH_VALUE
    return np.int64(EXACT), NULL_VALUE


@inlined
def read_number(buffer, p, end):
    """The position behind a number by JSON's grammar, or EXACT."""
    if buffer[p] == MINUS:
        p += 1
    first = p
    p = behind_digits(buffer, p, end)
    if p == first or (buffer[first] == ZERO and p > first + 1):
        return np.int64(EXACT)
    if p < end and buffer[p] == POINT:
        p += 1
        first = p
        p = behind_digits(buffer, p, end)
        if p == first:
            return np.int64(EXACT)
    if p < end and (buffer[p] == UPPER_E or buffer[p] == LOWER_E):
        p += 1
        if p < end and (buffer[p] == PLUS or buffer[p] == MINUS):
            p += 1
        first = p
        p = behind_digits(buffer, p, end)
        if p == first:
            return np.int64(EXACT)
    return np.int64(p)


@inlined
def _string(buffer, p, end, scratch):
    """(position behind the closing quote or EXACT, TEXT_VALUE or ESCAPED_VALUE); `p` is behind the opening one."""
    kind = TEXT_VALUE
    while p < end and buffer[p] != QUOTE:
        byte = buffer[p]
        if byte < SPACE:
            return np.int64(EXACT), kind
        if byte == BACKSLASH:
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
                    if not (ZERO <= buffer[k] <= NINE or 97 <= digit <= 102):
                        return np.int64(EXACT), kind
                p += 4
            elif not (
                byte == QUOTE or byte == BACKSLASH or byte == 47 or byte == 98 or byte == _LETTER_F
                or byte == _LETTER_N or byte == 114 or byte == _LETTER_T
            ):  # fmt: skip
                return np.int64(EXACT), kind
        elif byte >= 128:
            scratch.wide[0] = 1
        p += 1
    return (p + 1 if p < end else np.int64(EXACT)), kind
