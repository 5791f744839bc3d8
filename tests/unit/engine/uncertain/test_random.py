"""Random queries over random streams with intervals, against all possible worlds (requirement X2)."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from saffron.schema.schema import Distribution
from tests.unit.engine.uncertain.streams import (
    Answer,
    answers,
    block,
    columns_of,
    event,
    expected,
    random_events,
    random_query,
    results,
    runs_of,
)

CASES = int(os.environ.get("SAFFRON_UNCERTAIN_CASES", "100"))
"""Cases of each seed."""

LAWS: tuple[Distribution, ...] = ("uniform", "uniform", "triangular", (1.0, 0.0, 2.5))


def same(found: Mapping[Answer, float], wanted: Mapping[Answer, Fraction]) -> bool:
    return found.keys() == wanted.keys() and all(abs(found[one] - wanted[one]) < 1e-12 for one in wanted)


@pytest.mark.parametrize("seed", range(8))
def test_matches_and_confidences_are_those_of_the_possible_worlds(seed: int) -> None:
    rng = random.Random(seed)
    matches = 0
    for _ in range(CASES):
        law = rng.choice(LAWS)
        text, events = random_query(rng), random_events(rng, law)
        found = answers(results(runs_of(text, law), columns_of(events)))
        assert same(found, expected(text, events)), (text, law, events)
        matches += len(found)
    assert matches > CASES // 4


@pytest.mark.parametrize("seed", range(8))
def test_exact_times_are_sure(seed: int) -> None:
    """Intervals of one instant: a match is one in the only world there is."""
    rng = random.Random(100 + seed)
    for _ in range(CASES // 4):
        text, events = random_query(rng), random_events(rng)
        exact = [type(one)(one.seq, one.lo, one.lo, one.type, one.attributes) for one in events]
        found = answers(results(runs_of(text), columns_of(exact)))
        assert set(found.values()) <= {1.0}
        assert same(found, expected(text, exact)), (text, exact)


_TWO_LISTS = ("SEQ(A+ a[], B+ b[])", "SEQ(A+ a[], A+ b[])", "SEQ(A+ a[], B+ b[], C c)")
_OF_THE_FIRST = ("a[last].x", "sum(a[].x)", "max(a[].x)", "count(a[].k)", "a.len")


@pytest.mark.parametrize("seed", range(4))
def test_the_first_of_two_lists_ends_before_the_second(seed: int) -> None:
    """Also where an event was tried for the first list, and refused by a condition or by the threshold."""
    rng = random.Random(300 + seed)
    for _ in range(CASES // 4):
        refused = rng.choice(("a[i].x > a[i-1].x", "a[i].x < 3", "a[i].k = a[i-1].k"))
        compared = f"b[{rng.choice('1i')}].x {rng.choice(('=', '<', '>='))} {rng.choice(_OF_THE_FIRST)}"
        where = f"skip-till-any-match {{ {refused} AND {compared} }}"
        text = f"PATTERN {rng.choice(_TWO_LISTS)} WHERE {where} WITHIN 30 ms CONFIDENCE >= 0.25"
        events = [event(n, kind, 2 * n, 2 * n + rng.randrange(3), **_values(rng)) for n, kind in enumerate("AABABC")]
        assert same(answers(results(runs_of(text), columns_of(events))), expected(text, events)), (text, events)


def _values(rng: random.Random) -> dict[str, Any]:
    return {"x": rng.choice((0, 1, 2, 3, None)), "k": rng.choice(("u", "v", None))}


@pytest.mark.parametrize("seed", range(4))
def test_cuts_and_snapshots_change_nothing(seed: int) -> None:
    rng = random.Random(200 + seed)
    for _ in range(CASES // 2):
        law = rng.choice(LAWS)
        text, columns = random_query(rng), columns_of(random_events(rng, law, most=12))
        whole = results(runs_of(text, law), columns)
        cuts = sorted(rng.randrange(len(columns) + 1) for _ in range(rng.randint(1, 5)))
        assert results(runs_of(text, law), columns, cuts) == whole, (text, columns)
        again, bounds = [], [0, *cuts, len(columns)]
        runs = runs_of(text, law)
        for low, high in itertools.pairwise(bounds):
            again += block(runs, columns, low, high)
            after = runs_of(text, law)
            after.store.strings = runs.strings
            after.restore({name: array.copy() for name, array in runs.save().items()})
            runs = after
        assert again == whole, (text, columns)
