"""The JSON scanner: one kernel that reads the common form of events into columns, for every schema.

It decides only what it is sure of. An event with escapes, doubled names, numbers that need care,
values of another kind, or anything that might be bad is marked `exact` and left to `exact.py`, which has the last
word; both give the same columns for every event that the scanner accepts (the tests compare them).
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# Loops and chains of comparisons stand as the compiler likes them:
# ruff: noqa: PLR1714, SIM109, SIM110

from __future__ import annotations

import numpy as np

from saffron.engine.events.decoding.nesting import MAX_DEPTH
from saffron.engine.events.decoding.scan_arrays import scan_array
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
    TS,
)
from saffron.engine.events.decoding.utf8 import is_utf8
from saffron.engine.kernels.arithmetic import rest
from saffron.engine.kernels.hashing import GOLDEN, folded, no_bytes, with_byte
from saffron.engine.kernels.jit import inlined, kernel
from saffron.schema.schema import MAX_EVENT_BYTES, MAX_INSTANTS, MAX_TS

_QUOTE, _BACKSLASH, _COMMA, _COLON, _OPEN, _CLOSE, _DOLLAR, _DOT = 34, 92, 44, 58, 123, 125, 36, 46
_MINUS, _ZERO, _NINE = 45, 48, 57
_OPEN_LIST, _CLOSE_LIST = 91, 93
_SPACE, _TAB, _LINE_FEED, _RETURN = 32, 9, 10, 13
_NULL = np.frombuffer(b"null", dtype=np.uint8).copy()
_TRUE = np.frombuffer(b"true", dtype=np.uint8).copy()
_FALSE = np.frombuffer(b"false", dtype=np.uint8).copy()
_UNSURE = -1

_ONE = np.uint64(1)
_SIX_BITS = 63


# Arrays are only read and written here, never made: without reference counts (`_nrt`) and with every helper inlined
# the kernel is ten times as fast.
@kernel(_nrt=False)
def scan_events(buffer, starts, ends, times, has_times, max_future, first, fields, strings, cells, scratch):
    """Scan events first.. of a batch into `cells`; returns n, or the event at which `strings` must grow.

    buffer uint8 [bytes]; starts, ends, times int64 [n]; has_times: an event without `ts` gets its message's time,
    and one that is more than `max_future` ms ahead of it is left to the exact path.
    """
    n = len(starts)
    for event in range(first, n):
        start, end = starts[event], ends[event]
        size = strings.size[0]
        if (
            size + len(strings.counts) > len(strings.hash) or strings.bounds[size] + (end - start) > len(strings.text)
        ) and end - start <= MAX_EVENT_BYTES:
            return event
        for word in range(len(scratch.seen)):
            scratch.seen[word] = 0
            scratch.filled[word] = 0
        sure = end - start <= MAX_EVENT_BYTES and _scan_event(
            buffer, start, end, event, fields, strings, cells, scratch
        )
        if sure:
            sure = _check_time(event, scratch.seen, times, has_times, max_future, cells)
        if sure:
            sure = _check_rules(event, fields, scratch, cells)
        if not sure:
            cells.exact[event] = 1
    return n


@inlined
def _check_time(event, seen, times, has_times, max_future, cells):
    """Whether the event has a time that it may have; takes the message's own where `ts` is absent."""
    if not (seen[0] >> np.uint64(TS)) & _ONE:
        if not has_times or times[event] < 0:
            return False
        cells.ts[event] = times[event]
        return True
    ts = cells.ts[event]
    if ts > MAX_TS or ts < -MAX_TS:
        return False
    if len(cells.latest):
        ts = max(ts, cells.latest[event])
    return ts <= MAX_TS and not (has_times and times[event] >= 0 and ts > times[event] + max_future)


@inlined
def _check_rules(event, fields, scratch, cells):
    """Whether the event has a type, only what its type may have, and all that it must have; notes what is fresh."""
    code = cells.codes[0, event]
    if code < 0:
        return False
    row = min(np.int64(code), fields.allowed.shape[0] - 1)
    if len(cells.latest) and cells.latest[event] > cells.ts[event] and not fields.spread[row]:
        return False
    for word in range(len(scratch.seen)):
        if scratch.seen[word] & ~fields.allowed[row, word]:
            return False
        if fields.required[row, word] & ~scratch.filled[word]:
            return False
        if scratch.seen[word] & ~fields.usual[row, word]:
            cells.fresh[event] = 1
    return True


