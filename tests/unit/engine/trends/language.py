"""Random aggregate queries from their text to the engine's results, and these beside the definition's."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from saffron.engine.events.block import Block
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan.trend_plan import TrendPlan
from saffron.schema.numbers import shown as shown_number
from saffron.schema.schema import Kind, Schema
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


def case(seed: int, *, long: bool = False) -> Case | str:
    """The query with this number; if the binder refuses it, the reason in `refused`."""
    rng = random.Random(seed)
    text, events = generate.long_case(rng) if long else generate.case(rng)
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


def operator(made: Case, *, compiled: bool = False) -> TrendOperator:
    """An operator whose compiler knows the case's plan: texts are bound once."""
    return TrendOperator(partition=3, compiled=compiled, compiler=lambda *_: made.plan)


def run(made: Case, stream: Sequence[Block], *, compiled: bool = False, restart: int = -1) -> list[bytes]:
    """All results as JSON. `restart`: the block after which a new operator takes over from a snapshot."""
    running = operator(made, compiled=compiled)
    found = []
    for number, block in enumerate(stream):
        results = running.apply(block)
        assert running.statuses()["q"].state == "active", running.statuses()["q"].reason
        found += results.json(0, len(results))
        if number == restart:
            state, before = running.snapshot(), running
            kept = {name: array.tobytes() for name, array in state.items()}
            running = operator(made, compiled=compiled)
            running.restore(state)
            for later in stream[number + 1 :]:
                before.apply(later)
            assert {name: array.tobytes() for name, array in state.items()} == kept  # it is written while trends go on
    return found


class Line(NamedTuple):
    """A result: its window, its group, its values by name (scaled ones as decimals), whether they are exact."""

    low: int
    high: int
    group: dict[str, Any]
    values: dict[str, Any]
    exact: bool


def found_lines(lines: Sequence[bytes]) -> list[Line]:
    """Results, which have different ids."""
    shown = [json.loads(line) for line in lines]
    assert len({line["id"] for line in shown}) == len(shown)
    return [Line(one["window"][0], one["window"][1], one["group"], one["return"], one["exact"]) for one in shown]


def same(found: Sequence[Line], expected: Sequence[Answer]) -> bool:
    """Whether windows come in order, with the same groups in each, and the same values, all of them exact."""
    wanted = [Line(answer.low, answer.high, answer.group, answer.returned, True) for answer in expected]
    if [line[:2] for line in found] != [line[:2] for line in wanted]:
        return False
    both = zip(sorted(found, key=_order), sorted(wanted, key=_order), strict=True)
    return all(one[:3] == other[:3] and one.exact and _equal(one.values, other.values) for one, other in both)


def _order(line: Line) -> tuple[Any, ...]:
    numbers = [(value is not None, round(float(value or 0), 6)) for _, value in sorted(line.values.items())]
    return line.high, line.low, repr(sorted(line.group.items())), numbers


def _equal(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    if list(found) != list(wanted):
        return False
    return all(_same_number(found[name], value) for name, value in wanted.items())


def _same_number(found: Any, wanted: int | Fraction | None) -> bool:
    """Counts are integers; what is computed in floats is near."""
    if wanted is None or isinstance(wanted, int):
        return found == wanted and type(found) is type(wanted)
    return type(found) in (int, float) and abs(float(found) - float(wanted)) <= 1e-9 * max(1.0, abs(float(wanted)))


def near(found: Sequence[Line], expected: Sequence[Answer], sizes: Sequence[Answer]) -> bool:
    """Whether results of any size are the expected ones: exact ones to the last digit, scaled ones to within 1e-9.

    `sizes`: with absolute values in place of values, what the error of SUM and AVG is measured by.
    """
    groups = [{name: shown_number(value) for name, value in answer.group.items()} for answer in expected]
    wanted = [(answer.low, answer.high, group) for answer, group in zip(expected, groups, strict=True)]
    if sorted(map(repr, wanted)) != sorted(repr(line[:3]) for line in found):
        return False
    for line in found:
        place = wanted.index(line[:3])
        for name, value in expected[place].returned.items():
            shown = line.values[name]
            if value is None or (line.exact and isinstance(value, int)):
                close = shown == value
            else:
                off = abs(Fraction(shown) - value)
                close = off <= Fraction(1, 10**9) * max(abs(value), sizes[place].returned[name])
            large = expected[place].returned["COUNT(*)"] >= 2**53
            if not close or not (line.exact or large):
                return False
    return True
