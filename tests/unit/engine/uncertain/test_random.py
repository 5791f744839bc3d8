"""Random queries over random streams with intervals, against all possible worlds (requirement X2)."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Mapping
from fractions import Fraction

import pytest

from saffron.schema.schema import Distribution
from tests.unit.engine.uncertain.streams import (
    Answer,
    answers,
    block,
    columns_of,
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
