"""Few vertices are a list, many a tree: answers do not depend on where the one ends and the other begins."""

from __future__ import annotations

from itertools import count, islice
from typing import Any

import numpy as np
import pytest

from saffron.engine.trends.core.graphs import graphs_of
from saffron.engine.trends.ordered import code as ordered_code
from saffron.engine.trends.ordered import ordered
from saffron.engine.trends.ordered.ordered import BEFORE, BLOCK, BLOCKS, FEW, FILLED, FOUND, GIVEN, KEY, LAST, LISTS
from tests.reference.trends import walk
from tests.unit.engine.trends.language import Case, blocks, case, found_lines, near, run
from tests.unit.engine.trends.ordered.test_ordered import free_blocks

SEEDS = 96_000
CASES = 14
"""Long streams of queries that have trees; among them are several windows, NOT, TIME STRICT, equalities and EXACT."""


def cases() -> list[Case]:
    made = (case(seed, long=True) for seed in count(SEEDS))
    return list(islice((one for one in made if isinstance(one, Case) and graphs_of(one.plan).trees), CASES))


@pytest.mark.parametrize("few", [0, 3, ordered.SHORT])
def test_answers_are_the_same_wherever_lists_become_trees(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered, "SHORT", few)
    for made in cases():
        found = run(made, blocks(made))
        lines = found_lines(found)
        expected = walk.answers(made.plan, made.asked, made.events)
        sizes = walk.answers(made.plan, made.asked, made.events, absolute=True)
        assert near(lines, expected, sizes), str(made)
        pieces = blocks(made, [made.rng.randrange(len(made.events)) for _ in range(3)])
        assert run(made, pieces, restart=made.rng.randrange(len(pieces))) == found, str(made)


def test_a_list_becomes_a_tree_of_the_same_entries_and_a_tree_that_shrinks_a_list() -> None:
    functions = ordered_code.plain()
    rng = np.random.Generator(np.random.PCG64(5))
    index: Any = ordered.new(4, 4)
    index.head[FEW] = 100
    entries = [(float(rng.integers(0, 60)), 12 if n % 10 == 0 else 10 + n % 2, n) for n in range(1, 141)]
    root = 0
    for number, (key, last, n) in enumerate(entries):
        while functions.lacks(index):
            index = ordered.grown(index)
        root = functions.ready(root, 10, index)
        assert (root < -LISTS) == (number < 100)
        block = -root - LISTS - 1
        at = block * BLOCK + index.meta[block, FILLED] if root < -LISTS else GIVEN
        index.ints[:4, at] = 0 if at == GIVEN else -7  # in lists, closed windows' slots hold anything
        index.ints[[k % 4 for k in range(10, last + 1)], at] = n
        if at == GIVEN:
            root = functions.insert(root, 0, key, index)
        else:
            index.meta[block, FILLED] += 1
            index.floats[KEY, at], index.ints[index.head[LAST], at] = key, last
    for closed in range(2):
        assert root > 0
        functions.aggregate(root, 0, 20.0, BEFORE, 40.0, BEFORE, index)
        for k in range(10 + closed, 14):
            assert index.ints[k % 4, FOUND] == sum(n for key, last, n in entries if 20 <= key < 40 and k <= last)
        root = functions.rebalance(root, 11 + closed, index)
    assert root < -LISTS
    run = range((-root - LISTS - 1) * BLOCK, (-root - LISTS - 1) * BLOCK + index.meta[-root - LISTS - 1, FILLED])
    found = [(index.floats[KEY, at], index.ints[0, at], index.ints[index.head[LAST], at]) for at in run]
    twelfth: dict[float, int] = {}
    for key, last, n in entries:
        if last == 12:
            twelfth[key] = twelfth.get(key, 0) + n
    assert found == [(key, n, 12) for key, n in sorted(twelfth.items())]
    functions.free_root(root, index)
    assert free_blocks(index) + 1 == index.head[BLOCKS]
