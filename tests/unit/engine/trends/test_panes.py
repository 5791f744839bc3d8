"""Matrices of panes against the direct sums: each window's graph on its own, over pairs of adjacent events."""

from __future__ import annotations

import random
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from saffron.engine import jit
from saffron.engine.trends import exact, layout, numbers, ordered_code, panes, panes_kernels
from saffron.engine.trends.wide import split

INFINITY = float("inf")
Event = tuple[int, int, list[tuple[int, float, float]]]
"""Pane, states (bits), and of each state: whether it counts for COUNT(E), its value, its least value."""


def functions(how: str) -> ModuleType:
    parts = (panes_kernels,) if how == "exact" else (numbers, panes_kernels)
    lines = [line for part in parts for line in ordered_code.text_of(part).splitlines()]
    entry_points = ("def take_event(", "def window_result(")
    source = "\n".join(
        f"{'@kernel()' if line.startswith(entry_points) else '@inlined'}\n{line}" if line.startswith("def ") else line
        for line in ["from typing import Any", *lines, ""]
    )
    helpers = (layout, panes, exact) if how == "exact" else (layout, panes)
    return jit.load(source, helpers=helpers, compiled=how == "compiled")


def directly(events: list[Event], edges: list[tuple[int, int]], starts: list[bool], ends: list[bool]) -> list[Any]:
    """Count, COUNT(E), SUM and least value of all trends of these events, from the vertices' recursion (T5)."""
    vertices: list[tuple[int, list[Any]]] = []
    result = [0, 0, Fraction(0), INFINITY]
    for _, states, given in events:
        new = []
        for s in range(len(starts)):
            if (states >> s) & 1:
                before = [v for source, v in vertices if (source, s) in edges]
                count = int(starts[s]) + sum(v[0] for v in before)
                marked, value, low = given[s]
                counted = sum(v[1] for v in before) + marked * count
                total = sum((v[2] for v in before), Fraction()) + Fraction(value) * count
                least = min([low if count else INFINITY, *(v[3] for v in before)])
                new.append((s, [count, counted, total, least]))
        vertices += new
        for s, vertex in new:
            if ends[s]:
                result = [a + b for a, b in zip(result[:3], vertex[:3], strict=True)] + [min(result[3], vertex[3])]
    return result


def drive(seed: int, how: str, run: ModuleType) -> None:
    source = random.Random(seed)
    states = source.randrange(1, 4)
    edges = [(s, t) for s in range(states) for t in range(states) if source.random() < 0.6]
    starts = [source.random() < 0.6 for _ in range(states)]
    ends = [source.random() < 0.6 for _ in range(states)]
    ring, slide = source.randrange(1, 7), source.randrange(1, 4)
    number: Any = object if how == "exact" else np.int64
    store = panes.new(edges, starts, ends, ring, counted=1, sums=1, lows=1, number=number)
    store = panes.grown(panes.grown(store, 1), 3)
    events: list[list[Event]] = [[], [], []]
    first, pane = 0, 0
    for _ in range(source.randrange(10, 60 if how == "exact" else 160)):
        pane += source.choice([0, 0, 0, 0, 1, 1, 2, 9])
        while first + ring <= pane:
            for key in range(3):
                compare(key, first, [e for e in events[key] if first <= e[0] < first + ring], store, how, run)(
                    edges, starts, ends
                )
            first += slide
        if pane < first:
            continue
        key = source.randrange(3)
        given = [(source.randrange(2), source.choice([0.0, 10.25, -3.5, 7.0]), 0.0) for _ in range(states)]
        given = [(mark, value, value or INFINITY) for mark, value, _ in given]
        event = (pane, source.randrange(1, 1 << states), given)
        mantissas, exponents = split(np.array([value for _, value, _ in given]))
        store.event_marks[:, 0] = [mark for mark, _, _ in given]
        store.event_ms[:, 0], store.event_fs[:, 0] = mantissas, exponents
        store.event_lows[:, 0] = [low for _, _, low in given]
        run.take_event(key, pane, event[1], store)
        events[key].append(event)


def compare(key: int, first: int, inside: list[Event], store: panes.Panes, how: str, run: ModuleType) -> Any:
    def against(edges: list[tuple[int, int]], starts: list[bool], ends: list[bool]) -> None:
        true = directly(inside, edges, starts, ends)
        if not run.window_result(key, first, store):
            assert not inside
            return
        ns, es = [int(n) for n in store.row_ns[0]], [int(e) for e in store.row_es[0]]
        found = [Fraction(ns[0]) * 2 ** es[0], Fraction(ns[1]) * 2 ** es[1]]
        found.append(Fraction(ns[2]) * Fraction(2) ** (es[2] >> 1))
        within = 0 if how == "exact" or true[0] < 2**40 else Fraction(1, 2**40)
        for a, b in zip(found, true, strict=False):
            assert abs(a - b) <= within * max(true[0] * 11 * len(inside), 1)
        assert store.row_lows[0, 0] == true[3]

    return against


@pytest.mark.parametrize("how", ["plain", "exact"])
def test_every_window_as_python(how: str) -> None:
    run = functions(how)
    for seed in range(25):
        drive(seed, how, run)


def test_every_window_compiled() -> None:
    run = functions("compiled")
    for seed in range(100, 160):
        drive(seed, "compiled", run)
