"""The closed loop of the virtual clock: arrivals, shedder, server, and how late everything is."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.shed.operator import ShedderOperator
from saffron.experiments.virtual_cost import Cost, Work
from saffron.experiments.virtual_latency import Latencies
from saffron.experiments.virtual_server import Server
from saffron.runtime.replay.both import Merged
from saffron.runtime.telemetry.load import WorkDone, load_of

Floats = NDArray[np.float64]


@dataclass
class Loop:
    """The loop of a virtual run: shedder, server and clock.

    `results`, `events`: latencies in ms, to the end of the block; from the arrival of a result's last event, and of
    each event. `finished`: end of the last block (ms). `shedding_ns`: time of shedding itself. `seconds`: real time of
    shedder and server. The latency of a result that is due to a deadline begins with the event before which it stands.
    """

    server: Server
    shedder: ShedderOperator
    cost: Cost
    results: Latencies = field(default_factory=Latencies)
    events: Latencies = field(default_factory=Latencies)
    finished: float = 0.0
    busy_ns: float = 0.0
    shedding_ns: float = 0.0
    seconds: float = 0.0

    def run(self, blocks: Sequence[Block], arrivals: Floats) -> Iterator[Merged]:
        """`arrivals` [events of all blocks], ms; a block is there with its last event."""
        first = blocks[0].first_seq
        came = np.split(arrivals, [block.next_seq - first for block in blocks[:-1]])
        ready = np.maximum.accumulate([float(times[-1]) if len(times) else 0.0 for times in came]).tolist()
        announced = 0
        for block, times, there in zip(blocks, came, ready, strict=True):
            now = max(self.finished, there)
            while announced < len(blocks) and ready[announced] <= now:
                self.shedder.arrived(len(blocks[announced].columns), ready[announced])
                announced += 1
            since = float(times[0]) if len(times) else now
            started = time.perf_counter()
            admitted = self.shedder.apply(block, now_ms=now, appended_ms=since)
            judged = 0 if admitted.columns.dropped is None else len(admitted.columns)
            merged, work = self.server.apply(admitted, judged)
            self.seconds += time.perf_counter() - started
            self._spend(now, work, block.next_seq)
            self.events.add(self.finished - times)
            for part in merged.parts:
                last = np.clip(part.position - first, 0, max(0, len(arrivals) - 1))
                self.results.add(self.finished - arrivals[last] if len(arrivals) else np.zeros(0))
            yield merged

    def _spend(self, now: float, work: Work, position: int) -> None:
        """Advance the clock by the time of a block, and let its reader report."""
        own = self.cost.of(work)
        spent = sum(own.values()) + work.shedding_ns
        self.finished = now + spent / 1e6
        self.busy_ns += spent
        self.shedding_ns += work.shedding_ns
        load = load_of(
            {**self.server.engines.matcher.statistics(), "found": self.server.found},
            WorkDone(
                position,
                work.events,
                round(spent),
                {name: round(nanoseconds) for name, nanoseconds in own.items() if name},
                elapsed_ns=round(spent),
            ),
        )
        self.shedder.observe({"service": "matcher", **load})
