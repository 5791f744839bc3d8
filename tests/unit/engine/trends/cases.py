"""Random trend queries as text and as a `Question` of the reference, with streams to ask them of."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from saffron.engine.events.block import Block, Control
from saffron.engine.trends.operator import TrendOperator
from tests.reference.trends import Event, Leaf, Pattern, Plus, Question, Seq, opening, sliding
from tests.unit.engine.trends.build import block_of, leaves, query_control, schema_control, template, text_of

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True)
class Case:
    text: str
    question: Question
    opens: Callable[[Event], bool] | None
    events: list[dict[str, Any]]


def random_case(random: random.Random) -> Case:
    pattern = numbered(random_pattern(random, 3), [0])
    while len(leaves(pattern)) > 5:
        pattern = numbered(random_pattern(random, 3), [0])
    conditions: list[str] = []
    local = {}
    for leaf in leaves(pattern):
        if random.random() < 0.1:
            local[leaf.number] = local_condition(random, leaf, conditions)
    edge = {}
    for source, target in sorted(template(pattern)[2]):
        if random.random() < 0.3:
            edge[source, target] = edge_condition(random, source, target, conditions)
    key = random.choice(((), (), (), ("k",), ("g",), ("k", "g")))
    group = random.choice(((), (), (), ("g",), ("k",), ("g", "h"), ("f",)))
    if key:
        conditions.insert(random.randrange(len(conditions) + 1), f"[{', '.join(key)}]")
    window, windows, opens = random_window(random)
    strict = random.random() < 0.4
    text = " ".join(
        (
            "RETURN COUNT(*)",
            f"PATTERN {text_of(pattern)}",
            *([f"WHERE {' AND '.join(conditions)}"] if conditions else []),
            *([f"GROUP BY {', '.join(group)}"] if group else []),
            window,
            *(["TIME STRICT"] if strict else random.choice(([], ["TIME ORDERED"]))),
        )
    )
    whole = tuple(dict.fromkeys((*key, *group)))
    question = Question(pattern, whole, group, windows, strict, local, edge)
    return Case(text, question, opens, random_events(random, random_types(random, pattern)))


def random_pattern(random: random.Random, depth: int) -> Pattern:
    if depth == 0 or random.random() < 0.25:
        return Leaf(0, random.choice("AAB" if depth < 2 else "ABC"))
    if random.random() < 0.5:
        return Plus(random_pattern(random, depth - 1))
    return Seq(tuple(random_pattern(random, depth - 1) for _ in range(random.choice((2, 2, 3)))))


def numbered(pattern: Pattern, count: list[int]) -> Pattern:
    if isinstance(pattern, Leaf):
        count[0] += 1
        return Leaf(count[0] - 1, pattern.type)
    if isinstance(pattern, Plus):
        return Plus(numbered(pattern.body, count))
    return Seq(tuple(numbered(part, count) for part in pattern.parts))


def compared(sign: str, left: Any, right: Any) -> bool:
    """A comparison with null is false."""
    return left is not None and right is not None and OPERATORS[sign](left, right)


def local_condition(random: random.Random, leaf: Leaf, conditions: list[str]) -> Callable[[Event], bool]:
    sign = random.choice(list(OPERATORS))
    name, limit = random.choice((("x", 2), ("n", 1), ("k", "'q'"), ("ts", 3)))
    conditions.append(f"v{leaf.number}.{name} {sign} {limit}")
    value = limit.strip("'") if isinstance(limit, str) else limit
    return lambda event: compared(sign, event.get(name), value)


def edge_condition(
    random: random.Random, source: int, target: int, conditions: list[str]
) -> Callable[[Event, Event], bool]:
    sign = random.choice(list(OPERATORS))
    name = random.choice(("x", "x", "n", "k", "f"))
    if name == "f":
        sign = random.choice(("=", "!="))
    shift = random.choice((0, 0, 1)) if name in "xn" else 0
    plus = f" + {shift}" if shift else ""
    conditions.append(f"v{source}.{name}{plus} {sign} NEXT(v{target}).{name}")

    def holds(before: Event, after: Event) -> bool:
        left = before.get(name)
        return compared(sign, left + shift if shift and left is not None else left, after.get(name))

    return holds


def random_window(
    random: random.Random,
) -> tuple[str, Callable[[Sequence[Event]], Any], Callable[[Event], bool] | None]:
    size = random.choice((random.randrange(1, 8), random.randrange(8, 40), random.randrange(8, 40)))
    in_events = random.random() < 0.4
    unit = "EVENTS" if in_events else "ms"
    shape = random.random()
    if shape < 0.25:
        return f"WITHIN {size} {unit}", sliding(size, size, in_events), None
    if shape < 0.75:
        slide = random.randrange(1, 13)
        return f"WITHIN {size} {unit} SLIDE {slide} {unit}", sliding(size, slide, in_events), None
    if random.random() < 0.5:
        text = f"WITHIN {size} {unit} OPEN ON B"
        return text, opening(size, in_events, lambda e: e["type"] == "B"), lambda e: e["type"] == "B"

    def opens(event: Event) -> bool:
        return bool(event["type"] == "A" and compared(">", event.get("x"), 1))

    return f"WITHIN {size} {unit} OPEN ON A o WHERE o.x > 1", opening(size, in_events, opens), opens


def random_types(random: random.Random, pattern: Pattern) -> list[str]:
    """Types of a stream's events: a walk through the template, mostly."""
    states = leaves(pattern)
    first, _, transitions = template(pattern)
    at, types = first, [states[first].type] * random.randrange(2)
    for _ in range(random.randrange(2, 11)):
        if random.random() < 0.25:
            types.append(random.choice("ABCD"))
            continue
        at = random.choice([target for source, target in sorted(transitions) if source == at] or [first])
        types.append(states[at].type)
    return types


