"""The JSON scanner: one kernel that reads the common form of events into columns, for every schema.

It decides only what it is sure of. An event with escapes, doubled names, numbers that need care, values of another
kind, or anything that might be bad is marked `exact`, and `exact.py` decodes it. Both give the same columns for every
event that the scanner accepts (the tests compare them).
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# Loops and chains of comparisons stand as the compiler likes them:
# ruff: noqa: SIM110

from __future__ import annotations

import numpy as np

from saffron.engine.events.decoding.json_bytes import CLOSE, COLON, COMMA, OPEN, QUOTE, add_name, behind_blanks
from saffron.engine.events.decoding.nesting import MAX_DEPTH
from saffron.engine.events.decoding.scan_fields import scan_field, skip_value
from saffron.engine.events.decoding.scan_names import scan_name
from saffron.engine.events.decoding.scan_tables import TS
from saffron.engine.kernels.hashing import no_bytes
from saffron.engine.kernels.jit import inlined, kernel
from saffron.schema.schema import MAX_EVENT_BYTES, MAX_TS

_ONE = np.uint64(1)


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
    """True if the event has a time that it may have; takes the message's own where `ts` is absent."""
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
    """True if the event has a type, only what its type may have, and all that it must have; notes what is fresh."""
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
    p = behind_blanks(buffer, start, end)
    if p >= end or buffer[p] != OPEN:
        return False
    p = behind_blanks(buffer, p + 1, end)
    previous = np.int64(len(fields.kind))
    n_unknown, n_objects, depth = 0, 0, 0
    around = np.int64(0)
    scratch.ends[0], scratch.states[0] = 0, no_bytes()
    while True:
        if p >= end or buffer[p] != QUOTE:
            return False
        name = p + 1
        field, p, value = scan_name(buffer, name, end, fields, scratch, depth, around, previous)
        if p < 0:
            return False
        name_end = p - 1
        if p < end and buffer[p] == COLON:
            p += 1
        else:
            p = behind_blanks(buffer, p, end)
            if p >= end or buffer[p] != COLON:
                return False
            p += 1
        p = behind_blanks(buffer, p, end)
        if p >= end:
            return False
        if field >= 0:
            previous = field
            p = scan_field(buffer, p, end, event, field, fields, strings, cells, scratch, depth)
        elif buffer[p] == OPEN:
            if depth + 2 > MAX_DEPTH or not add_name(
                buffer, name, name_end, scratch.path, scratch.ends, scratch.states, depth
            ):
                return False
            if _noted(scratch.objects, n_objects, value) or _noted(scratch.unknown, n_unknown, value):
                return False
            if n_objects == len(scratch.objects):
                return False
            scratch.objects[n_objects] = value
            n_objects += 1
            depth += 1
            around = scratch.ends[depth]
            p = behind_blanks(buffer, p + 1, end)
            if p >= end:
                return False
            if buffer[p] != CLOSE:
                continue
        else:
            if n_unknown == len(scratch.unknown) or _noted(scratch.unknown, n_unknown, value):
                return False
            if _noted(scratch.objects, n_objects, value):
                return False
            scratch.unknown[n_unknown] = value
            n_unknown += 1
            p = skip_value(buffer, p, end, strings, scratch, depth)
        if p < 0:
            return False
        p = behind_blanks(buffer, p, end)
        while p < end and buffer[p] != COMMA:
            if buffer[p] != CLOSE:
                return False
            p = behind_blanks(buffer, p + 1, end)
            if depth == 0:
                cells.unknown[event] = n_unknown
                return p == end
            depth -= 1
            around = scratch.ends[depth]
        if p >= end:
            return False
        p = behind_blanks(buffer, p + 1, end)


@inlined
def _noted(hashes, count, value):
    """True if a name of this hash was there; another name may have the same, which costs time alone."""
    for k in range(count):
        if hashes[k] == value:
            return True
    return False
