"""Events written by the flattening kernel: attributes, the type and the time, as JSON text.

Functions that write into `text` from position `at` return the position behind, or EXACT or FULL.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# Loops and chains of comparisons stand as the compiler likes them:
# ruff: noqa: PLR1714, SIM109

from __future__ import annotations

import numpy as np

from saffron.engine.events.decoding.json_bytes import behind_digits
from saffron.engine.events.decoding.scan_numbers import scan_number
from saffron.engine.kernels.jit import inlined
from saffron.mapping.flat.flatten_plan import (
    BY_CONSTANT,
    BY_MESSAGE,
    KEPT,
    NONE,
    ROLE_BOOLEAN,
    ROLE_NUMBER,
    ROLE_PLAIN,
    ROLE_TEXT,
    ROLE_TIME,
    ROLE_TYPE,
)
from saffron.mapping.flat.flatten_times import iso_instant, of_units
from saffron.mapping.flat.read_json import (
    ESCAPED_VALUE,
    EXACT,
    FULL,
    NULL_VALUE,
    NUMBER_VALUE,
    TEXT_VALUE,
    TRUTH_VALUE,
    read_number,
)

_QUOTE, _COMMA, _COLON, _OPEN, _CLOSE, _MINUS, _ZERO = 34, 44, 58, 123, 125, 45, 48
_MOST_OF_A_NUMBER = 24
"""Bytes that a time takes in the output."""
_TYPE = np.frombuffer(b'"type":"', np.uint8).copy()
_TS = np.frombuffer(b'","ts":', np.uint8).copy()


@inlined
def write_leaf(buffer, name, name_end, value, value_end, kind, child, depth, plan, scratch, text, at):
    """Write an event's attributes, type and time from one leaf of the message."""
    keep = plan.keeps
    if child != NONE:
        keep = plan.kept[child] == KEPT
        for use in range(plan.first_use[child], plan.first_use[child + 1]):
            output = plan.used[use]
            if kind == NULL_VALUE and plan.role[output] != ROLE_TYPE and plan.role[output] != ROLE_TIME:
                continue
            at = _output(buffer, value, value_end, kind, output, plan, scratch, text, at)
            if at < 0:
                return at
    if not keep or kind == NULL_VALUE:
        return at
    prefix = scratch.prefix_end[depth]
    if at + 6 + prefix + (name_end - name) + (value_end - value) > len(text):
        return np.int64(FULL)
    at = _comma(text, at)
    text[at] = _QUOTE
    at += 1
    for k in range(prefix):
        text[at + k] = scratch.prefix[k]
    at = _copy(buffer, name, name_end, text, at + prefix)
    text[at] = _QUOTE
    text[at + 1] = _COLON
    return _copy(buffer, value, value_end, text, at + 2)


@inlined
def _comma(text, at):
    """Write a comma, unless the object has just begun; returns the position behind it."""
    if text[at - 1] == _OPEN:
        return at
    text[at] = _COMMA
    return at + 1


@inlined
def _copy(buffer, begin, end, text, at):
    """Copy buffer[begin:end]; returns the position behind it."""
    for k in range(end - begin):
        text[at + k] = buffer[begin + k]
    return at + (end - begin)


@inlined
def _output(buffer, value, value_end, kind, output, plan, scratch, text, at):
    """Write one use of a leaf: an attribute under its name, or a part of the event's type or time."""
    if scratch.met[output]:
        return np.int64(EXACT)
    scratch.met[output] = 1
    role = plan.role[output]
    if role == ROLE_TYPE:
        if kind != TEXT_VALUE and kind != NUMBER_VALUE:
            return np.int64(EXACT)
        if kind == NUMBER_VALUE and not _is_printed(buffer, value, value_end):
            return np.int64(EXACT)
        quote = 1 if kind == TEXT_VALUE else 0
        scratch.type_at[0], scratch.type_at[1] = value + quote, value_end - quote
        return at
    if role == ROLE_TIME:
        if kind != TEXT_VALUE and kind != NUMBER_VALUE:
            return np.int64(EXACT)
        quote = 1 if kind == TEXT_VALUE else 0
        sure, ms = _instant(buffer, value + quote, value_end - quote, kind == TEXT_VALUE, plan)
        scratch.ts[0] = ms
        return at if sure else np.int64(EXACT)
    low, high = plan.output_bounds[output], plan.output_bounds[output + 1]
    if at + 6 + (high - low) + (value_end - value) > len(text):
        return np.int64(FULL)
    quoted = 0
    if role == ROLE_NUMBER and kind == TEXT_VALUE:
        value, value_end = value + 1, value_end - 1
        if value == value_end or read_number(buffer, value, value_end) != value_end:
            return np.int64(EXACT)
    elif role == ROLE_TEXT and (kind == NUMBER_VALUE or kind == TRUTH_VALUE):
        if kind == NUMBER_VALUE and not _is_printed(buffer, value, value_end):
            return np.int64(EXACT)
        quoted = 1
    elif not (
        role == ROLE_PLAIN
        or (role == ROLE_NUMBER and kind == NUMBER_VALUE)
        or (role == ROLE_BOOLEAN and kind == TRUTH_VALUE)
        or (role == ROLE_TEXT and (kind == TEXT_VALUE or kind == ESCAPED_VALUE))
    ):
        return np.int64(EXACT)
    at = _comma(text, at)
    at = _copy(plan.output_names, low, high, text, at)
    if quoted:
        text[at] = _QUOTE
    at = _copy(buffer, value, value_end, text, at + quoted)
    if quoted:
        text[at] = _QUOTE
    return at + quoted


