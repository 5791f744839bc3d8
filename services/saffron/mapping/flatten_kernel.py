"""The flattening kernel: nested JSON messages to flat events as text, in one pass, for every definition.

It decides only what it is sure of: a message with doubled names, escapes in names, values that a rule would have to
judge, or anything that might be bad is marked `exact` and left to `mapper`, which has the last word.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# Loops and chains of comparisons stand as the compiler likes them:
# ruff: noqa: PLR1714, SIM109

from __future__ import annotations

import numpy as np

from saffron.engine.events.decoding.nesting import MAX_DEPTH
from saffron.engine.events.decoding.scan_numbers import scan_number
from saffron.engine.events.decoding.utf8 import is_utf8
from saffron.engine.events.raw import MAX_EVENT_BYTES
from saffron.engine.kernels.hashing import no_bytes, with_byte
from saffron.engine.kernels.jit import inlined, kernel
from saffron.mapping.flatten_plan import (
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
from saffron.mapping.flatten_times import iso_instant, of_units
from saffron.schema.origin import ORIGIN

_QUOTE, _BACKSLASH, _COMMA, _COLON, _OPEN, _CLOSE, _DOT = 34, 92, 44, 58, 123, 125, 46
_OPEN_LIST, _CLOSE_LIST, _MINUS, _ZERO, _NINE, _SPACE = 91, 93, 45, 48, 57, 32
_DOLLAR = 36
_SHORT_OWN, _LONG_OWN = min(map(len, ORIGIN)), max(map(len, ORIGIN))
_LETTER_U, _LETTER_N, _LETTER_T, _LETTER_F = 117, 110, 116, 102
_EXACT, _FULL = -1, -2
"""Instead of a position: the exact path decides; there is no room in the output."""
_TEXT_VALUE, _NUMBER_VALUE, _TRUTH_VALUE, _NULL_VALUE, _ARRAY_VALUE, _ESCAPED_VALUE = range(6)
_MOST_OF_A_NUMBER = 24
"""Bytes that a time takes in the output."""
_TYPE = np.frombuffer(b'"type":"', np.uint8).copy()
_TS = np.frombuffer(b'","ts":', np.uint8).copy()
_NULL = np.frombuffer(b"null", np.uint8).copy()
_TRUE = np.frombuffer(b"true", np.uint8).copy()
_FALSE = np.frombuffer(b"false", np.uint8).copy()


@kernel(_nrt=False)
def flatten(buffer, starts, ends, times, first, plan, scratch, out):
    """Flatten messages first..; returns n, or the message at which `out.text` must grow.

    buffer uint8 [bytes]; starts, ends, times int64 [n]; `out`: see `flatten_plan.Output`.
    """
    for event in range(first, len(starts)):
        start, end = starts[event], ends[event]
        at = out.size[0]
        after = np.int64(_EXACT)
        if end - start <= MAX_EVENT_BYTES:
            after = _flatten_one(buffer, start, end, times[event], plan, scratch, out.text, at)
        if after == _FULL:
            return event
        out.exact[event] = after == _EXACT
        out.starts[event] = at
        out.ends[event] = max(at, after)
        out.size[0] = max(at, after)
    return len(starts)


@inlined
def _flatten_one(buffer, start, end, time, plan, scratch, text, at):
    """Write one message's event at `at`; the position behind it, _EXACT or _FULL."""
    p = _blanks(buffer, start, end)
    if p >= end or buffer[p] != _OPEN:
        return _EXACT
    for output in range(len(scratch.met)):
        scratch.met[output] = 0
    for child in range(len(scratch.seen)):
        scratch.seen[child] = 0
    scratch.seen_names[0] = 0
    scratch.node[0], scratch.prefix_end[0], scratch.is_list[0], scratch.hash[0] = 0, 0, 0, no_bytes()
    if at + 1 > len(text):
        return _FULL
    text[at] = _OPEN
    begun = at + 1
    at, p = _flatten_object(buffer, p + 1, end, plan, scratch, text, begun)
    if p < 0:
        return p
    if _blanks(buffer, p, end) != end or (scratch.wide[0] and not is_utf8(buffer, start, end)):
        return _EXACT
    return _close_event(buffer, time, plan, scratch, text, at, begun)


