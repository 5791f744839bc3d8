"""The virtual server: engines that take blocks one after the other, each for the time of its cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from saffron.engine.events.block import Block
from saffron.engine.events.columns import masked
from saffron.engine.match.shedding.orders import read_order
from saffron.experiments.virtual_cost import Work
from saffron.runtime.replay.both import Merged
from saffron.runtime.replay.fused import Engines


class Server:
    """Counts the work of each block that its engines do."""

    def __init__(self, engines: Engines, slots: Mapping[str, int]) -> None:
        self.engines = engines
        self.found: Counter[str] = Counter()
        self._slots = slots
        self._alive = self.partial_matches()
        self._shadowed = self._checks()

    def _checks(self) -> dict[str, float]:
        """The checks that the shadow of each query has taken so far."""
        sampled = self.engines.matcher.statistics()["sampled"]
        return {name: one.checks for name, one in sampled.items()}

    def partial_matches(self) -> dict[str, int]:
        """The number of live partial matches, by query."""
        own: dict[str, int] = dict.fromkeys(self._slots, 0)
        for operator in (self.engines.matcher, self.engines.trends):
            own |= operator.statistics()["partial_matches"]
        return own

    def apply(self, block: Block, judged: int = 0) -> tuple[Merged, Work]:
        """Results and counts. `judged`: events that the shedder looked at one by one."""
        merged = self.engines.apply(block)
        before, self._alive = self._alive, self.partial_matches()
        found = merged.counts()
        self.found.update(found)
        work = work_of(block, self._slots, before, self._alive, found, judged)
        earlier, self._shadowed = self._shadowed, self._checks()
        shadow = {name: checks - earlier.get(name, 0.0) for name, checks in self._shadowed.items()}
        return merged, replace(work, met={name: met + shadow.get(name, 0.0) for name, met in work.met.items()})


def work_of(
    block: Block,
    slots: Mapping[str, int],
    before: Mapping[str, int],
    after: Mapping[str, int],
    found: Mapping[str, int],
    judged: int = 0,
) -> Work:
    """The counts of a block. `before`, `after`: partial matches by query at its ends; `slots`: of each query."""
    orders = [read_order(control.body) for control in block.controls if control.kind == "keep"]
    ordered = sum(before.get(name, 0) for order in orders for name in order.queries)
    if ordered:  # partial matches dropped at the block's beginning met nothing
        before = {name: min(count, after[name]) for name, count in before.items()}
    kept = {name: _kept(block, slot) for name, slot in slots.items()}
    met = {name: kept[name] * (before[name] + after[name]) / 2 for name in slots}
    own = {name: found.get(name, 0) for name in slots}
    return Work(len(block.columns), kept, met, own, ordered, judged)


def _kept(block: Block, slot: int) -> int:
    mask = block.columns.dropped
    if mask is None or slot < 0:
        return len(block.columns)
    return len(mask) - int(np.count_nonzero(masked(mask, slot)))