@inlined
def _scan_event(buffer, start, end, event, fields, strings, cells, scratch):
    """Scan one object, and those inside it, into its cells; False where unsure."""
    p = _skip_blanks(buffer, start, end)
    if p >= end or buffer[p] != _OPEN:
        return False
    p = _skip_blanks(buffer, p + 1, end)
    previous = np.int64(len(fields.kind))
    n_unknown, n_objects, depth = 0, 0, 0
    around = np.int64(0)
    scratch.ends[0], scratch.states[0] = 0, no_bytes()
    while True:
        if p >= end or buffer[p] != _QUOTE:
            return False
        name = p + 1
        field, p, value = _scan_name(buffer, name, end, fields, scratch, depth, around, previous)
        if p < 0:
            return False
        name_end = p - 1
        if p < end and buffer[p] == _COLON:
            p += 1
        else:
            p = _skip_blanks(buffer, p, end)
            if p >= end or buffer[p] != _COLON:
                return False
            p += 1
        p = _skip_blanks(buffer, p, end)
        if p >= end:
            return False
        if field >= 0:
            previous = field
            p = _scan_field(buffer, p, end, event, field, fields, strings, cells, scratch, depth)
        elif buffer[p] == _OPEN:
            if depth + 2 > MAX_DEPTH or not _enter(buffer, name, name_end, scratch, depth):
                return False
            if _noted(scratch.objects, n_objects, value) or _noted(scratch.unknown, n_unknown, value):
                return False
            if n_objects == len(scratch.objects):
                return False
            scratch.objects[n_objects] = value
            n_objects += 1
            depth += 1
            around = scratch.ends[depth]
            p = _skip_blanks(buffer, p + 1, end)
            if p >= end:
                return False
            if buffer[p] != _CLOSE:
                continue
        else:
            if n_unknown == len(scratch.unknown) or _noted(scratch.unknown, n_unknown, value):
                return False
            if _noted(scratch.objects, n_objects, value):
                return False
            scratch.unknown[n_unknown] = value
            n_unknown += 1
            p = _skip_value(buffer, p, end, strings, scratch, depth)
        if p < 0:
            return False
        p = _skip_blanks(buffer, p, end)
        while p < end and buffer[p] != _COMMA:
            if buffer[p] != _CLOSE:
                return False
            p = _skip_blanks(buffer, p + 1, end)
            if depth == 0:
                cells.unknown[event] = n_unknown
                return p == end
            depth -= 1
            around = scratch.ends[depth]
        if p >= end:
            return False
        p = _skip_blanks(buffer, p + 1, end)


@inlined
def _enter(buffer, start, end, scratch, depth):
    """Add the name of an object, with a dot, to the path of the level below; False where it has no room."""
    at = scratch.ends[depth]
    if at + (end - start) + 1 > len(scratch.path):
        return False
    value = scratch.states[depth]
    for k in range(start, end):
        scratch.path[at] = buffer[k]
        value = with_byte(value, buffer[k])
        at += 1
    scratch.path[at] = _DOT
    scratch.ends[depth + 1] = at + 1
    scratch.states[depth + 1] = with_byte(value, np.uint8(_DOT))
    return True


@inlined
def _noted(hashes, count, value):
    """Whether a name of this hash was there; another name may have the same, which costs time alone."""
    for k in range(count):
        if hashes[k] == value:
            return True
    return False


@inlined
def _skip_blanks(buffer, p, end):
    while p < end and buffer[p] <= _SPACE:
        byte = buffer[p]
        if byte != _SPACE and byte != _TAB and byte != _LINE_FEED and byte != _RETURN:
            return p
        p += 1
    return p


@inlined
def _scan_name(buffer, p, end, fields, scratch, depth, around, previous):
    """The name that begins at `p`, `depth` objects deep behind `around` bytes of the path: its field or -1, the
    position behind the closing quote or -1 where unsure, and its hash where it is of no field."""
    guess = np.int64(scratch.follower[previous])
    low = fields.bounds[guess]
    length = fields.bounds[guess + 1] - low - around
    if np.uint64(length) < np.uint64(end - p) and buffer[p + length] == _QUOTE:  # a negative length is a large one
        same = True
        for k in range(length):
            if buffer[p + k] != fields.text[low + around + k]:
                same = False
                break
        if same and (around == 0 or _same(scratch.path, 0, around, fields.text, low, around)):
            return guess, p + length + 1, np.uint64(0)
    field, p, value = _find_name(buffer, p, end, fields, scratch, depth)
    if field >= 0:
        scratch.follower[previous] = field
    return field, p, value


