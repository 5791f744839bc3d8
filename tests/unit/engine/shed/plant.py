"""A plant for closed loops: arrivals by a load curve, a server whose partial matches and costs are plain arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from saffron.engine.events.block import Block
from saffron.engine.models.transitions.latency import LatencyFunction
from saffron.engine.models.transitions.model import LatencyModel
from saffron.engine.shed.drops.event_drops import EventDrops
from saffron.engine.shed.drops.traits import traits_of
from saffron.engine.shed.known import Queries
from saffron.engine.shed.load.detector import Detector
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.shedding import Shedding
from saffron.experiments.baselines import acting
from tests.unit.engine.shed.blocks import columns

Load = Callable[[float], float]
"""Load (1: the plant's capacity) at a number of ms."""

BLOCK_MS = 10.0
TEXT = "PATTERN SEQ(A a, B b) WITHIN 1 minute"


@dataclass
class Plant:
    """One of `opening` events begins a partial match that lives for `window` events; an event costs `base` and `each`
    for a partial match (ms). `off`: by what factor the model's f is wrong. `jitter`: of a block's cost, relative.
    `likely`: the query asks for CONFIDENCE; of the events that it stores instead orders drop none."""

    shedder: str
    settings: Overload
    opening: int = 10
    window: int = 4000
    base: float = 0.002
    each: float = 0.0001
    off: float = 1.0
    jitter: float = 0.0
    seed: int = 0
    likely: bool = False
    pauses: tuple[tuple[float, float], ...] = ()
    times: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    kept: list[int | None] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)

    @property
    def capacity(self) -> float:
        """Events a ms without shedding."""
        return 1 / (self.base + self.each * self.window / self.opening)

    def run(self, load: Load, seconds: float) -> None:
        """Blocks of what comes in 10 ms, until `seconds`; then see `times` (when taken), `latencies` (of the oldest
        event), `shares` and `kept` (as decided), `arrivals` (when each block was appended)."""
        function = LatencyFunction("linear", 1e6 * self.base * self.off, 1e6 * self.each * self.off, 0.0)
        detector = Detector(model=LatencyModel("events", (0, 0), function, None, 1, {}))
        shedding = Shedding(self.settings, detector, EventDrops(0))
        random = np.random.default_rng(self.seed)
        ready, sizes = self._blocks(load, seconds)
        alive: list[tuple[int, int]] = []  # (deadline, how many), the oldest first
        free, seq, announced, pauses = 0.0, 0, 0, list(self.pauses)
        acts = acting(self.shedder, {})
        traits = traits_of({"name": "q", "text": self._text, "shed": acts.name}, acts.shedders)
        queries = Queries({"q": traits}, {"q": 0}, {})
        for at, size in zip(ready, sizes, strict=True):
            now = max(free, at)
            if pauses and now >= pauses[0][0]:
                now += pauses.pop(0)[1]
            while announced < len(ready) and ready[announced] <= now:
                shedding.arrivals.arrived(sizes[announced], ready[announced])
                announced += 1
            alive = [(deadline, count) for deadline, count in alive if deadline > seq]
            before = sum(count for _, count in alive)
            detector.observe({"service": "matcher", "partial_matches": {"q": before}})
            block = Block(columns(seq, size), seq, seq + size, 0)
            since = at - BLOCK_MS
            shed = shedding.plan(block, now - since, now, queries)
            for order in () if self.likely else shed.orders:
                alive = _kept(alive, order["n"])
            gone = 0 if shed.events.mask is None else int(np.count_nonzero(shed.events.mask))
            opened = (size - gone) / self.opening
            count = sum(count for _, count in alive) + opened / 2
            alive.append((seq + self.window, round(opened)))
            spent = (size - gone) * (self.base + self.each * count) * (1 + self.jitter * random.standard_normal())
            free = now + max(0.0, spent)
            seq += size
            detector.observe(
                {"service": "matcher", "position": seq, "processing_ns": int(1e6 * max(0.0, spent)), "events": size}
            )
            self.times.append(now)
            self.arrivals.append(at)
            self.latencies.append(free - since)
            self.shares.append(shed.share)
            self.kept.append(shed.orders[0]["n"] if shed.orders else None)

    @property
    def _text(self) -> str:
        return TEXT + " CONFIDENCE >= 0.5" if self.likely else TEXT

    def _blocks(self, load: Load, seconds: float) -> tuple[list[float], list[int]]:
        ready, sizes, left = [], [], 0.0
        for slot in range(int(1000 * seconds / BLOCK_MS)):
            left += load(slot * BLOCK_MS) * self.capacity * BLOCK_MS
            size = int(left)
            left -= size
            if size:
                ready.append((slot + 1) * BLOCK_MS)
                sizes.append(size)
        return ready, sizes

    def quantile(self, share: float) -> float:
        return float(np.quantile(self.latencies, share))

    def last_shed(self) -> float:
        """When the last block arrived of which anything was shed (ms); -1: never."""
        acted = [share > 0 or kept is not None for share, kept in zip(self.shares, self.kept, strict=True)]
        return max((at for at, act in zip(self.arrivals, acted, strict=True) if act), default=-1.0)


def _kept(alive: list[tuple[int, int]], keep: int) -> list[tuple[int, int]]:
    """The youngest `keep` of them."""
    kept = []
    for deadline, count in reversed(alive):
        kept.append((deadline, min(count, keep)))
        keep -= kept[-1][1]
    return kept[::-1]
