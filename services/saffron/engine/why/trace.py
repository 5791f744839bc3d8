"""Traces: the outcome of each event of one key, or of one match, as rows that a person can read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from saffron.engine.match.core.automaton import leaves
from saffron.engine.why.bindings import OWN, Bindings, Bound, Event, of
from saffron.engine.why.conditions import Refusal
from saffron.engine.why.decisions import Decision, Found, What
from saffron.engine.why.interpreter import Interpreter
from saffron.engine.why.likely import LikelyInterpreter, way_to
from saffron.language.plan.clauses import Output
from saffron.language.plan.expressions import Aggregate, Attribute
from saffron.language.plan.formulas import window_line
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.computed import attributes_of_name

MOST_VALUES = 4
"""Attributes shown where no condition says which of them matter."""

_AT_OTHERS = (What.DIES, What.EXPIRES, What.MATCHES, What.FORBIDDEN)
"""Decisions on runs of the key that an event of another key can bring: time passes, or contiguity is strict."""


@dataclass(frozen=True)
class GivenEvent:
    """An event given to the interpreter. `ours`: it has the key; `opens`: a window of OPEN ON opens at it."""

    event: Event
    ours: bool = True
    opens: bool = False


@dataclass(frozen=True)
class Outcome:
    """Equivalent decisions on one event. `runs`: how many; `refusals`: (variable, condition, values) of the first one.

    `due`: see `Decision`. `chance`: over imprecise time, the highest confidence; `bound`: by variable the events that
    have it.
    """

    what: What
    component: str | None
    runs: int
    refusals: tuple[tuple[str, str, str], ...]
    offenders: tuple[int, ...]
    waited: tuple[str, ...]
    due: int | None = None
    chance: float | None = None
    bound: tuple[tuple[str, tuple[int, ...]], ...] = ()


@dataclass(frozen=True)
class Row:
    """An event and its outcomes. `event` None: the end of the stream."""

    event: Event | None
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class Trace:
    """The outcomes of the events of a key, or of a match.

    `left_out`: number of events of the key before the first row. `matches`: number among the rows, or 1 for one match.
    `live`: partial matches at the end, by what they wait for. `refused`: by condition, how often it refused an event
    of the rows to a run. `attributes`: those of events that matter. `choice`: the clause that reports some of the
    matches only, or "". `watermark`: before the end of the stream. `threshold`: the confidence asked for, if time is
    imprecise.
    """

    query: str
    key: Mapping[str, Any]
    rows: tuple[Row, ...]
    left_out: int
    matches: int
    live: Mapping[str, int]
    refused: Mapping[str, int]
    attributes: tuple[str, ...]
    window: str
    choice: str = ""
    watermark: int | None = None
    threshold: float | None = None


def trace_of_key(
    plan: MatchPlan,
    key: Mapping[str, Any],
    steps: Iterable[GivenEvent],
    *,
    shown: int,
    left_out: int = 0,
    likely: bool = False,
) -> Trace:
    """The trace of the last `shown` events of a key. `steps` begin early enough to hold every run of these events.

    `likely`: time is imprecise, or the query has CONFIDENCE.
    """
    interpreter = LikelyInterpreter(plan) if likely else Interpreter(plan)
    rows: list[tuple[Event | None, list[Decision]]] = []
    found: list[int] = []
    own: list[int] = []
    for step in steps:
        decisions = interpreter.step(step.event, ours=step.ours, opens=step.opens)
        if step.ours:
            own.append(len(rows))
        if step.ours or any(one.what in _AT_OTHERS for one in decisions):
            rows.append((step.event, decisions))
            found.append(sum(one.what is What.MATCHES for one in decisions))
    live = interpreter.live()
    closing = interpreter.finish()
    if closing:
        rows.append((None, closing))
        found.append(sum(one.what is What.MATCHES for one in closing))
    skipped = max(len(own) - shown, 0)
    first = own[skipped] if skipped else 0
    trace = _trace(plan, key, rows[first:], left_out + skipped, sum(found[first:]), live)
    return replace(trace, threshold=plan.confidence or 0.0) if likely else trace


def trace_of_match(
    plan: MatchPlan, key: Mapping[str, Any], steps: Iterable[GivenEvent], match: Sequence[Sequence[Event]]
) -> Trace | None:
    """The trace of the run that found a match, event by event. None: it was not found.

    `match`: the events of each component; each has at least the fields that identify it.
    """
    interpreter = Interpreter(plan)
    rows: list[tuple[Event | None, list[Decision]]] = [
        (step.event, interpreter.step(step.event, ours=step.ours, opens=step.opens)) for step in steps
    ]
    rows.append((None, interpreter.finish()))
    for found in interpreter.matches:
        if all(_are(of(found.bindings, part), events) for part, events in enumerate(match)):
            way = list(_way(interpreter, found, rows))
            return _trace(plan, key, way, 0, 1, {})
    return None


def trace_of_likely_match(
    plan: MatchPlan, key: Mapping[str, Any], match: Sequence[Sequence[Event]], window: tuple[int, int] | None
) -> Trace | None:
    """The trace of a match over imprecise time, in the order of the pattern, with the confidence up to each event."""
    way = way_to(plan, match, window)
    if way is None:
        return None
    events = [event for part in match for event in part]
    rows = [(event, [one]) for event, one in zip(events, way, strict=False)]
    rows[-1][1].append(way[-1])
    return replace(_trace(plan, key, rows, 0, 1, {}), threshold=plan.confidence or 0.0)


def _are(bound: Sequence[Bound], events: Sequence[Event]) -> bool:
    """True if the bound events are these events."""
    return len(bound) == len(events) and all(is_event(one.event, e) for one, e in zip(bound, events, strict=True))


def is_event(event: Event, meant: Event) -> bool:
    """True if `event` has all fields of `meant` with equal values."""
    return all(event.get(name) == value for name, value in meant.items())


def _way(
    interpreter: Interpreter, found: Found, rows: Sequence[tuple[Event | None, list[Decision]]]
) -> Iterator[tuple[Event | None, list[Decision]]]:
    """The decisions of the runs that led to a match, one after the other."""
    chain = [found.run]
    while interpreter.parents[chain[0]]:
        chain.insert(0, interpreter.parents[chain[0]])
    current, ahead = 0, list(chain)
    for event, decisions in rows:
        own = []
        for one in decisions:
            forward = bool(ahead) and one.run == current and ahead[0] in one.made
            if forward:
                current = ahead.pop(0)
            waits = one.run == current != 0 and one.what in (What.STAYS, What.FORBIDDEN)
            if forward or waits or (one.what is What.MATCHES and one.run == found.run):
                own.append(one)
        if own:
            yield event, own
        if any(one.what is What.MATCHES for one in own):
            return


def _trace(
    plan: MatchPlan,
    key: Mapping[str, Any],
    rows: Sequence[tuple[Event | None, list[Decision]]],
    left_out: int,
    matches: int,
    live: Mapping[str, int],
) -> Trace:
    """The trace of these rows, with the refusals counted by condition. The other arguments: see `Trace`."""
    refused = Counter(refusal.text for _, decisions in rows for one in decisions for refusal in one.refusals)
    outcomes = tuple(Row(event, tuple(_alike(plan, decisions))) for event, decisions in rows)
    events = [event for event, _ in rows if event is not None]
    return Trace(
        query=plan.name,
        key=key,
        rows=outcomes,
        left_out=left_out,
        matches=matches,
        live=live,
        refused=dict(refused.most_common()),
        attributes=_attributes(plan, events),
        window=window_line(plan.window, trends=False),
        choice="CONSUME" if plan.consume else "" if plan.output is Output.ALL else f"OUTPUT {plan.output.value}",
    )


def _alike(plan: MatchPlan, decisions: Sequence[Decision]) -> Iterator[Outcome]:
    """The outcomes of one event: one for each group of equivalent decisions, with the values of its first one."""
    groups: dict[tuple[object, ...], list[Decision]] = {}
    for one in decisions:
        texts = tuple((refusal.component, refusal.text) for refusal in one.refusals)
        groups.setdefault((one.what, one.component, texts, one.offenders, one.waited, one.due), []).append(one)
    for (what, component, *_), group in groups.items():
        first: tuple[Refusal, ...] = group[0].refusals
        best = max(group, key=lambda one: one.chance or 0.0)
        assert isinstance(what, What)
        yield Outcome(
            what=what,
            component=plan.components[component].variable if isinstance(component, int) else None,
            runs=len(group),
            refusals=tuple((plan.components[one.component].variable, one.text, one.values) for one in first),
            offenders=group[0].offenders,
            waited=tuple(plan.components[number].variable for number in group[0].waited),
            due=group[0].due,
            chance=best.chance,
            bound=_seqs(plan, best.bound),
        )


def _seqs(plan: MatchPlan, bindings: Bindings) -> tuple[tuple[str, tuple[int, ...]], ...]:
    parts = ((part.variable, of(bindings, number)) for number, part in enumerate(plan.components))
    return tuple((name, tuple(int(bound.event["seq"]) for bound in bound_by)) for name, bound_by in parts if bound_by)


def _attributes(plan: MatchPlan, events: Sequence[Event]) -> tuple[str, ...]:
    """The attributes that conditions read, in the order of the events' attributes; else the first few."""
    checks = [*plan.checks, *(check for absence in plan.absences for check in absence.checks)]
    read = {leaf.name for check in checks for leaf in leaves(check.expr) if isinstance(leaf, Attribute | Aggregate)}
    read = {attribute for name in read for attribute in attributes_of_name(str(name))}
    read |= {rule.attribute for rule in plan.distinct}
    everything = dict.fromkeys(name for event in events for name in event if name not in OWN)
    own = [name for name in everything if name not in plan.key]
    return tuple([name for name in own if name in read] or own[:MOST_VALUES])