@inlined
def _find_name(buffer, start, end, fields, scratch, depth):
    """As `_scan_name`, by the hash table."""
    value = scratch.states[depth]
    p = start
    ascii_only = True
    while p < end and buffer[p] != _QUOTE:
        byte = buffer[p]
        if byte == _BACKSLASH or byte < _SPACE:
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
        if _same(buffer, start, p - start, fields.text, low + around, length) and _same(
            scratch.path, 0, around, fields.text, low, around
        ):
            return field, p + 1, value
        slot = (slot + 1) & mask
    return np.int64(-1), (p + 1 if ascii_only or is_utf8(buffer, start, p) else _UNSURE), value


@inlined
def _same(left, at, length, right, low, right_length):
    if length != right_length:
        return False
    for k in range(length):
        if left[at + k] != right[low + k]:
            return False
    return True


@inlined
def _matches(buffer, p, end, word):
    """Position behind `word` where it stands at `p`, else -1."""
    if p + len(word) > end:
        return _UNSURE
    for k in range(len(word)):
        if buffer[p + k] != word[k]:
            return _UNSURE
    return p + len(word)


@inlined
def _scan_field(buffer, p, end, event, field, fields, strings, cells, scratch, depth):
    """Read the value of a known field, once an event; returns the position behind it or -1."""
    word, bit = field >> 6, _ONE << np.uint64(field & _SIX_BITS)
    if scratch.seen[word] & bit:
        return _UNSURE
    scratch.seen[word] |= bit
    kind = fields.kind[field]
    if buffer[p] == _NULL[0]:
        return _UNSURE if kind == FIELD_TS else _matches(buffer, p, end, _NULL)
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
    if buffer[p] != _OPEN_LIST or not len(cells.latest):
        return _UNSURE
    p = _skip_blanks(buffer, p + 1, end)
    if p >= end:
        return _UNSURE
    p, low, _, integer = scan_number(buffer, p, end)
    if p < 0 or not integer:
        return _UNSURE
    p = _skip_blanks(buffer, p, end)
    if p >= end or buffer[p] != _COMMA:
        return _UNSURE
    p = _skip_blanks(buffer, p + 1, end)
    if p >= end:
        return _UNSURE
    p, high, _, integer = scan_number(buffer, p, end)
    if p < 0 or not integer or high < low or high - low >= MAX_INSTANTS:
        return _UNSURE
    p = _skip_blanks(buffer, p, end)
    if p >= end or buffer[p] != _CLOSE_LIST:
        return _UNSURE
    cells.ts[event], cells.latest[event] = low, high
    return p + 1


@inlined
def _scan_bool(buffer, p, end, event, row, cells):
    after = _matches(buffer, p, end, _TRUE)
    if after >= 0:
        cells.bools[row, event] = 1
        return after
    after = _matches(buffer, p, end, _FALSE)
    if after >= 0:
        cells.bools[row, event] = 0
    return after


@inlined
def _scan_string(buffer, p, end, event, row, strings, cells):
    """Read a string without escapes into `codes[row, event]`; returns the position behind it or -1."""
    if buffer[p] != _QUOTE:
        return _UNSURE
    p += 1
    start = p
    value = no_bytes()
    ascii_only = True
    while p < end and buffer[p] != _QUOTE:
        byte = buffer[p]
        if byte == _BACKSLASH or byte < _SPACE:
            return _UNSURE
        ascii_only &= byte < 128
        value = with_byte(value, byte)
        p += 1
    # A type is not empty, and one that begins with a dollar is the log's own ("$watermark").
    if p >= end or (row == 0 and (p == start or buffer[start] == _DOLLAR)):
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
    if buffer[p] != _OPEN_LIST:
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
            if _same(buffer, start, length, strings.text, low, strings.bounds[entry + 1] - low):
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
def _skip_value(buffer, p, end, strings, scratch, depth):
    """Position behind a value of no field that is no object, -1 where it is not surely well-formed."""
    byte = buffer[p]
    if byte == _OPEN_LIST:
        return scan_array(buffer, p, end, depth + 1, strings.text, strings.bounds[strings.size[0]], scratch)[0]
    if byte == _QUOTE:
        p += 1
        while p < end and buffer[p] != _QUOTE:
            if buffer[p] == _BACKSLASH or buffer[p] < _SPACE or buffer[p] >= 128:
                return _UNSURE
            p += 1
        return p + 1 if p < end else _UNSURE
    if byte == _MINUS or _ZERO <= byte <= _NINE:
        p, mantissa, exponent, _ = scan_number(buffer, p, end)
        return p if p >= 0 and to_float(mantissa, exponent)[0] else _UNSURE
    if byte == _TRUE[0]:
        return _matches(buffer, p, end, _TRUE)
    if byte == _FALSE[0]:
        return _matches(buffer, p, end, _FALSE)
    return _matches(buffer, p, end, _NULL)
