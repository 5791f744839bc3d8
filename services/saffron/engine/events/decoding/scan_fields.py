"""Values for the scanner: read into the cells of their field, or skipped where they are of none."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# Loops and chains of comparisons stand as the compiler likes them:
# ruff: noqa: PLR1714, SIM109

from __future__ import annotations

import numpy as np

from saffron.engine.events.decoding.json_bytes import (
    BACKSLASH,
    CLOSE_LIST,
    COMMA,
    DOLLAR,
    FALSE,
    MINUS,
    NINE,
    NULL,
    OPEN_LIST,
    QUOTE,
    SPACE,
    TRUE,
    ZERO,
    behind_blanks,
    behind_word,
)
from saffron.engine.events.decoding.scan_arrays import scan_array
from saffron.engine.events.decoding.scan_names import equal_bytes
from saffron.engine.events.decoding.scan_numbers import scan_number, to_float, to_number, to_whole
from saffron.engine.events.decoding.scan_tables import (
    FIELD_ARRAY,
    FIELD_BOOL,
    FIELD_FLOAT,
    FIELD_NULL,
    FIELD_NUMBER,
    FIELD_STRING,
    FIELD_TS,
    FIELD_TYPE,
)
from saffron.engine.events.decoding.utf8 import is_utf8
from saffron.engine.kernels.arithmetic import rest
from saffron.engine.kernels.hashing import GOLDEN, folded, no_bytes, with_byte
from saffron.engine.kernels.jit import inlined
from saffron.schema.schema import MAX_INSTANTS

_UNSURE = -1
_ONE = np.uint64(1)
_SIX_BITS = 63


@inlined
def scan_field(buffer, p, end, event, field, fields, strings, cells, scratch, depth):
    """Read the value of a known field, once an event; returns the position behind it or -1."""
    word, bit = field >> 6, _ONE << np.uint64(field & _SIX_BITS)
    if scratch.seen[word] & bit:
        return _UNSURE
    scratch.seen[word] |= bit
    kind = fields.kind[field]
    if buffer[p] == NULL[0]:
        return _UNSURE if kind == FIELD_TS else behind_word(buffer, p, end, NULL)
    scratch.filled[word] |= bit
    row = fields.row[field]
    if kind == FIELD_STRING or kind == FIELD_TYPE:
        return _scan_string(buffer, p, end, event, row, strings, cells)
    if kind == FIELD_BOOL:
        return _scan_bool(buffer, p, end, event, row, cells)
    if kind >= FIELD_ARRAY:
        if kind == FIELD_NULL:
            return _UNSURE
        return _scan_array_field(buffer, p, end, event, row, strings, cells, scratch, depth)
    value_at = p
    p, mantissa, exponent, integer = scan_number(buffer, p, end)
    if p < 0:
        return _scan_interval(buffer, value_at, end, event, cells) if kind == FIELD_TS else _UNSURE
    if kind == FIELD_TS:
        if not integer:
            return _UNSURE
        cells.ts[event] = mantissa
        return p
    if kind == FIELD_FLOAT:
        sure, value = to_number(mantissa, exponent)
        cells.floats[row, event] = value
        return p if sure else _UNSURE
    whole, number = to_whole(mantissa, exponent)
    if kind == FIELD_NUMBER:
        if whole:
            cells.numbers[row, event] = complex(np.float64(number), rest(number))
            return p
        sure, value = to_number(mantissa, exponent)
        cells.numbers[row, event] = complex(value, 0.0)
        return p if sure else _UNSURE
    if not whole:
        return _UNSURE
    cells.ints[row, event] = number
    return p


@inlined
def _scan_interval(buffer, p, end, event, cells):
    """Read [lo, hi], two integers in order; returns the position behind it or -1."""
    if buffer[p] != OPEN_LIST or not len(cells.latest):
        return _UNSURE
    p = behind_blanks(buffer, p + 1, end)
    if p >= end:
        return _UNSURE
    p, low, _, integer = scan_number(buffer, p, end)
    if p < 0 or not integer:
        return _UNSURE
    p = behind_blanks(buffer, p, end)
    if p >= end or buffer[p] != COMMA:
        return _UNSURE
    p = behind_blanks(buffer, p + 1, end)
    if p >= end:
        return _UNSURE
    p, high, _, integer = scan_number(buffer, p, end)
    if p < 0 or not integer or high < low or high - low >= MAX_INSTANTS:
        return _UNSURE
    p = behind_blanks(buffer, p, end)
    if p >= end or buffer[p] != CLOSE_LIST:
        return _UNSURE
    cells.ts[event], cells.latest[event] = low, high
    return p + 1


@inlined
def _scan_bool(buffer, p, end, event, row, cells):
    after = behind_word(buffer, p, end, TRUE)
    if after >= 0:
        cells.bools[row, event] = 1
        return after
    after = behind_word(buffer, p, end, FALSE)
    if after >= 0:
        cells.bools[row, event] = 0
    return after


@inlined
def _scan_string(buffer, p, end, event, row, strings, cells):
    """Read a string without escapes into `codes[row, event]`; returns the position behind it or -1."""
    if buffer[p] != QUOTE:
        return _UNSURE
    p += 1
    start = p
    value = no_bytes()
    ascii_only = True
    while p < end and buffer[p] != QUOTE:
        byte = buffer[p]
        if byte == BACKSLASH or byte < SPACE:
            return _UNSURE
        ascii_only &= byte < 128
        value = with_byte(value, byte)
        p += 1
    # A type is not empty, and one that begins with a dollar is the log's own ("$watermark").
    if p >= end or (row == 0 and (p == start or buffer[start] == DOLLAR)):
        return _UNSURE
    value = folded(value) + np.uint64(row) * np.uint64(GOLDEN)
    code = _intern(buffer, start, p - start, value, row, ascii_only, strings)
    if code < 0:
        return _UNSURE
    cells.codes[row, event] = code
    return p + 1


@inlined
def _scan_array_field(buffer, p, end, event, row, strings, cells, scratch, depth):
    """Read an array's text into `codes[row, event]`; returns the position behind it or -1."""
    if buffer[p] != OPEN_LIST:
        return _UNSURE
    low = strings.bounds[strings.size[0]]  # where `_intern` puts a new text
    p, high = scan_array(buffer, p, end, depth + 1, strings.text, low, scratch)
    if p < 0:
        return _UNSURE
    value = no_bytes()
    for k in range(low, high):
        value = with_byte(value, strings.text[k])
    value = folded(value) + np.uint64(row) * np.uint64(GOLDEN)
    cells.codes[row, event] = _intern(strings.text, low, high - low, value, row, True, strings)
    return p