@inlined
def _is_printed(buffer, begin, end):
    """True if a number stands as results print it: a whole one of digits alone, surely within 64 bits."""
    negative = buffer[begin] == _MINUS
    if end - begin > 18 or (negative and buffer[begin + 1] == _ZERO):
        return False
    return behind_digits(buffer, begin + (1 if negative else 0), end) == end


@inlined
def _instant(buffer, begin, end, is_text, plan):
    """(sure, milliseconds) of the time in buffer[begin:end]."""
    if plan.unit == 0:
        if not is_text:
            return False, np.int64(0)
        return iso_instant(buffer, begin, end)
    p, mantissa, exponent, _ = scan_number(buffer, begin, end) if begin < end else (np.int64(-1), 0, 0, False)
    if p != end:
        return False, np.int64(0)
    return of_units(mantissa, exponent + plan.unit_power)


@inlined
def close_event(buffer, time, plan, scratch, text, at):
    """Write the event's type and time; the position behind it, EXACT or FULL."""
    ts = scratch.ts[0]
    if plan.time_by == BY_MESSAGE:
        ts = time
        if time < 0:
            return np.int64(EXACT)
    elif not scratch.met[plan.time_output]:
        return np.int64(EXACT)
    begin, end = np.int64(0), np.int64(len(plan.constant))
    named = NONE
    if plan.type_by != BY_CONSTANT:
        if not scratch.met[plan.type_output]:
            return np.int64(EXACT)
        begin, end = scratch.type_at[0], scratch.type_at[1]
        if plan.type_map:
            named = _mapped(buffer, begin, end, plan)
            if named == NONE:
                return np.int64(EXACT)
            begin, end = plan.map_bounds[2 * named + 1], plan.map_bounds[2 * named + 2]
    if at + 20 + (end - begin) + _MOST_OF_A_NUMBER > len(text):
        return np.int64(FULL)
    at = _comma(text, at)
    at = _copy(_TYPE, 0, len(_TYPE), text, at)
    if plan.type_by == BY_CONSTANT:
        at = _copy(plan.constant, begin, end, text, at)
    elif plan.type_map:
        at = _copy(plan.map_text, begin, end, text, at)
    else:
        at = _copy(buffer, begin, end, text, at)
    at = _copy(_TS, 0, len(_TS), text, at)
    at = _digits(ts, text, at)
    text[at] = _CLOSE
    return at + 1


@inlined
def _mapped(buffer, begin, end, plan):
    """The number of the name in `map` that stands in buffer[begin:end], or NONE."""
    for entry in range((len(plan.map_bounds) - 1) // 2):
        low, high = plan.map_bounds[2 * entry], plan.map_bounds[2 * entry + 1]
        if high - low == end - begin:
            same = True
            for k in range(high - low):
                if plan.map_text[low + k] != buffer[begin + k]:
                    same = False
                    break
            if same:
                return entry
    return NONE


@inlined
def _digits(number, text, at):
    """Write a whole number in decimal; returns the position behind it."""
    if number < 0:
        text[at] = _MINUS
        at += 1
        number = -number
    count, rest = 1, number // 10
    while rest > 0:
        count += 1
        rest //= 10
    for k in range(count):
        text[at + count - 1 - k] = _ZERO + number % 10
        number //= 10
    return at + count
