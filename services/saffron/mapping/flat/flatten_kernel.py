"""The flattening kernel: nested JSON messages to flat events as text, in one pass, for every definition.

It decides only what it is sure of. A message is marked `exact`, and left to `mapper`, if it has doubled names, escapes
in names, values that need a rule, or anything that might be bad.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# Loops and chains of comparisons stand as the compiler likes them:
# ruff: noqa: PLR1714, SIM109

from __future__ import annotations

import numpy as np

from saffron.engine.events.decoding.json_bytes import (
    CLOSE,
    CLOSE_LIST,
    COMMA,
    DOLLAR,
    OPEN,
    OPEN_LIST,
    POINT,
    add_name,
    behind_blanks,
)
from saffron.engine.events.decoding.nesting import MAX_DEPTH
from saffron.engine.events.decoding.utf8 import is_utf8
from saffron.engine.kernels.hashing import no_bytes, with_byte
from saffron.engine.kernels.jit import inlined, kernel
from saffron.mapping.flat.flatten_plan import NONE
from saffron.mapping.flat.read_json import ARRAY_VALUE, EXACT, FULL, after_value, read_name, read_value
from saffron.mapping.flat.write_event import close_event, write_leaf
from saffron.schema.origin import ORIGIN
from saffron.schema.schema import MAX_EVENT_BYTES

_SHORT_OWN, _LONG_OWN = min(map(len, ORIGIN)), max(map(len, ORIGIN))


@kernel(_nrt=False)
def flatten(buffer, starts, ends, times, first, plan, scratch, out):
    """Flatten messages first..; returns n, or the message at which `out.text` must grow.

    buffer uint8 [bytes]; starts, ends, times int64 [n]; `out`: see `flatten_plan.Output`.
    """
    for event in range(first, len(starts)):
        start, end = starts[event], ends[event]
        at = out.size[0]
        after = np.int64(EXACT)
        if end - start <= MAX_EVENT_BYTES:
            after = _flatten_one(buffer, start, end, times[event], plan, scratch, out.text, at)
        if after == FULL:
            return event
        out.exact[event] = after == EXACT
        out.starts[event] = at
        out.ends[event] = max(at, after)
        out.size[0] = max(at, after)
    return len(starts)


@inlined
def _flatten_one(buffer, start, end, time, plan, scratch, text, at):
    """Write one message's event at `at`; the position behind it, EXACT or FULL."""
    p = behind_blanks(buffer, start, end)
    if p >= end or buffer[p] != OPEN:
        return EXACT
    for output in range(len(scratch.met)):
        scratch.met[output] = 0
    for child in range(len(scratch.seen)):
        scratch.seen[child] = 0
    scratch.seen_names[0] = 0
    scratch.node[0], scratch.prefix_end[0], scratch.is_list[0], scratch.hash[0] = 0, 0, 0, no_bytes()
    if at + 1 > len(text):
        return FULL
    text[at] = OPEN
    at, p = _flatten_object(buffer, p + 1, end, plan, scratch, text, at + 1)
    if p < 0:
        return p
    if behind_blanks(buffer, p, end) != end or (scratch.wide[0] and not is_utf8(buffer, start, end)):
        return EXACT
    return close_event(buffer, time, plan, scratch, text, at)


@inlined
def _flatten_object(buffer, p, end, plan, scratch, text, at):
    """(position in the output, position behind the object that begins before `p`; or EXACT, FULL)."""
    depth = 0
    opened = True
    list_from, list_child, list_depth = np.int64(-1), np.int64(NONE), 0
    name, name_end = np.int64(0), np.int64(0)
    scratch.wide[0] = 0
    while True:
        p = behind_blanks(buffer, p, end)
        if p >= end:
            return at, EXACT
        in_list = scratch.is_list[depth] != 0
        if buffer[p] == (CLOSE_LIST if in_list else CLOSE):
            if not opened and buffer[p - 1] == COMMA:
                return at, EXACT
            p += 1
            depth -= 1
            if depth < 0:
                return at, p
            opened = False
            if list_from >= 0 and depth == list_depth:
                name, name_end = scratch.list_name[0], scratch.list_name[1]
                at = write_leaf(
                    buffer, name, name_end, list_from, p, ARRAY_VALUE, list_child, depth, plan, scratch, text, at
                )
                if at < 0:
                    return at, at
                list_from = np.int64(-1)
            p = after_value(buffer, p, end, scratch.is_list[depth])
            if p < 0:
                return at, EXACT
            continue
        child = np.int64(NONE)
        if not in_list:
            name, name_end, p = read_name(buffer, p, end, scratch)
            if p < 0:
                return at, EXACT
            if scratch.node[depth] != NONE:
                child = _child(buffer, name, name_end, scratch.node[depth], plan, scratch)
            if list_from < 0:
                if child != NONE:
                    if scratch.seen[child]:
                        return at, EXACT
                    scratch.seen[child] = 1
                elif plan.keeps and not _is_new(buffer, name, name_end, depth, plan, scratch):
                    return at, EXACT
        byte = buffer[p]
        if byte == OPEN or byte == OPEN_LIST:
            if depth + 1 >= MAX_DEPTH:
                return at, EXACT
            if byte == OPEN_LIST and list_from < 0:
                list_from, list_child, list_depth = p, child, depth
                scratch.list_name[0], scratch.list_name[1] = name, name_end
            elif byte == OPEN and list_from < 0:
                if child != NONE and plan.first_use[child] < plan.first_use[child + 1]:
                    return at, EXACT
                if not add_name(buffer, name, name_end, scratch.prefix, scratch.prefix_end, scratch.hash, depth):
                    return at, EXACT
            depth += 1
            scratch.is_list[depth] = byte == OPEN_LIST
            scratch.node[depth] = child if list_from < 0 else NONE
            opened = True
            p += 1
            continue
        value = p
        p, kind = read_value(buffer, p, end, scratch)
        if p < 0:
            return at, EXACT
        if list_from < 0:
            at = write_leaf(buffer, name, name_end, value, p, kind, child, depth, plan, scratch, text, at)
            if at < 0:
                return at, at
        opened = False
        p = after_value(buffer, p, end, scratch.is_list[depth])
        if p < 0:
            return at, EXACT


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
    """True if no earlier name equals this one when written with dots. The name is noted.

    False, too, where there are too many to compare, and for names of a message that may be Saffron's own.
    """
    if depth == 0 and name < name_end and buffer[name] == DOLLAR and _SHORT_OWN <= name_end - name <= _LONG_OWN:
        return False
    value = scratch.hash[depth]
    for k in range(name, name_end):
        if buffer[k] == POINT and plan.dotted:
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
