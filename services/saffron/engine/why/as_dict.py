"""A trace for programs: JSON-able."""

from __future__ import annotations

from typing import Any

import orjson

from saffron.engine.why.bindings import MADE, OWN, SPAN, Event
from saffron.engine.why.trace import Outcome, Trace


def to_dict(trace: Trace) -> dict[str, Any]:
    """The trace for programs; "confidence" only where time is imprecise, "made_by" only of results of other queries."""
    return {
        "query": trace.query,
        "key": dict(trace.key),
        "matches": trace.matches,
        "choice": trace.choice,
        "left_out": trace.left_out,
        "watermark": trace.watermark,
        **({} if trace.threshold is None else {"confidence": trace.threshold}),
        "live": dict(trace.live),
        "refused": dict(trace.refused),
        "events": [
            {**_event(row.event), "outcomes": [_outcome(outcome) for outcome in row.outcomes]} for row in trace.rows
        ],
    }


def _event(event: Event | None) -> dict[str, Any]:
    if event is None:
        return {"event": None}
    shown = {name: value for name, value in event.items() if name not in OWN[3:]}
    if SPAN in event and event[SPAN].hi > event[SPAN].lo:
        shown["ts"] = [event[SPAN].lo, event[SPAN].hi]
    if MADE not in event:
        return {"event": shown}
    return {"event": shown, "made_by": {"query": event[MADE].query, "result": orjson.loads(event[MADE].result)}}


def _outcome(outcome: Outcome) -> dict[str, Any]:
    """The JSON of an outcome. "due" is left out without one, "confidence" and "bound" where time is precise."""
    fields: dict[str, Any] = {
        "what": outcome.what.value,
        "variable": outcome.component,
        "runs": outcome.runs,
        "waited": list(outcome.waited),
        "refused_by": [
            {"variable": variable, "condition": text, "values": values} for variable, text, values in outcome.refusals
        ],
        "forbidden_events": list(outcome.offenders),
    }
    if outcome.due is not None:
        fields["due"] = outcome.due
    if outcome.chance is not None:
        fields |= {"confidence": outcome.chance, "bound": {name: list(seqs) for name, seqs in outcome.bound}}
    return fields