@inlined
def _flatten_object(buffer, p, end, plan, scratch, text, at):
    """(position in the output, position behind the object that begins before `p`; or _EXACT, _FULL)."""
    depth = 0
    opened = True
    list_from, list_child, list_depth = np.int64(-1), np.int64(NONE), 0
    name, name_end = np.int64(0), np.int64(0)
    scratch.wide[0] = 0
    while True:
        p = _blanks(buffer, p, end)
        if p >= end:
            return at, _EXACT
        in_list = scratch.is_list[depth] != 0
        if buffer[p] == (_CLOSE_LIST if in_list else _CLOSE):
            if not opened and buffer[p - 1] == _COMMA:
                return at, _EXACT
            p += 1
            depth -= 1
            if depth < 0:
                return at, p
            opened = False
            if list_from >= 0 and depth == list_depth:
                name, name_end = scratch.list_name[0], scratch.list_name[1]
                at = _leaf(
                    buffer, name, name_end, list_from, p, _ARRAY_VALUE, list_child, depth, plan, scratch, text, at
                )
                if at < 0:
                    return at, at
                list_from = np.int64(-1)
            p = _after_value(buffer, p, end, scratch.is_list[depth])
            if p < 0:
                return at, _EXACT
            continue
        child = np.int64(NONE)
        if not in_list:
            name, name_end, p = _name(buffer, p, end, scratch)
            if p < 0:
                return at, _EXACT
            if scratch.node[depth] != NONE:
                child = _child(buffer, name, name_end, scratch.node[depth], plan, scratch)
            if list_from < 0:
                if child != NONE:
                    if scratch.seen[child]:
                        return at, _EXACT
                    scratch.seen[child] = 1
                elif plan.keeps and not _is_new(buffer, name, name_end, depth, plan, scratch):
                    return at, _EXACT
        byte = buffer[p]
        if byte == _OPEN or byte == _OPEN_LIST:
            if depth + 1 >= MAX_DEPTH:
                return at, _EXACT
            if byte == _OPEN_LIST and list_from < 0:
                list_from, list_child, list_depth = p, child, depth
                scratch.list_name[0], scratch.list_name[1] = name, name_end
            elif byte == _OPEN and list_from < 0:
                if child != NONE and plan.first_use[child] < plan.first_use[child + 1]:
                    return at, _EXACT
                if not _push_prefix(buffer, name, name_end, depth, scratch):
                    return at, _EXACT
            depth += 1
            scratch.is_list[depth] = byte == _OPEN_LIST
            scratch.node[depth] = child if list_from < 0 else NONE
            opened = True
            p += 1
            continue
        value = p
        p, kind = _value(buffer, p, end, scratch)
        if p < 0:
            return at, _EXACT
        if list_from < 0:
            at = _leaf(buffer, name, name_end, value, p, kind, child, depth, plan, scratch, text, at)
            if at < 0:
                return at, at
        opened = False
        p = _after_value(buffer, p, end, scratch.is_list[depth])
        if p < 0:
            return at, _EXACT


@inlined
def _after_value(buffer, p, end, in_list):
    """The position behind the comma after a value, or at the bracket that closes; _EXACT where neither stands."""
    p = _blanks(buffer, p, end)
    if p >= end:
        return _EXACT
    if buffer[p] == _COMMA:
        p = _blanks(buffer, p + 1, end)
        if p >= end or buffer[p] == (_CLOSE_LIST if in_list else _CLOSE):
            return _EXACT
        return p
    return p if buffer[p] == (_CLOSE_LIST if in_list else _CLOSE) else _EXACT


@inlined
def _blanks(buffer, p, end):
    while p < end and (buffer[p] == 32 or buffer[p] == 9 or buffer[p] == 10 or buffer[p] == 13):
        p += 1
    return p


@inlined
def _name(buffer, p, end, scratch):
    """(begin, end of a name without escapes, position of its value or _EXACT)."""
    if buffer[p] != _QUOTE:
        return p, p, np.int64(_EXACT)
    p += 1
    name = p
    while p < end and buffer[p] != _QUOTE:
        byte = buffer[p]
        if byte == _BACKSLASH or byte < _SPACE:
            return name, p, np.int64(_EXACT)
        if byte >= 128:
            scratch.wide[0] = 1
        p += 1
    name_end = p
    p = _blanks(buffer, p + 1, end)
    if p >= end or buffer[p] != _COLON:
        return name, name_end, np.int64(_EXACT)
    p = _blanks(buffer, p + 1, end)
    return name, name_end, p if p < end else np.int64(_EXACT)


@inlined
def _child(buffer, name, name_end, node, plan, scratch):
    """The child of a node with this name, NONE where it has none. The one that followed last time is tried first."""
    low, high = plan.first_child[node], plan.first_child[node + 1]
    guess = scratch.guess[node]
    for turn in range(high - low):
        child = guess + turn
        if child >= high:
            child -= high - low
        begin = plan.bounds[child]
        length = plan.bounds[child + 1] - begin
        if length == name_end - name:
            same = True
            for k in range(length):
                if buffer[name + k] != plan.names[begin + k]:
                    same = False
                    break
            if same:
                scratch.guess[node] = child + 1 if child + 1 < high else low
                return np.int64(child)
    return np.int64(NONE)


