"""Queries that share a graph have, to the byte, what each would have alone, whenever they come and go."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.operators.standing import compile_text
from saffron.engine.trends.queries.shared import MOST_MEASURES
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan.plan import Plan
from saffron.schema.schema import Schema
from tests.reference.match.events import events_of
from tests.reference.trends.windows import windows
from tests.unit.engine.trends.build import block_of, query_control, schema_control
from tests.unit.engine.trends.language import CONTROLS, KINDS, SCHEMA, Case, case

NAMES = "abcdef"
SEEDS, CHUNK = 80, 40
_WINDOW = re.compile(r"WITHIN (\d+) (ms|EVENTS)(?: SLIDE (\d+) (?:ms|EVENTS))?")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`first`: the seeds from there on, CHUNK of them."""
    if "first" in metafunc.fixturenames:
        seeds = 10 * SEEDS if metafunc.config.getoption("nightly") else SEEDS
        metafunc.parametrize("first", range(90_000, 90_000 + seeds, CHUNK))


@cache
def _plan(text: str, name: str) -> Plan:
    return compile_text(text, SCHEMA, name)


def plan_of(text: str, _: Schema | None, name: str) -> Plan:
    """Texts are bound once."""
    return _plan(text, name)


# ---------------------------------------------------------------- random sets of queries that come and go


def relative(made: Case, rng: random.Random) -> str:
    """A query of the same pattern and conditions with another RETURN, now and then with other windows."""
    names = [leaf.variable for leaf in made.asked.sides[0].pattern.leaves[: made.asked.sides[0].pattern.positive]]
    values = [f"{rng.choice(('SUM', 'MIN', 'MAX', 'AVG', 'COUNT'))}({name}.{rng.choice('xf')})" for name in names]
    items = ["COUNT(*)", *values, *(f"COUNT({name})" for name in names)]
    if len(made.asked.sides) > 1:
        items = ["COUNT(*)", "2 * COUNT(*) AS twice"]
    chosen = ", ".join(rng.sample(items, rng.randrange(1, len(items) + 1)))
    group = "".join(f"{name}, " for name in made.asked.group)
    text = re.sub(r"RETURN .*? PATTERN", f"RETURN {group}{chosen} PATTERN", made.text)
    text = re.sub(r" HAVING .*? WITHIN", f"{rng.choice(('', ' HAVING COUNT(*) > 2'))} WITHIN", text)
    found = _WINDOW.search(text)
    if found is not None and "OPEN ON" not in text and rng.random() < 0.4:
        size, unit = int(found[1]), found[2]
        slide = rng.choice((1, 2, 3)) * int(found[3] or size)
        text = text.replace(found[0], f"WITHIN {size} {unit} SLIDE {slide} {unit}")
    try:
        compile_query(text, SCHEMA, name="q")
    except QueryError:
        return made.text
    return text


def changes(made: Case, rng: random.Random, texts: Sequence[str]) -> list[Control]:
    """Controls at random positions; half of the queries come at the beginning."""
    last = made.events[-1]["seq"] + 1
    found = []
    for slot, name in enumerate(NAMES):
        since = 0 if rng.random() < 0.5 else rng.randrange(last + 1)
        found.append(query_control(name, since, text=rng.choice(texts), slot=slot))
        for _ in range(rng.choice((0, 0, 1, 2))):
            op = rng.choice(("remove", "pause", "resume", "add"))
            found.append(query_control(name, rng.randrange(since, last + 1), op=op, text=rng.choice(texts), slot=slot))
    return sorted(found, key=lambda control: control.position)


def opened_by(made: Case, controls: Sequence[Control]) -> dict[str, list[int]]:
    """OPEN ON: the events that open a window of each query, from its last coming on."""
    all_windows = windows(made.asked.query.within, events_of(made.events))
    openers = sorted({window.opener.seq for window in all_windows if window.opener is not None})
    since = {name: [c.position for c in controls if c.body["name"] == name and c.body["op"] == "add"] for name in NAMES}
    return {name: [seq for seq in openers if seq >= min(since[name])] for name in NAMES}


