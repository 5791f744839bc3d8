"""Streams longer than the tables are at first: rings and lists that grow, keys that go, windows that pass."""

from __future__ import annotations

import random
from math import prod

import numpy as np
import pytest

from saffron.engine.events.columns import Columns
from saffron.engine.match.uncertain.runs import UncertainRuns
from tests.reference.match.worlds import Vague
from tests.unit.engine.uncertain.streams import answers, block, columns_of, event, expected, results, runs_of

TEXT = "PATTERN SEQ(A a, B+ b[], C c) WHERE [k] AND b[i].x >= b[i-1].x WITHIN 30 ms CONFIDENCE >= 0.2"
LOOSE = "PATTERN SEQ(A a, B+ b[]) WHERE [k] AND b[i].x > 1 WITHIN 9 ms SLIDE 4 ms CONFIDENCE >= 0.6"


def long_stream(seed: int, n: int = 3000, keys: int = 40) -> list[Vague]:
    rng = random.Random(seed)
    made = []
    for number in range(n):
        lo, length = number // 2, 400 if number == 700 else rng.choice((1, 2, 5, 9))
        key = f"{number // 1000}.{rng.randrange(keys)}"
        made.append(event(number, rng.choice("ABBC"), lo, lo + length - 1, k=key, x=rng.randrange(4)))
    return made


@pytest.mark.parametrize("text", [TEXT, LOOSE])
def test_cuts_and_the_compiler_change_nothing(text: str) -> None:
    columns = columns_of(long_stream(1))
    whole = results(runs_of(text, compiled=True), columns)
    assert len(whole) > 40
    assert results(runs_of(text, compiled=True), columns, list(range(64, 3000, 64))) == whole
    assert results(runs_of(text), columns, [1, 17, 500, 1801, 1802]) == whole


def test_pieces_of_the_stream_against_the_possible_worlds() -> None:
    """The matches of a few events in a row are among those of the whole, with the same confidence."""
    events = long_stream(2, keys=10)
    everything = answers(results(runs_of(TEXT, compiled=True), columns_of(events)))
    seen = 0
    for low in range(0, 3000, 30):
        piece = [one for one in events[low : low + 60] if one.attributes["k"] == events[low].attributes["k"]][:5]
        if prod(one.hi - one.lo + 1 for one in piece) > 200:
            continue
        for one, chance in expected(TEXT, piece).items():
            assert everything[one] == pytest.approx(float(chance), abs=1e-12)
            seen += 1
    assert seen > 10


def test_snapshots() -> None:
    columns = columns_of(long_stream(3))
    whole = results(runs_of(TEXT, compiled=True), columns)
    again: list[bytes] = []
    runs = runs_of(TEXT, compiled=True)
    for low in range(0, 3000, 250):
        again += block(runs, columns, low, low + 250)
        runs = _reborn(runs)
    assert again == whole


def _reborn(runs: UncertainRuns) -> UncertainRuns:
    after = runs_of(TEXT, compiled=True)
    after.store.strings = runs.strings
    after.restore({name: array.copy() for name, array in runs.save().items()})
    return after


def test_memory_follows_the_window() -> None:
    """What lies behind the window is given up, the one long interval too; so are the keys."""
    columns = columns_of(long_stream(4))
    runs = runs_of(TEXT, compiled=True)
    kept = []
    for low in range(0, 3000, 50):
        block(runs, columns, low, low + 50)
        kept.append(runs.live)
    assert max(kept[:12]) < 200
    assert max(kept) > 800  # the interval of 400 ms holds on to what came with it
    assert kept[-1] < 200
    assert runs.keys.used <= 40
    assert np.all(runs.work.heads[:, runs.store.touched[: runs.work.heads.shape[1]] < 0] == -1)


def test_a_pause_forgets() -> None:
    events = [event(0, "A", 0, 0, k="u", x=0), event(1, "B", 1, 1, k="u", x=2), event(2, "B", 2, 2, k="u", x=3)]
    columns: Columns = columns_of(events)
    runs = runs_of(LOOSE)
    assert len(block(runs, columns, 0, 2)) == 2
    runs.pause()
    assert block(runs, columns, 2, 3) == []
