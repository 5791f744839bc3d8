"""Telling the story of a key, or of a match, from the blocks of a stream: files and topics alike."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.events.schema import END_OF_TIME, Kind
from saffron.engine.events.tables import column_values
from saffron.engine.why.interpreter import reads_others
from saffron.engine.why.story import Step, Story, story_of_key, story_of_match
from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.errors import InputError
from saffron.language.errors import suggestion
from saffron.language.plan import MatchPlan

TOLD = 40
"""Events told of a key: its last ones."""
EVERYTHING = "*"
"""What is asked for where a query has no key."""
MOST_SEEN = 1000


def is_key(asked: str) -> bool:
    """Whether a key is asked for, rather than a result's id."""
    return "=" in asked or asked == EVERYTHING


def key_of(plan: MatchPlan, asked: str, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The values of "a=1,b=x", or of "*", read by their kinds. InputError: it is no key of the query."""
    pairs = [part.partition("=") for part in asked.split(",")] if asked != EVERYTHING else []
    given = {name.strip(): text.strip() for name, _, text in pairs}
    if set(given) != set(plan.key):
        wanted = ",".join(f"{name}=VALUE" for name in plan.key) or f"'{EVERYTHING}', it has no [attr]"
        raise InputError(f"the key of {plan.name} is asked for as {wanted}; got {asked!r}")
    return {name: _read(name, given[name], kinds) for name in plan.key}


def tell_key(plan: MatchPlan, key: Mapping[str, Any], blocks: Iterable[Block], told: int = TOLD) -> Story:
    """The story of a key's last events. InputError: no event has the key."""
    buffer: deque[Step] = deque()
    seen: dict[str, None] = {}
    watermark, ours, dropped = None, 0, 0
    for block in blocks:
        if NO_WATERMARK < block.watermark < END_OF_TIME:
            watermark = block.watermark
        for step in steps_of(plan, block, key, seen):
            buffer.append(step)
            ours += step.ours
        dropped += _forget(buffer, plan, told)
    if not ours:
        known = ", ".join(list(seen)[:8]) or "none"
        hint = suggestion(str(next(iter(key.values()), "")), seen) if len(key) == 1 else ""
        raise InputError(f"no event has {_told(key)}; there are {known}. {hint}".rstrip())
    return replace(story_of_key(plan, key, buffer, told=told, left_out=dropped), watermark=watermark)


def tell_match(plan: MatchPlan, result: Mapping[str, Any], blocks: Iterable[Block]) -> Story:
    """The way to a match. `result`: as the log has it. InputError: it is no match with events, or not among these."""
    asked = result["id"]
    if "events" not in result:
        raise InputError(f"result {asked} is not a match with events: only matches are explained")
    if result.get("timeout"):
        raise InputError(f"result {asked} is a partial match that timed out: ask for its key instead of its id")
    bound = [result["events"][component.variable] for component in plan.components[: plan.positive]]
    events = [part if isinstance(part, list) else [part] if part else [] for part in bound]
    clock = "seq" if plan.window.events else "ts"
    instants = [event[clock] for part in events for event in part]
    low, high = min(instants) - 2 * plan.window.size, max(instants) + plan.window.size
    steps = (step for block in blocks for step in steps_of(plan, block, result["key"], {}))
    near = [step for step in steps if low <= step.event[clock] <= high]
    known = {step.event["seq"] for step in near}
    if not all(event["seq"] in known for part in events for event in part):
        raise InputError(f"the events of match {asked} are not among those at hand: they lie further back")
    story = story_of_match(plan, result["key"], near, [[event["seq"] for event in part] for part in events])
    if story is None:
        raise InputError(f"the interpreter does not find match {asked}: please report this as a bug, with the query")
    return story


def steps_of(plan: MatchPlan, block: Block, key: Mapping[str, Any], seen: dict[str, None]) -> Iterator[Step]:
    """The events of a block that the key's story needs. `seen`: values of a key of one attribute, for a hint."""
    columns = block.columns
    if columns.latest is not None:
        raise InputError("the events have imprecise times; runs are explained over exact times only")
    others = reads_others(plan)
    opened = set(itertools.chain.from_iterable(block.opened.values()))
    values = {name: column_values(column) for name, column in columns.attributes.items()}
    own = {"seq": columns.seq.tolist(), "ts": columns.ts.tolist(), "type": column_values(columns.type)}
    keys = [own.get(name) or values.get(name) or [] for name in key]
    wanted = tuple(key.values())
    for row, found in enumerate(zip(*keys, strict=True) if keys else itertools.repeat((), len(columns))):
        ours, opens = found == wanted, own["seq"][row] in opened
        if len(wanted) == 1 and len(seen) < MOST_SEEN and found[0] is not None:
            seen.setdefault(str(found[0]))
        if ours or others or opens:
            attributes = {name: column[row] for name, column in values.items() if column[row] is not None}
            event = {name: column[row] for name, column in own.items()}
            yield Step({**event, **attributes}, ours, opens)


def _read(name: str, text: str, kinds: Mapping[str, Kind]) -> Any:
    kind = Kind.INT if name == "ts" else Kind.STRING if name == "type" else kinds[name]
    try:
        if kind is Kind.BOOL:
            return {"true": True, "false": False}[text.lower()]
        return text if kind is Kind.STRING else int(text) if kind is Kind.INT else float(text)
    except (ValueError, KeyError):
        raise InputError(f"{name}={text}: {name} is of kind {kind.value}") from None


def _forget(buffer: deque[Step], plan: MatchPlan, told: int) -> int:
    """Drop what can no longer matter for the last `told` events; how many of the key's own that were."""
    if len(buffer) <= told:
        return 0
    clock = "seq" if plan.window.events else "ts"
    horizon = buffer[-told - 1].event[clock] - 2 * plan.window.size
    dropped = 0
    while buffer[0].event[clock] < horizon:
        dropped += buffer.popleft().ours
    return dropped


def _told(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in key.items()) or "any key"