def stream(made: Case, rng: random.Random, controls: Sequence[Control]) -> list[Block]:
    """The events with the controls, cut anywhere; sometimes with events dropped for some of the queries."""
    last = made.events[-1]["seq"] + 1
    starts = sorted({0, *(rng.randrange(last) for _ in range(rng.randrange(4)))})
    opened = opened_by(made, controls)
    sheds = rng.random() < 0.2
    found = []
    for start, stop in zip(starts, [*starts[1:], last], strict=True):
        coming = [event["ts"] for event in made.events if event["seq"] >= stop]
        mine = [c for c in controls if start <= c.position < stop or (c.position == stop == last)]
        block = block_of(
            made.events, start, stop, watermark=coming[0] if coming else 2**62, end=not coming,
            controls=(*(CONTROLS if start == 0 else ()), *mine),
            opened={name: tuple(s for s in seqs if start <= s < stop) for name, seqs in opened.items()}, kinds=KINDS,
        )  # fmt: skip
        if sheds and rng.random() < 0.5:
            masks = np.array([rng.choice((0, 0, 0, 3, 1 << rng.randrange(6))) for _ in block.columns.seq], np.uint64)
            block = replace(block, columns=replace(block.columns, dropped=masks))
        found.append(block)
    return found


def run(parts: Sequence[Block], *, shares: bool, restart: int = -1) -> tuple[list[bytes], int]:
    """All results, and by how many queries a graph was shared at most."""
    running = TrendOperator(partition=3, compiled=False, shares=shares, compiler=plan_of)
    found: list[bytes] = []
    most = 0
    for number, block in enumerate(parts):
        results = running.apply(block)
        found += results.json(0, len(results))
        assert not any(status.state == "rejected" for status in running.statuses().values())
        numbers = running.statistics()
        most = max(most, len(numbers["keys"]) - numbers["graphs"])
        if number == restart:
            state = {name: array.copy() for name, array in running.snapshot().items()}
            running = TrendOperator(partition=3, compiled=False, shares=shares, compiler=plan_of)
            running.restore(state)
            assert {n: a.tobytes() for n, a in running.snapshot().items()} == {n: a.tobytes() for n, a in state.items()}
    return found, most


def test_sharing_changes_no_byte(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + CHUNK):
        made, rng = case(seed, long=seed % 8 == 0), random.Random(seed)
        if isinstance(made, str):
            continue
        texts = [made.text, *(relative(made, rng) for _ in range(3))]
        parts = stream(made, rng, changes(made, rng, texts))
        alone, none = run(parts, shares=False)
        together, most = run(parts, shares=True, restart=rng.randrange(len(parts)))
        assert together == alone, (seed, texts)
        assert none == 0
        seen.update(shared=most > 1, results=len(alone) > 0)
    assert min(seen["shared"], seen["results"]) > CHUNK // 5, seen


# ---------------------------------------------------------------- who shares with whom


PATTERN = "PATTERN A+ WHERE A.x < NEXT(A).x"


def an_event(seq: int) -> dict[str, Any]:
    return {"seq": seq, "ts": seq, "type": "A", "x": float(seq % 5), "n": seq}


def graphs(*texts: str, positions: Sequence[int] = ()) -> int:
    """How many graphs these queries need, added at these positions, 10 being the last."""
    running = TrendOperator(partition=0, compiled=False)
    given = positions or [0] * len(texts)
    controls = [query_control(f"q{n}", at, text=text) for n, (text, at) in enumerate(zip(texts, given, strict=True))]
    stop = max([10, *given])
    block = block_of(
        [an_event(seq) for seq in range(stop)], 0, stop, watermark=stop,
        controls=(schema_control(), *sorted(controls, key=lambda control: control.position)),
    )  # fmt: skip
    running.apply(block)
    found = running.statistics()["graphs"]
    assert isinstance(found, int)
    return found