@inlined
def _is_new(buffer, name, name_end, depth, plan, scratch):
    """Whether no name so far reads the same with dots: notes it.

    False, too, where there are too many to tell, and for names of a message that may be Saffron's own.
    """
    if depth == 0 and name < name_end and buffer[name] == _DOLLAR and _SHORT_OWN <= name_end - name <= _LONG_OWN:
        return False
    value = scratch.hash[depth]
    for k in range(name, name_end):
        if buffer[k] == _DOT and plan.dotted:
            return False
        value = with_byte(value, buffer[k])
    count = scratch.seen_names[0]
    if count >= np.uint64(len(scratch.seen_names) - 1):
        return False
    for k in range(1, np.int64(count) + 1):
        if scratch.seen_names[k] == value:
            return False
    scratch.seen_names[np.int64(count) + 1] = value
    scratch.seen_names[0] = count + np.uint64(1)
    return True


@inlined
def _push_prefix(buffer, name, name_end, depth, scratch):
    """Append `name.` to the prefix for the object one level deeper; False where it is too long."""
    at = scratch.prefix_end[depth]
    if at + (name_end - name) + 1 > len(scratch.prefix):
        return False
    value = scratch.hash[depth]
    for k in range(name, name_end):
        scratch.prefix[at] = buffer[k]
        value = with_byte(value, buffer[k])
        at += 1
    scratch.prefix[at] = _DOT
    scratch.hash[depth + 1] = with_byte(value, _DOT)
    scratch.prefix_end[depth + 1] = at + 1
    return True


@inlined
def _value(buffer, p, end, scratch):
    """(position behind a value that is no object and no array, or _EXACT; what it is)."""
    byte = buffer[p]
    if byte == _QUOTE:
        return _string(buffer, p + 1, end, scratch)
    if byte == _MINUS or (_ZERO <= byte <= _NINE):
        p = _number(buffer, p, end)
        return p, _NUMBER_VALUE
    if byte == _LETTER_N:
        return _word(buffer, p, end, _NULL), _NULL_VALUE
    if byte == _LETTER_T:
        return _word(buffer, p, end, _TRUE), _TRUTH_VALUE
    if byte == _LETTER_F:
        return _word(buffer, p, end, _FALSE), _TRUTH_VALUE
    return np.int64(_EXACT), _NULL_VALUE


@inlined
def _word(buffer, p, end, word):
    if p + len(word) > end:
        return np.int64(_EXACT)
    for k in range(len(word)):
        if buffer[p + k] != word[k]:
            return np.int64(_EXACT)
    return np.int64(p + len(word))


@inlined
def _number(buffer, p, end):
    """The position behind a number by JSON's grammar, or _EXACT."""
    if buffer[p] == _MINUS:
        p += 1
    first = p
    while p < end and _ZERO <= buffer[p] <= _NINE:
        p += 1
    if p == first or (buffer[first] == _ZERO and p > first + 1):
        return np.int64(_EXACT)
    if p < end and buffer[p] == _DOT:
        p += 1
        first = p
        while p < end and _ZERO <= buffer[p] <= _NINE:
            p += 1
        if p == first:
            return np.int64(_EXACT)
    if p < end and (buffer[p] == 69 or buffer[p] == 101):
        p += 1
        if p < end and (buffer[p] == 43 or buffer[p] == _MINUS):
            p += 1
        first = p
        while p < end and _ZERO <= buffer[p] <= _NINE:
            p += 1
        if p == first:
            return np.int64(_EXACT)
    return np.int64(p)


@inlined
def _string(buffer, p, end, scratch):
    """(position behind the closing quote or _EXACT, _TEXT_VALUE or _ESCAPED_VALUE); `p` is behind the opening one."""
    kind = _TEXT_VALUE
    while p < end and buffer[p] != _QUOTE:
        byte = buffer[p]
        if byte < _SPACE:
            return np.int64(_EXACT), kind
        if byte == _BACKSLASH:
            kind = _ESCAPED_VALUE
            p += 1
            if p >= end:
                return np.int64(_EXACT), kind
            byte = buffer[p]
            if byte == _LETTER_U:
                if p + 4 >= end:
                    return np.int64(_EXACT), kind
                for k in range(p + 1, p + 5):
                    digit = buffer[k] | 32
                    if not (_ZERO <= buffer[k] <= _NINE or 97 <= digit <= 102):
                        return np.int64(_EXACT), kind
                p += 4
            elif not (
                byte == _QUOTE or byte == _BACKSLASH or byte == 47 or byte == 98 or byte == _LETTER_F
                or byte == _LETTER_N or byte == 114 or byte == _LETTER_T
            ):  # fmt: skip
                return np.int64(_EXACT), kind
        elif byte >= 128:
            scratch.wide[0] = 1
        p += 1
    return (p + 1 if p < end else np.int64(_EXACT)), kind