def random_events(random: random.Random, types: Sequence[str]) -> list[dict[str, Any]]:
    """Few enough for the reference: ties, gaps in seq (events dropped whole), nulls, types that no query names."""
    events = []
    ts, seq = random.randrange(-8, 8), 0
    gap = random.choice((2, 2, 4))
    common = random.choice((0.5, 0.8, 0.95))
    for kind in types:
        ts += random.randrange(gap)
        event: dict[str, Any] = {
            "seq": seq,
            "ts": ts,
            "type": kind,
            "time": random.randrange(100),
        }
        values: dict[str, Sequence[Any]] = {
            "k": ("p", "q", "r", None),
            "g": (1, 2),
            "x": (random.choice((0.5, 1.0, 2.0, 3.0)), 1.0, 2.0, None),
            "n": (0, 1, 2, None),
            "f": (True, False, None),
            "h": (0.0, -0.0, 1.5),
        }
        for name, choices in values.items():
            value = choices[0] if random.random() < common else random.choice(choices)
            if value is not None:
                event[name] = value
        events.append(event)
        seq += 1 if random.random() < 0.9 else 2
    return events


def cut(
    case: Case, name: str, bounds: Sequence[int], random: random.Random, controls: Sequence[Control]
) -> list[Block]:
    """The stream in blocks that begin at `bounds`; watermarks are as high as the next event allows, or lower."""
    events = case.events
    stop = (events[-1]["seq"] + 1) if events else 0
    starts = sorted({0, *(bound for bound in bounds if bound < stop)})
    blocks = []
    watermark = -100
    for start, end in zip(starts, [*starts[1:], stop], strict=True):
        coming = [event["ts"] for event in events if event["seq"] >= end]
        watermark = random.randint(watermark, max(coming[0], watermark)) if coming else 2**62
        opened = [e["seq"] for e in events if start <= e["seq"] < end and case.opens is not None and case.opens(e)]
        blocks.append(
            block_of(
                events,
                start,
                end,
                watermark=watermark,
                end=not coming,
                controls=tuple(c for c in controls if c.position == start),
                opened={name: tuple(opened)} if opened else {},
            )
        )
    return blocks


def whole(case: Case, name: str, random: random.Random) -> list[Block]:
    return cut(case, name, (), random, (schema_control(), query_control(name, text=case.text)))


def run(blocks: Sequence[Block], *, compiled: bool, restarts: bool = False) -> list[bytes]:
    """All results as JSON; `restarts`: through a snapshot and a new operator between any two blocks."""
    running = TrendOperator(partition=3, compiled=compiled)
    found = []
    for block in blocks:
        results = running.apply(block)
        found += results.json(0, len(results))
        if restarts:
            state = running.snapshot()
            running = TrendOperator(partition=3, compiled=compiled)
            running.restore(state)
    return found
