"""Traces of a key, or of a match, computed from the blocks of a stream. The blocks come from files or from topics."""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.events.column_operations import column_values
from saffron.engine.match.planning.imprecise import is_uncertain
from saffron.engine.why.absences import lead
from saffron.engine.why.bindings import SPAN, Event, Span
from saffron.engine.why.interpreter import reads_others
from saffron.engine.why.kept_steps import KeptSteps, instants
from saffron.engine.why.makers import Makers
from saffron.engine.why.trace import GivenEvent, Trace, is_event, trace_of_key, trace_of_likely_match, trace_of_match
from saffron.engine.why.values import read
from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.errors import InputError
from saffron.language.plan.formulas import attribute_shown
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.language.syntax.hints import suggestion
from saffron.schema.computed import Computed
from saffron.schema.numbers import number_of_text
from saffron.schema.schema import END_OF_TIME, Kind, Schema

NEWEST_EVENTS = 40
"""The number of a key's newest events that a trace shows."""
EVERYTHING = "*"
"""The target for a query without a key."""
MOST_SEEN = 1000
"""The number of distinct key values kept for the hint of an error."""


def is_key(asked: str) -> bool:
    """True if the target is a key, rather than a result's id. InputError: it is empty."""
    if not asked.strip():
        raise InputError("nothing is asked for: give a key (symbol=IBM), or an id as results have it")
    return "=" in asked or asked == EVERYTHING


def matches_only(plan: Plan) -> MatchPlan:
    """The plan, if it is a match plan. InputError: it binds no events, so it has no trace."""
    if isinstance(plan, MatchPlan):
        return plan
    raise InputError(f"{plan.name} counts trends and binds no events: only match queries are explained")


@dataclass(frozen=True)
class TraceInput:
    """A query and the blocks to trace it over.

    `schema`: the one that the plan was bound to. `makers`: the queries whose results this one reads (INTO).
    """

    plan: MatchPlan
    schema: Schema
    blocks: Iterable[Block]
    makers: Makers | None = None

    @property
    def likely(self) -> bool:
        """True if a match has a confidence."""
        return is_uncertain(self.plan, self.schema)


