"""Trace context (W3C) in message headers, passed from an event to the complex event that it completes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from saffron.engine.events.columns import Columns
from saffron.engine.operators.results import Results

Given = Sequence[tuple[str, bytes | None]]
Headers = tuple[tuple[str, bytes], ...]

_PARENT, _STATE = "traceparent", "tracestate"
_FORM = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?", flags=re.ASCII)
_NONE: Headers = ()


def traces_of(headers: Sequence[Given | None]) -> list[str | None] | None:
    """The trace context in each message's headers; None if no message has any."""
    found = [None if one is None else _trace(one) for one in headers]
    return None if all(one is None for one in found) else found


def trace_headers(columns: Columns, results: Results, start: int, stop: int) -> list[Headers]:
    """The trace headers of results start..stop-1: those of the event that completes each.

    The block's columns must have traces. A result that only the passing of time completes has none.
    """
    assert columns.trace is not None
    if not len(columns):
        return [_NONE] * (stop - start)
    positions = results.position[start:stop]
    rows = np.searchsorted(columns.seq, positions)
    rows[rows == len(columns)] = 0
    codes = np.where(results.with_event[start:stop] & (columns.seq[rows] == positions), columns.trace.data[rows], -1)
    known = {code: _headers(columns.trace.values[code]) for code in set(codes.tolist()) if code >= 0}
    return [known.get(code, _NONE) for code in codes.tolist()]


def _trace(headers: Given) -> str | None:
    """The trace context of one message: `traceparent`, and `tracestate` on a second line if there is one.

    None: the message has no valid `traceparent`, or a header is no ASCII.
    """
    found = {name: value for name, value in headers if value is not None and name in (_PARENT, _STATE)}
    try:
        parent = found.get(_PARENT, b"").decode("ascii")
        if not _FORM.fullmatch(parent):
            return None
        state = found.get(_STATE, b"").decode("ascii")
    except UnicodeDecodeError:
        return None
    return f"{parent}\n{state}" if state else parent


def _headers(trace: str) -> Headers:
    parent, _, state = trace.partition("\n")
    made = ((_PARENT, parent.encode()),)
    return (*made, (_STATE, state.encode())) if state else made
