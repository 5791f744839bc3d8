"""Single events that equalities tie, closures between them: what is bound first changes no answer."""

from __future__ import annotations

import itertools
import os
import random
from typing import Any

import pytest

from tests.reference.match.worlds import Vague
from tests.unit.engine.uncertain.streams import (
    answers,
    block,
    columns_of,
    event,
    expected,
    results,
    runs_of,
)

CASES = int(os.environ.get("SAFFRON_UNCERTAIN_CASES", "100"))

FIVE = "SEQ(A a, B b, A+ c[], B d, C e)"
PATTERNS = (
    ("SEQ(A a, B+ b[], C c)", "ABC", ("a.x = c.x", "a.k = c.k", "c.x > max(b[].x)", "b[i].x >= b[i-1].x")),
    ("SEQ(A a, B+ b[], A c)", "ABA", ("a.x = c.x", "c.x >= a.x", "b[last].x != c.x", "b[i].x > a.x")),
    (FIVE, "ABABC", ("b.x = d.x", "b.k = d.k", "a.x = e.x", "c[i].x >= c[i-1].x", "e.x >= c.len", "d.x > a.x")),
    ("SEQ(A a, B b, A+ c[], B d)", "ABAB", ("a.x = d.x AND b.k = d.k", "b.x = d.x", "c[1].x < 3", "d.x > c[last].x")),
    ("SEQ(A+ a[], B b, A c, B+ d[])", "ABAB", ("b.x = c.x", "d[i].x > c.x", "a[last].x != b.x", "d[1].x >= a[1].x")),
    ("SEQ(A a, B+ b[], A+ c[], C d)", "ABAC", ("a.x = d.x", "c[1].x > b[last].x", "b.len >= c.len", "d.x > a.x")),
    ("SEQ(A a, B b, C c, A d)", "ABCA", ("a.x = c.x", "b.x = d.x", "a.k = d.k AND b.x = c.x", "d.x > b.x")),
)


def draw(rng: random.Random) -> tuple[str, list[Vague]]:
    """A query, and a few events of which many stand as its pattern has them."""
    pattern, kinds, conditions = rng.choice(PATTERNS)
    where = " AND ".join(rng.sample(conditions, rng.choice((1, 1, 2))))
    slide = f" SLIDE {rng.choice((2, 5))} ms" if rng.random() < 0.2 else ""
    text = f"PATTERN {pattern} WHERE {where} WITHIN {rng.choice((6, 12, 30, 30))} ms{slide} "
    drafts = []
    for place in range(len(kinds) + rng.randint(0, 2)):
        lo = max(0, 2 * place + rng.choice((-2, -1, 0, 0, 0, 1)))
        attributes: dict[str, Any] = {"k": rng.choice("uuuv"), "x": rng.choice((1, 1, 1, 1, 2, 3, None))}
        drafts.append((lo, lo + rng.choice((0, 0, 1, 2)), kinds[place % len(kinds)], attributes))
    drafts.sort(key=lambda draft: draft[0])
    events = [event(n, kind, lo, hi, **attributes) for n, (lo, hi, kind, attributes) in enumerate(drafts)]
    return text + f"CONFIDENCE >= {rng.choice(('0', '0.2', '0.7'))}", events


@pytest.mark.parametrize("seed", range(4))
def test_matches_are_those_of_the_possible_worlds(seed: int) -> None:
    rng = random.Random(300 + seed)
    matches = 0
    for _ in range(CASES):
        text, events = draw(rng)
        found, wanted = answers(results(runs_of(text), columns_of(events))), expected(text, events)
        assert found.keys() == wanted.keys(), (text, events)
        assert all(abs(found[one] - wanted[one]) < 1e-12 for one in wanted), (text, events)
        matches += len(found)
    assert matches > CASES // 4


JOINED = f"PATTERN {FIVE} WHERE b.x = d.x AND d.k = b.k AND c[i].x >= c[i-1].x WITHIN 20 ms CONFIDENCE >= 0.2"
UNTIED = JOINED.replace("b.x = d.x", "b.x + 0 = d.x").replace("d.k = b.k", "d.k IN ('u', 'v') AND NOT d.k != b.k")


def long_stream(seed: int, number: int = 2500) -> list[Vague]:
    """More events than the ring of rows has at first."""
    rng = random.Random(seed)
    events, lo = [], 0
    for seq in range(number):
        lo += rng.choice((0, 1, 3)) if seq % 900 else 40
        attributes: dict[str, Any] = {"k": rng.choice("uv"), "x": rng.randrange(6)}
        events.append(event(seq, rng.choice("AABBC"), lo, lo + rng.choice((0, 0, 2, 5)), **attributes))
    return events


def test_a_join_finds_what_a_scan_finds() -> None:
    joined, untied = runs_of(JOINED, compiled=True), runs_of(UNTIED, compiled=True)
    assert joined.program.joins.by
    assert not untied.program.joins.by
    columns = columns_of(long_stream(1))
    found = answers(results(joined, columns))
    assert found == answers(results(untied, columns))
    assert len(found) > 100


def test_cuts_and_snapshots() -> None:
    columns = columns_of(long_stream(2))
    whole = results(runs_of(JOINED, compiled=True), columns)
    runs, again = runs_of(JOINED, compiled=True), []
    for low, high in itertools.pairwise([0, 7, 800, 801, 1300, 2000, 2500]):
        again += block(runs, columns, low, high)
        after = runs_of(JOINED, compiled=True)
        after.store.strings = runs.strings
        after.restore({name: array.copy() for name, array in runs.save().items()})
        runs = after
    assert again == whole


def test_a_pause_forgets_what_a_join_would_find() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE a.x = b.x WITHIN 99 ms CONFIDENCE >= 0"
    columns = columns_of([event(0, "A", 0, 0, k="u", x=1), event(1, "B", 1, 1, k="u", x=1), event(2, "B", 2, 2, x=1)])
    runs = runs_of(text)
    assert len(block(runs, columns, 0, 2)) == 1
    runs.pause()
    after = runs_of(text)
    after.restore(runs.save())
    assert block(after, columns, 2, 3) == block(runs, columns, 2, 3) == []


def test_work_is_that_of_the_matches() -> None:
    """Without a second event of its value, none of 2^40 closures is looked into."""
    events = [event(0, "A", 0, 0, x=0), *(event(n, "B", n, n, x=1) for n in range(1, 41)), event(41, "C", 50, 50, x=1)]
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE a.x = c.x WITHIN 99 ms CONFIDENCE >= 0"
    assert results(runs_of(text), columns_of(events)) == []
