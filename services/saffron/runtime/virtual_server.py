"""The virtual server: engines that take blocks one after the other, each for as long as its cost says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from saffron.engine.events.block import Block
from saffron.runtime.fused import Engines, Merged
from saffron.runtime.virtual_cost import Work


class Server:
    """Counts the work of each block that its engines do."""

    def __init__(self, engines: Engines, slots: Mapping[str, int]) -> None:
        self.engines = engines
        self.found: Counter[str] = Counter()
        self._slots = slots
        self._alive = self.partial_matches()

    def partial_matches(self) -> dict[str, int]:
        """By query, as they stand."""
        own: dict[str, int] = dict.fromkeys(self._slots, 0)
        for operator in (self.engines.matcher, self.engines.trends):
            own |= operator.statistics()["partial_matches"]
        return own

    def apply(self, block: Block, judged: int = 0) -> tuple[Merged, Work]:
        """Results and counts. `judged`: events that the shedder looked at one by one."""
        ordered = self._ordered(block)
        merged = self.engines.apply(block)
        before, after = self._alive, self.partial_matches()
        if ordered:  # what was dropped at the block's beginning met nothing
            before = {name: min(count, after[name]) for name, count in before.items()}
        self._alive = after
        found = merged.counts()
        self.found.update(found)
        kept = {name: _kept(block, slot) for name, slot in self._slots.items()}
        met = {name: kept[name] * (before[name] + after[name]) / 2 for name in self._slots}
        own = {name: found.get(name, 0) for name in self._slots}
        return merged, Work(len(block.columns), kept, met, own, ordered, judged)

    def _ordered(self, block: Block) -> int:
        names: Sequence[str] = [
            name for control in block.controls if control.kind == "keep" for name in control.body["queries"]
        ]
        return sum(self._alive[name] for name in names)


def _kept(block: Block, slot: int) -> int:
    mask = block.columns.dropped
    if mask is None or slot < 0:
        return len(block.columns)
    return len(mask) - int(np.count_nonzero(mask >> np.uint64(slot) & np.uint64(1)))
