"""A trace as text: a table with a row for each event, then the partial matches and the watermark at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from saffron.counted import counted
from saffron.engine.why.bindings import MADE, SPAN, Event
from saffron.engine.why.decisions import What
from saffron.engine.why.makers import made_of
from saffron.engine.why.trace import Outcome, Row, Trace
from saffron.language.plan.formulas import attribute_shown
from saffron.schema.likely_times import moment_of

MOST_ROWS = 120
"""The number of events shown of a longer trace: half of them its first, half its last."""
MOST_OUTCOMES = 6
"""Outcomes shown of one event; the others are counted."""


def lines(trace: Trace) -> Iterator[str]:
    """The trace, a line at a time."""
    key = ", ".join(f"{name}={value}" for name, value in trace.key.items())
    matches = counted(trace.matches, "match", "matches")
    yield f"{trace.query}{f', {key}' if key else ''}: {matches} among these events"
    if trace.choice:
        yield f"({trace.choice} reports some of the matches only; this trace does not show which)"
    if trace.left_out:
        yield f"({counted(trace.left_out, 'earlier event of the key is', 'earlier events of the key are')} left out)"
    if trace.threshold is not None:
        yield f"(imprecise time: a match has a confidence, {_asked(trace.threshold)})"
    yield from _table(
        ["seq", "time", "type", *map(attribute_shown, trace.attributes), "what became of it"], list(_cells(trace))
    )
    if trace.refused:
        yield ""
        yield from _table(["refused", "by"], [[f"{count:,}", text] for text, count in trace.refused.items()])
    if trace.live:
        yield ""
        yield from _table(["live runs", "at the end"], [[f"{count:,}", text] for text, count in trace.live.items()])
    yield ""
    yield f"window: {trace.window}"
    if trace.watermark is not None:
        yield f"watermark: {_time(trace.watermark)}, before the end of the events closed all windows"


def _cells(trace: Trace) -> Iterator[list[str]]:
    """The table's rows of a trace: its first and last events if it is too long, with a row about the others between."""
    rows, half = trace.rows, MOST_ROWS // 2
    hidden = len(rows) - MOST_ROWS
    for row in rows if hidden <= 0 else rows[:half]:
        yield from _row(row, trace)
    if hidden > 0:
        yield [
            "...",
            *[""] * (len(trace.attributes) + 2),
            f"({counted(hidden, 'event is', 'events are')} left out here)",
        ]
        for row in rows[-half:]:
            yield from _row(row, trace)


def _row(row: Row, trace: Trace) -> Iterator[list[str]]:
    """The table's rows of one event: a row for each line about it. The first row has the event's own cells."""
    attributes = trace.attributes
    texts = [] if row.event is None else list(_origin(row.event))
    texts += [line for outcome in row.outcomes[:MOST_OUTCOMES] for line in sentences(outcome)]
    if len(row.outcomes) > MOST_OUTCOMES:
        texts.append(f"and {len(row.outcomes) - MOST_OUTCOMES} more")
    head = ["end", "", "", *[""] * len(attributes)]
    if row.event is not None:
        values = [row.event.get(name) for name in attributes]
        head = [str(row.event["seq"]), _when(row.event), str(row.event["type"]), *map(_shown, values)]
    nothing = "no run waits for it" if trace.threshold is None else "nothing that it could follow is there"
    for number, text in enumerate(texts or [nothing]):
        yield [*(head if number == 0 else [""] * len(head)), text]


def _shown(value: Any) -> str:
    """A value of an event; an array as JSON."""
    if value is None:
        return ""
    if isinstance(value, list):
        return orjson.dumps(value).decode()
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def _asked(threshold: float) -> str:
    return f"and {threshold:g} is asked for" if threshold else "and any above 0 will do"


def _origin(event: Event) -> Iterator[str]:
    """A line on the result of another query that this event is, with the events bound in it."""
    if MADE not in event:
        return
    result = made_of(event[MADE])
    parts = []
    for variable, bound in result["events"].items():
        events = bound if isinstance(bound, list) else [] if bound is None else [bound]
        parts.append(f"{variable} = {' '.join(str(one['seq']) for one in events) or 'nothing'}")
    yield f"is result {result['id'][:12]} of {event[MADE].query}: {', '.join(parts)}"


def _when(event: Event) -> str:
    span = event.get(SPAN)
    return _time(event["ts"]) if span is None or span.lo == span.hi else f"{_time(span.lo)} .. {_time(span.hi)}"


def sentences(outcome: Outcome) -> list[str]:
    """An outcome as text: a line, and one for each condition that refused the event, with its values."""
    why = [f"  as {variable} by {text}  [{values}]" for variable, text, values in outcome.refusals]
    runs = counted(outcome.runs, "run")
    waited = " or ".join(outcome.waited)
    if outcome.chance is not None:
        return [_likely(outcome, outcome.chance)]
    match outcome.what:
        case What.BEGINS:
            return [f"begins a run as {outcome.component}"]
        case What.TAKES:
            return [f"taken as {outcome.component} by {runs}"]
        case What.REFUSED:
            return ["begins no run; refused", *why]
        case What.STAYS if why:
            return [f"{runs} {'waits' if outcome.runs == 1 else 'wait'} on; it is refused", *why]
        case What.STAYS:
            return [f"passed over: {runs} {'waits' if outcome.runs == 1 else 'wait'} for {waited}"]
        case What.DIES:
            return [f"ends {runs}, for which nothing may be skipped: {'refused' if why else f'no {waited}'}", *why]
        case What.EXPIRES:
            return [f"{runs} expired: the window is over"]
        case What.MATCHES:
            over = "" if outcome.due is None else f": the time of the last NOT was over at {_time(outcome.due)}"
            return [_matches(outcome) + over]
        case What.FORBIDDEN if why:
            return ["no match, by a finished list; refused", *why]
        case What.FORBIDDEN:
            return [f"no match: NOT forbids event {', '.join(map(str, outcome.offenders))}"]
    raise AssertionError(outcome)  # BELOW has a confidence


def _matches(outcome: Outcome) -> str:
    return "match" if outcome.runs == 1 else counted(outcome.runs, "match", "matches")


def _likely(outcome: Outcome, chance: float) -> str:
    """An outcome over imprecise time as text; `chance`: the confidence of the likeliest, if there are several."""
    upto = "" if outcome.runs == 1 else "up to "
    with_ = ", ".join(f"{variable} = {' '.join(map(str, seqs))}" for variable, seqs in outcome.bound)
    texts = f"{upto}{chance:.6g} ({with_})"
    several = "" if outcome.runs == 1 else f" in {outcome.runs:,} ways"
    match outcome.what:
        case What.MATCHES:
            return f"{_matches(outcome)}, confidence {texts}"
        case What.BELOW:
            return f"too unlikely as {outcome.component}{several}: {texts}"
    return f"can be {outcome.component}{several}: {texts}"


def _time(ts: int) -> str:
    """A time as UTC text; one that is no moment stays a number."""
    when = moment_of(ts)
    return str(ts) if when is None else f"{when:%Y-%m-%d %H:%M:%S}.{ts % 1000:03d}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(name), *(len(row[i]) for row in rows), 0) for i, name in enumerate(columns)]
    for cells in (columns, *rows):
        yield "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