def key_of(plan: MatchPlan, asked: str, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The values of "a=1,b=x" by attribute, read by their kinds; {} for "*". InputError: it is no key of the query.

    A comma ends a value only where another attribute of the key follows.
    """
    names = {attribute_shown(name): name for name in plan.key}
    given = dict(_pairs(asked, names)) if asked != EVERYTHING else {}
    if set(given) != set(names):
        wanted = ",".join(f"{name}=VALUE" for name in names) or f"'{EVERYTHING}', it has no [attr]"
        raise InputError(f"the key of {plan.name} is asked for as {wanted}; got {asked!r}")
    kinds = {**kinds, **{name: one.kind for name in plan.key if (one := Computed.of_name(name)) is not None}}
    return {shown: _read(shown, given[shown], kinds.get(name)) for shown, name in names.items()}


def _pairs(asked: str, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """The names and the values' texts, as they stand, of "a=1,b=x"; of "a = 1" without the space behind the sign."""
    known = "|".join(map(re.escape, names))
    ends = rf",\s*(?=(?:{known})\s*=)" if len(names) > 1 else r"(?!)"
    for part in re.split(ends, asked):
        name, _, text = part.partition("=")
        yield name.strip(), text.removeprefix(" ") if name.endswith(" ") else text


def trace_key_in(of: TraceInput, key: Mapping[str, Any], shown: int = NEWEST_EVENTS) -> Trace:
    """The trace of a key's newest `shown` events. InputError: no event has the key."""
    kept = KeptSteps(of.plan, shown)
    seen: dict[str, None] = {}
    watermark = None
    for block in of.blocks:
        if NO_WATERMARK < block.watermark < END_OF_TIME:
            watermark = block.watermark
        kept.add(steps_of(of, block, key, seen))
    if not kept.ours:
        known = f"; there are {', '.join(list(seen)[:8])}" if seen else ""
        hint = suggestion(str(next(iter(key.values()), "")), seen) if len(key) == 1 else ""
        raise InputError(f"no event has {_key_text(key)}{known}. {hint}".rstrip())
    trace = trace_of_key(of.plan, key, kept.steps, shown=shown, left_out=kept.left_out, likely=of.likely)
    return replace(trace, watermark=watermark)


def trace_match_in(of: TraceInput, result: Mapping[str, Any]) -> Trace:
    """The trace of one match. `result`: its JSON object as the log has it.

    InputError: it is no match with events, or its events are not in the blocks.
    """
    asked, plan = result["id"], of.plan
    if "events" not in result or "key" not in result:
        raise InputError(f"result {asked} is not a match with events: only matches are explained")
    if result.get("timeout"):
        raise InputError(f"result {asked} is a partial match that timed out: ask for its key instead of its id")
    key = result["key"]
    bound = [result["events"][component.variable] for component in plan.components[: plan.positive]]
    events = [part if isinstance(part, list) else [part] if part else [] for part in bound]
    asked_for = [event for part in events for event in part]
    seqs = {event["seq"] for event in asked_for}
    low, high = _reach(plan, events)
    steps = (step for block in of.blocks for step in steps_of(of, block, key, {}))
    near = [step for step in steps if low <= instants(plan, step.event)[0] <= high or step.event["seq"] in seqs]
    known = {step.event["seq"]: step.event for step in near}
    if not (seqs <= known.keys() if of.likely else all(any(is_event(one.event, e) for one in near) for e in asked_for)):
        raise InputError(f"the events of match {asked} are not among those at hand: they lie further back")
    if of.likely:
        window = None if result["window"] is None else (result["window"][0], result["window"][1])
        trace = trace_of_likely_match(plan, key, [[known[event["seq"]] for event in part] for part in events], window)
    else:
        trace = trace_of_match(plan, key, near, events)
    if trace is None:
        raise InputError(f"the interpreter does not find match {asked}: please report this as a bug, with the query")
    return trace


def _reach(plan: MatchPlan, events: Sequence[Sequence[Mapping[str, Any]]]) -> tuple[int, int]:
    """The first and the last time or position of events that can decide a match of these events."""
    times = [instants(plan, event) for part in events for event in part]
    first = min(lo for lo, _ in times) - 2 * plan.window.size - lead(plan)
    return first, max(hi for _, hi in times) + plan.window.size


def steps_of(of: TraceInput, block: Block, key: Mapping[str, Any], seen: dict[str, None]) -> Iterator[GivenEvent]:
    """The events of a block that the key's trace needs, results of other queries among them.

    `seen`: values of a key of one attribute, for a hint.
    """
    others, wanted = reads_others(of.plan), {name: key[attribute_shown(name)] for name in of.plan.key}
    opened = set(itertools.chain.from_iterable(block.opened.values()))
    waiting = deque(() if of.makers is None else of.makers.of(block))
    for event in _events(of, block):
        while waiting and (waiting[0]["ts"], waiting[0]["seq"]) < (event["ts"], event["seq"]):
            yield from _step(waiting.popleft(), wanted, seen)
        opens = event["seq"] in opened
        yield from _step(event, wanted, seen, needed=others or opens, opens=opens)
    for event in waiting:
        yield from _step(event, wanted, seen)


def _step(
    event: Event,
    wanted: Mapping[str, Any],
    seen: dict[str, None],
    *,
    needed: bool = False,
    opens: bool = False,
) -> Iterator[GivenEvent]:
    """The step of an event, if it has the key or is `needed`; its key value goes into `seen`."""
    found = [read(event, name) for name in wanted]
    ours = found == list(wanted.values())
    if len(wanted) == 1 and len(seen) < MOST_SEEN and found[0] is not None:
        seen.setdefault(str(found[0]))
    if ours or needed:
        yield GivenEvent(event, ours, opens)


def _events(of: TraceInput, block: Block) -> Iterator[Event]:
    """The events of a block as dicts, without null attributes."""
    columns = block.columns
    values = {name: column_values(column) for name, column in columns.attributes.items()}
    own = {"seq": columns.seq.tolist(), "ts": columns.ts.tolist(), "type": column_values(columns.type)}
    latest = own["ts"] if columns.latest is None else columns.latest.tolist()
    for row, (seq, ts, kind) in enumerate(zip(*own.values(), strict=True)):
        attributes = {name: column[row] for name, column in values.items() if column[row] is not None}
        event = {"seq": seq, "ts": ts, "type": kind, **attributes}
        if of.likely:
            event[SPAN] = Span(ts, latest[row], of.schema.distribution(kind) or "uniform")
        yield event


def _read(name: str, text: str, kind: Kind | None) -> Any:
    """The value of a key attribute, read from text by its kind. InputError: the text is not of that kind."""
    kind = kind or (Kind.STRING if name == "type" else Kind.INT)
    try:
        if kind is Kind.BOOL:
            return {"true": True, "false": False}[text.strip().lower()]
        if kind is Kind.STRING:
            return text
        if (number := number_of_text(text.strip())) is not None:
            return number
        raise ValueError(text)
    except (ValueError, KeyError):
        raise InputError(f"{name}={text}: {name} is of kind {kind.value}") from None


def _key_text(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in key.items()) or "any key"
