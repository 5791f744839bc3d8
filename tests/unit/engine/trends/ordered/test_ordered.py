"""The ordered index against a list: random operations, in every shape of entry, compiled and as Python."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from saffron.engine.kernels import generated
from saffron.engine.kernels.addresses import AddressTable
from saffron.engine.trends.ordered import code as ordered_code
from saffron.engine.trends.ordered import ordered, references
from saffron.engine.trends.ordered.ordered import (
    AFTER,
    BEFORE,
    BLOCK,
    BLOCKS,
    CHILD,
    FAN,
    FILLED,
    FOUND,
    GIVEN,
    HEIGHT,
    KEY,
    LENGTH,
    RUNS,
    WORD,
    Index,
)
from tests.reference.ordered import Bound, Entry, OrderedList

INFINITY = float("inf")
PARAMETERS = {
    "lacks": "index",
    "insert": "root, word, key, index",
    "aggregate": "root, word, low, low_side, high, high_side, index",
    "prune": "root, slot, index",
    "free_tree": "root, index",
}


@cache
def functions(how: str) -> ModuleType:
    if how != "compiled":
        return ordered_code.plain(unlimited=how == "exact")
    called = ordered_code.functions(tuple(PARAMETERS))
    lines = [f"# {called['insert'].__module__}"]  # named after what it is made from, as addresses are
    for name, taken in PARAMETERS.items():
        given = taken.replace("index", "index_in(index)")
        lines += ["@kernel()", f"def call_{name}({taken}):", f"    return {name}({given})", ""]
    module = generated.load("\n".join(lines), helpers=(references,), functions=called)
    table, result = AddressTable(references.INDEX), ModuleType("called")
    for name in PARAMETERS:
        kernel = getattr(module, f"call_{name}")
        result.__dict__[name] = lambda *given, call=kernel: call(*given[:-1], table.of(given[-1]))
    return result


class Shape:
    """What entries look like in a test."""

    def __init__(self, source: random.Random) -> None:
        self.windows = source.choice([1, 1, 2, 5])
        self.counts = self.windows * source.choice([1, 1, 2])
        self.sums = self.windows * source.choice([0, 0, 1])
        self.lows = self.windows * source.choice([0, 0, 1])
        self.worded = source.random() < 0.5

    def index(self, how: str) -> Index:
        return ordered.new(
            self.windows,
            self.counts,
            sums=self.sums,
            lows=self.lows,
            worded=self.worded,
            number=object if how == "exact" else np.int64,
        )


class Pair:
    """Some trees of one index, each beside its list."""

    def __init__(self, seed: int, how: str) -> None:
        self.source = random.Random(seed)
        self.shape = Shape(self.source)
        self.index = self.shape.index(how)
        self.run = functions(how)
        self.exact = how == "exact"
        self.roots = [0] * self.source.choice([1, 3])
        self.lists = [OrderedList(self.shape.windows) for _ in self.roots]
        self.spread = self.source.choice([3, 40, 10**6])
        self.rising = self.source.random() < 0.2
        self.big = self.source.random() < 0.4
        self.number = 0

    def key(self) -> float:
        return float(self.number if self.rising else self.source.randrange(self.spread)) / 4

    def word(self) -> int:
        return self.source.randrange(-2, 2) if self.shape.worded else 0

    def count(self) -> tuple[int, int]:
        if self.source.random() < 0.2:
            return 0, 0
        if self.big and self.exact:
            return self.source.getrandbits(200), 0
        if self.big and self.source.random() < 0.5:
            return (1 << 62) | self.source.getrandbits(62), self.source.randrange(1, 200)
        return self.source.getrandbits(self.source.choice([3, 20])), 0

    def insert(self, t: int) -> None:
        while self.run.lacks(self.index):
            self.index = ordered.grown(self.index)
        shape, index = self.shape, self.index
        given = [self.count() for _ in range(shape.counts)]
        given += [(self.source.randrange(-1000, 1000), 2 * self.source.randrange(-5, 5)) for _ in range(shape.sums)]
        empty = [given[r % shape.windows][0] == 0 for r in range(len(given))]  # no trend: nothing to count or add
        given = [(0, 0) if none else number for none, number in zip(empty, given, strict=True)]
        for r, (n, e) in enumerate(given):
            index.ints[r, GIVEN], index.smalls[r, GIVEN] = n, e
        lows = [INFINITY if empty[r] else float(self.source.randrange(99)) for r in range(shape.lows)]
        index.floats[: shape.lows, GIVEN] = lows
        word, key = self.word(), self.key()
        self.number += 1
        self.roots[t] = self.run.insert(self.roots[t], word, key, index)
        values = [Fraction(n) * Fraction(2) ** int(e) for n, e in given[: shape.counts]]
        values += [Fraction(n) * Fraction(2) ** (int(x) >> 1) for n, x in given[shape.counts :]]
        self.lists[t].entries.append(Entry(word, key, tuple(values), tuple(lows)))

    def bounds(self) -> tuple[Bound, Bound]:
        ends = [self.key(), self.key()]
        if self.source.random() < 0.8:
            ends.sort()
        low = (-INFINITY, BEFORE) if self.source.random() < 0.3 else (ends[0], self.source.choice([BEFORE, AFTER]))
        high = (INFINITY, AFTER) if self.source.random() < 0.3 else (ends[1], self.source.choice([BEFORE, AFTER]))
        return low, high

    def compare(self, t: int) -> None:
        word = self.word()
        low, high = self.bounds()
        self.run.aggregate(self.roots[t], word, *low, *high, self.index)
        shape, index = self.shape, self.index
        true, lows = self.lists[t].aggregate(word, low, high, shape.counts + shape.sums, shape.lows)
        for r, value in enumerate(true):
            n, e = int(index.ints[r, FOUND]), int(index.smalls[r, FOUND])
            if r >= shape.counts:
                assert e % 2 == 0
                e >>= 1
            found = Fraction(n) * Fraction(2) ** e
            assert abs(found - value) <= (value / 2**50 if value >= 2**63 and not self.exact else 0)
        assert index.floats[: shape.lows, FOUND].tolist() == lows

    def remove(self, t: int) -> None:
        what = self.source.choice(["prune", "free"])
        twin = self.lists[t]
        if what == "prune":
            slot = self.source.randrange(self.shape.windows)
            self.roots[t] = self.run.prune(self.roots[t], slot, self.index)
            twin.clear_slot(slot)
            twin.prune()
        elif self.source.random() < 0.3:
            self.run.free_tree(self.roots[t], self.index)
            self.roots[t], twin.entries = 0, []

    def all_is_kept_or_free(self) -> None:
        """Every block is in a node of some tree, or in a free run; each node is right about what it holds."""
        counted = [1]
        for root, twin in zip(self.roots, self.lists, strict=True):
            if root != 0:
                held = self.visit(int(root), counted)
                assert held == sorted(set(held))
                assert {(entry.word, entry.key) for entry in twin.entries} <= set(held)
        assert counted[0] + free_blocks(self.index) == self.index.head[BLOCKS] <= len(self.index.meta)

    def visit(self, node: int, counted: list[int]) -> list[tuple[int, float]]:
        index = self.index
        block = abs(node) - 1
        counted[0] += int(index.meta[block, LENGTH])
        entries = range(block * BLOCK, block * BLOCK + int(index.meta[block, FILLED]))
        assert 0 < len(entries) <= int(index.meta[block, LENGTH]) * BLOCK <= FAN * BLOCK
        if node > 0:
            return [each for at in entries for each in self.visit(int(index.smalls[CHILD, at]), counted)]
        nothing = np.zeros(index.ints.shape[1], np.int64)
        words = index.ints[index.head[WORD]] if self.shape.worded else nothing
        return [(int(words[at]), float(index.floats[KEY, at])) for at in entries]


def free_blocks(index: Index) -> int:
    blocks = 0
    for room in range(1, RUNS + 1):
        run = int(index.head[BLOCKS + room])
        while run:
            blocks += room
            run = int(index.meta[run - 1, FILLED])
    return blocks


def drive(seed: int, how: str, steps: int) -> None:
    pair = Pair(seed, how)
    growing = pair.source.choice([0.9, 0.97, 0.99])
    for _ in range(steps):
        t = pair.source.randrange(len(pair.roots))
        if pair.source.random() < growing:
            pair.insert(t)
            if pair.source.random() < 0.15:
                pair.compare(t)
        else:
            pair.remove(t)
            pair.compare(t)
    pair.all_is_kept_or_free()
    for t in range(len(pair.roots)):
        pair.compare(t)


@pytest.mark.parametrize("block", range(8))
def test_random_operations_as_python(block: int) -> None:
    for seed in range(block * 6, block * 6 + 6):
        drive(seed, "exact" if seed % 4 == 3 else "plain", 400)


@pytest.mark.parametrize("block", range(2))
def test_random_operations_compiled(block: int) -> None:
    for seed in range(1000 + block * 12, 1012 + block * 12):
        drive(seed, "compiled", 1000)


def test_a_thousand_small_trees_are_small() -> None:
    """Ten vertices in each of a thousand trees: a leaf of two blocks each."""
    run = functions("compiled")
    index = ordered.new(1, 1)
    roots = [0] * 1000
    index.ints[0, GIVEN] = 1
    for seq in range(10_000):
        while run.lacks(index):
            index = ordered.grown(index)
        roots[seq % 1000] = run.insert(roots[seq % 1000], 0, float(seq * 7919 % 10_007), index)
    assert index.head[BLOCKS] * BLOCK <= 16 * 1000 + BLOCK * 1001
    assert index.head[HEIGHT] == 0


def test_keys_that_only_rise_fill_their_nodes() -> None:
    run = functions("plain")
    index: Any = ordered.new(1, 1)
    root = 0
    for seq in range(2000):
        while run.lacks(index):
            index = ordered.grown(index)
        root = run.insert(root, 0, float(seq), index)
    assert index.head[BLOCKS] * BLOCK < 2000 * 1.2 + 64
