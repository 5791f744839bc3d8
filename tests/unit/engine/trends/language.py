"""Random aggregate queries from their text to the engine's results, and these beside the definition's."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import orjson

from saffron.engine.events.block import Block
from saffron.engine.events.schema import Kind, Schema
from saffron.engine.trends.operator import TrendOperator
from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan import TrendPlan
from tests.reference.match.events import events_of
from tests.reference.trends import generate
from tests.reference.trends.asked import Asked, ask
from tests.reference.trends.results import Answer
from tests.reference.trends.windows import windows
from tests.unit.engine.trends.build import block_of, query_control, schema_control
from tests.unit.engine.trends.refused import reason

KINDS = {"x": Kind.INT, "f": Kind.FLOAT, "s": Kind.STRING, "t": Kind.BOOL, "k": Kind.INT, "g": Kind.STRING}
SCHEMA = Schema(KINDS, {name: tuple(KINDS) for name in generate.TYPES}, {})
CONTROLS = (schema_control(schema=SCHEMA),)


@dataclass(frozen=True)
class Case:
    """A query that the binder accepts. `rng`: more chance, for cuts."""

    seed: int
    text: str
    asked: Asked
    plan: TrendPlan
    events: list[dict[str, Any]]
    rng: random.Random

    def __str__(self) -> str:
        return f"seed {self.seed}\n{self.text}\n{self.events}"


def case(seed: int) -> Case | str:
    """The query with this number; if the binder refuses it, the reason in `refused`."""
    rng = random.Random(seed)
    text, events = generate.case(rng)
    try:
        plan = compile_query(text, SCHEMA, name="q")
    except QueryError as error:
        return reason(error, text)
    assert isinstance(plan, TrendPlan)
    return Case(seed, text, ask(text), plan, events, rng)


def blocks(made: Case, cuts: Sequence[int] = (), *, text: str | None = None) -> list[Block]:
    """The stream, cut before the events with these indices; watermarks are as high as may be, or lower.

    `text`: of another query than the case's own, to be asked in its place.
    """
    events = made.events
    stop = events[-1]["seq"] + 1
    starts = sorted({0, *(events[index]["seq"] for index in cuts)})
    opened = sorted({w.opener.seq for w in windows(made.asked.query.within, events_of(events)) if w.opener is not None})
    result = []
    watermark = -100
    for start, end in zip(starts, [*starts[1:], stop], strict=True):
        coming = [event["ts"] for event in events if event["seq"] >= end]
        watermark = made.rng.randint(watermark, max(coming[0], watermark)) if coming else 2**62
        result.append(
            block_of(
                events,
                start,
                end,
                watermark=watermark,
                end=not coming,
                controls=(*CONTROLS, query_control("q", text=text or made.text)) if start == 0 else (),
                opened={"q": tuple(seq for seq in opened if start <= seq < end)},
                kinds=KINDS,
            )
        )
    return result


def run(stream: Sequence[Block], *, compiled: bool = False, restart: int = -1) -> list[bytes]:
    """All results as JSON. `restart`: the block after which a new operator takes over from a snapshot."""
    running = TrendOperator(partition=3, compiled=compiled)
    found = []
    for number, block in enumerate(stream):
        results = running.apply(block)
        assert running.statuses()["q"].state == "active", running.statuses()["q"].reason
        found += results.json(0, len(results))
        if number == restart:
            state = {name: array.copy() for name, array in running.snapshot().items()}
            running = TrendOperator(partition=3, compiled=compiled)
            running.restore(state)
    return found


Line = tuple[int, int, dict[str, Any], dict[str, Any]]


def found_lines(lines: Sequence[bytes]) -> list[Line]:
    """(low, high, group, values) of results, all of which must be exact, with different ids."""
    shown = [orjson.loads(line) for line in lines]
    assert all(line["exact"] for line in shown)
    assert len({line["id"] for line in shown}) == len(shown)
    return [(*line["window"], line["group"], line["return"]) for line in shown]


def same(found: Sequence[Line], expected: Sequence[Answer]) -> bool:
    """Whether windows come in order, with the same groups in each, and the same values."""
    wanted = [(answer.low, answer.high, answer.group, answer.returned) for answer in expected]
    if [line[:2] for line in found] != [line[:2] for line in wanted]:
        return False
    pairs = zip(sorted(found, key=_order), sorted(wanted, key=_order), strict=True)
    return all(one[:3] == other[:3] and _equal(one[3], other[3]) for one, other in pairs)


def _order(line: Line) -> tuple[Any, ...]:
    low, high, group, values = line
    numbers = [(value is not None, round(float(value or 0), 6)) for _, value in sorted(values.items())]
    return high, low, repr(sorted(group.items())), numbers


def _equal(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    if list(found) != list(wanted):
        return False
    return all(_same_number(found[name], value) for name, value in wanted.items())


def _same_number(found: Any, wanted: int | Fraction | None) -> bool:
    """Counts are integers; what is computed in floats is near."""
    if wanted is None or isinstance(wanted, int):
        return found == wanted and type(found) is type(wanted)
    return type(found) in (int, float) and abs(float(found) - float(wanted)) <= 1e-9 * max(1.0, abs(float(wanted)))