@inlined
def _leaf(buffer, name, name_end, value, value_end, kind, child, depth, plan, scratch, text, at):
    """Write what becomes of a leaf; the position in the output, _EXACT or _FULL."""
    keep = plan.keeps
    if child != NONE:
        keep = plan.kept[child] == KEPT
        for use in range(plan.first_use[child], plan.first_use[child + 1]):
            output = plan.used[use]
            if kind == _NULL_VALUE and plan.role[output] != ROLE_TYPE and plan.role[output] != ROLE_TIME:
                continue
            at = _output(buffer, value, value_end, kind, output, plan, scratch, text, at)
            if at < 0:
                return at
    if not keep or kind == _NULL_VALUE:
        return at
    prefix = scratch.prefix_end[depth]
    if at + 6 + prefix + (name_end - name) + (value_end - value) > len(text):
        return np.int64(_FULL)
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
    """A comma, unless the object has just begun."""
    if text[at - 1] == _OPEN:
        return at
    text[at] = _COMMA
    return at + 1


@inlined
def _copy(buffer, begin, end, text, at):
    for k in range(end - begin):
        text[at + k] = buffer[begin + k]
    return at + (end - begin)


@inlined
def _output(buffer, value, value_end, kind, output, plan, scratch, text, at):
    """One use of a leaf: an attribute under its name, or what the event's type and time are made of."""
    if scratch.met[output]:
        return np.int64(_EXACT)
    scratch.met[output] = 1
    role = plan.role[output]
    if role == ROLE_TYPE:
        if kind != _TEXT_VALUE and kind != _NUMBER_VALUE:
            return np.int64(_EXACT)
        quote = 1 if kind == _TEXT_VALUE else 0
        scratch.type_at[0], scratch.type_at[1] = value + quote, value_end - quote
        return at
    if role == ROLE_TIME:
        if kind != _TEXT_VALUE and kind != _NUMBER_VALUE:
            return np.int64(_EXACT)
        quote = 1 if kind == _TEXT_VALUE else 0
        sure, ms = _instant(buffer, value + quote, value_end - quote, kind == _TEXT_VALUE, plan)
        scratch.ts[0] = ms
        return at if sure else np.int64(_EXACT)
    low, high = plan.output_bounds[output], plan.output_bounds[output + 1]
    if at + 6 + (high - low) + (value_end - value) > len(text):
        return np.int64(_FULL)
    quoted = 0
    if role == ROLE_NUMBER and kind == _TEXT_VALUE:
        value, value_end = value + 1, value_end - 1
        if value == value_end or _number(buffer, value, value_end) != value_end:
            return np.int64(_EXACT)
    elif role == ROLE_TEXT and (kind == _NUMBER_VALUE or kind == _TRUTH_VALUE):
        quoted = 1
    elif not (
        role == ROLE_PLAIN
        or (role == ROLE_NUMBER and kind == _NUMBER_VALUE)
        or (role == ROLE_BOOLEAN and kind == _TRUTH_VALUE)
        or (role == ROLE_TEXT and (kind == _TEXT_VALUE or kind == _ESCAPED_VALUE))
    ):
        return np.int64(_EXACT)
    at = _comma(text, at)
    at = _copy(plan.output_names, low, high, text, at)
    if quoted:
        text[at] = _QUOTE
    at = _copy(buffer, value, value_end, text, at + quoted)
    if quoted:
        text[at] = _QUOTE
    return at + quoted


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
def _close_event(buffer, time, plan, scratch, text, at, begun):
    """Write the event's type and time; the position behind it, _EXACT or _FULL."""
    ts = scratch.ts[0]
    if plan.time_by == BY_MESSAGE:
        ts = time
        if time < 0:
            return np.int64(_EXACT)
    elif not scratch.met[plan.time_output]:
        return np.int64(_EXACT)
    begin, end = np.int64(0), np.int64(len(plan.constant))
    named = NONE
    if plan.type_by != BY_CONSTANT:
        if not scratch.met[plan.type_output]:
            return np.int64(_EXACT)
        begin, end = scratch.type_at[0], scratch.type_at[1]
        if plan.type_map:
            named = _mapped(buffer, begin, end, plan)
            if named == NONE:
                return np.int64(_EXACT)
            begin, end = plan.map_bounds[2 * named + 1], plan.map_bounds[2 * named + 2]
    if at + 20 + (end - begin) + _MOST_OF_A_NUMBER > len(text):
        return np.int64(_FULL)
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
    """Write a whole number."""
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