@inlined
def _intern(buffer, start, length, value, column, ascii_only, strings):
    """Code of a string within its column, entered if new; -1 where it is not UTF-8. The caller has made room."""
    mask = len(strings.slots) - 1
    slot = np.int64(value & np.uint64(mask))
    while strings.slots[slot] >= 0:
        entry = strings.slots[slot]
        if strings.hash[entry] == value and strings.column[entry] == column:
            low = strings.bounds[entry]
            if equal_bytes(buffer, start, length, strings.text, low, strings.bounds[entry + 1] - low):
                return strings.code[entry]
        slot = (slot + 1) & mask
    if not ascii_only and not is_utf8(buffer, start, start + length):
        return np.int32(-1)
    entry = strings.size[0]
    low = strings.bounds[entry]
    for k in range(length):
        strings.text[low + k] = buffer[start + k]
    strings.bounds[entry + 1] = low + length
    strings.hash[entry] = value
    strings.column[entry] = column
    strings.code[entry] = strings.counts[column]
    strings.counts[column] += 1
    strings.slots[slot] = entry
    strings.size[0] = entry + 1
    return strings.code[entry]


@inlined
def skip_value(buffer, p, end, strings, scratch, depth):
    """The position behind a value that no field takes, if it is no object; -1 leaves it to the exact path.

    The exact path reads strings with escapes, or with other than ASCII, too. The text of an array goes to free
    space of `strings`.
    """
    byte = buffer[p]
    if byte == OPEN_LIST:
        return scan_array(buffer, p, end, depth + 1, strings.text, strings.bounds[strings.size[0]], scratch)[0]
    if byte == QUOTE:
        p += 1
        while p < end and buffer[p] != QUOTE:
            if buffer[p] == BACKSLASH or buffer[p] < SPACE or buffer[p] >= 128:
                return _UNSURE
            p += 1
        return p + 1 if p < end else _UNSURE
    if byte == MINUS or ZERO <= byte <= NINE:
        p, mantissa, exponent, _ = scan_number(buffer, p, end)
        return p if p >= 0 and to_float(mantissa, exponent)[0] else _UNSURE
    if byte == TRUE[0]:
        return behind_word(buffer, p, end, TRUE)
    if byte == FALSE[0]:
        return behind_word(buffer, p, end, FALSE)
    return behind_word(buffer, p, end, NULL)