def test_queries_that_read_one_graph_differ_in_what_they_return_alone() -> None:
    count = f"RETURN COUNT(*) {PATTERN} WITHIN 40 ms"
    assert graphs(count, f"RETURN SUM(A.n), COUNT(*) AS n {PATTERN} WITHIN 40 ms HAVING COUNT(*) > 3", count) == 1
    assert graphs(count, count.replace("A+", "A+ a").replace("A.x <", "a.x <").replace("(A)", "(a)")) == 1
    for other in (
        count.replace("<", "<="), count.replace("A+", "(A OR B b)+ "), count.replace("40 ms", "40 EVENTS"),
        count.replace("40 ms", "80 ms"), f"{count} EXACT", f"{count} TIME STRICT", f"{count} GROUP BY k",
        count.replace("WHERE", "WHERE [k] AND"), f"{count} SLIDE 20 ms",
    ):  # fmt: skip
        if "OR B" in other:
            other = "RETURN COUNT(*) PATTERN (A OR B)+ WITHIN 40 ms"
        assert graphs(count, other) == 2, other


def test_windows_that_begin_more_seldom_are_read_from_those_that_begin_more_often() -> None:
    count = "RETURN COUNT(*) PATTERN A+ WITHIN 40 ms"
    assert graphs(count, f"{count} SLIDE 20 ms", f"{count} SLIDE 10 ms", f"{count} SLIDE 80 ms") == 1
    assert graphs(f"{count} SLIDE 20 ms", f"{count} SLIDE 30 ms") == 2


def test_a_query_that_joins_later_waits_until_the_graph_holds_nothing() -> None:
    count = "RETURN COUNT(*) PATTERN A+ WITHIN 40 ms"
    assert graphs(count, count, positions=(0, 4)) == 2
    running = TrendOperator(partition=0, compiled=False)
    controls = (schema_control(), query_control("p", text=count), query_control("q", 4, text=count))
    running.apply(block_of([an_event(s) for s in range(10)], 0, 10, watermark=10, controls=controls))
    running.apply(block_of([], 10, 10, watermark=50))  # all windows close
    assert running.statistics()["graphs"] == 2
    later = [{**an_event(seq), "ts": 50 + seq} for seq in range(10, 20)]
    results = running.apply(block_of(later, 10, 20, watermark=90))
    assert running.statistics()["graphs"] == 1
    assert len(results) == 2


@pytest.mark.parametrize(
    ("text", "graphs_at_last"),
    [
        ("RETURN COUNT(*) PATTERN A+ WITHIN 10 ms SLIDE 5 ms", 1),
        ("RETURN COUNT(*) PATTERN A+ WITHIN 10 EVENTS SLIDE 5 EVENTS", 1),
        (f"RETURN COUNT(*) {PATTERN} WITHIN 10 ms SLIDE 5 ms EXACT", 1),
        (f"RETURN COUNT(*) {PATTERN} WITHIN 10 ms SLIDE 5 ms", 2),  # a tree may have another shape, and round otherwise
        ("RETURN COUNT(*) PATTERN A+ WITHIN 16 ms SLIDE 1 ms", 2),  # so may the stacks of panes
        ("RETURN COUNT(*) PATTERN A+ WITHIN 16 ms SLIDE 1 ms EXACT", 1),
    ],
)
def test_a_query_joins_once_all_open_windows_are_as_it_would_have_them(text: str, graphs_at_last: int) -> None:
    running = TrendOperator(partition=0, compiled=False)
    controls = (schema_control(), query_control("p", text=text), query_control("q", 7, text=text))
    seen = []
    for start in range(0, 40, 4):
        events = [an_event(seq) for seq in range(start, start + 4)]
        given = {0: controls[:2], 4: controls[2:]}.get(start, ())
        running.apply(block_of(events, start, start + 4, watermark=start + 4, controls=given))
        seen.append(running.statistics()["graphs"])
    assert seen[:3] == [1, 2, 2]
    assert seen[-1] == graphs_at_last


def test_a_graph_has_so_many_numbers_at_most() -> None:
    texts = [f"RETURN {f}(A.{name}) PATTERN SEQ(A, B{{1}}) WITHIN 9 ms" for f in ("SUM", "MIN", "MAX")
             for name in ("x", "n", "h")]  # fmt: skip
    assert graphs(*texts) == 1
    many = [f"RETURN SUM({v}.{name}), MAX({v}.{name}) PATTERN SEQ({', '.join(f'A v{i}' for i in range(9))}) WITHIN 9 ms"
            for v in (f"v{i}" for i in range(9)) for name in "xnh"]  # fmt: skip
    assert graphs(*many) == -(-2 * len(many) // (MOST_MEASURES - 1))
