"""Shedding on a virtual clock (`saffron replay --latency-bound`): the services' operators, time by arithmetic.

Events arrive at a given rate; one server takes them block by block, each block for as long as its counts cost
(`virtual_cost`), behind the same `ShedderOperator` and before the same engines as on Kafka. The leading share of the
stream is for calibration and training; figures are of the rest. For a stated cost and a seed all is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events import RawBatch
from saffron.engine.events.block import Block
from saffron.engine.shed import ShedderOperator
from saffron.engine.shed.settings import Overload
from saffron.errors import InputError
from saffron.language.plan import MatchPlan
from saffron.language.shedding import AUTO, NONE
from saffron.runtime.fused import DEFAULT_STREAM, Chain, Engines, Merged, Query
from saffron.runtime.replay import Replay
from saffron.runtime.virtual_latency import Latencies
from saffron.runtime.virtual_pace import Rate, cuts, recut
from saffron.runtime.virtual_server import Server
from saffron.runtime.virtual_training import Trained, train
from saffron.runtime.virtual_truth import Found, compared

TRAINING_EVENTS = 1_024
"""Events of a block while training: small enough for many samples."""


@dataclass(frozen=True)
class VirtualRun:
    """What is asked. `overload`: the bound, and the policy. `rate`: of arrival. `shedder`: of every match query;
    aggregate queries are exempt unless `aggregates`. `train`: the leading share of the events. `truth`: compare with
    the same run without shedding. `stated`: ns a check, for all queries (""), or by name; None: measured.
    `models`: encoded ones to use instead of those trained here, by key."""

    overload: Overload
    rate: Rate
    shedder: str = AUTO
    train: float = 0.3
    truth: bool = False
    aggregates: bool = False
    stated: Mapping[str, float] | None = None
    models: Mapping[bytes, bytes] = field(default_factory=dict)


class VirtualReplay(Replay):
    """A replay under a latency bound. Its results are those behind the training share.

    Once results have ended: `trained`, and what `figures` adds.
    """

    def __init__(self, queries: Sequence[Query], run: VirtualRun, **settings: Any) -> None:
        if not 0 < run.train < 1:
            raise InputError(f"a share between 0 and 1 of the events trains, not {run.train:g}")
        super().__init__(queries, **settings)
        if self.partitions > 1:
            raise InputError("a latency bound is replayed on one partition: leave --partitions out")
        self._run = run
        self._results_latency, self._event_latency = Latencies(), Latencies()
        self._figures: dict[str, Any] = {}
        self.trained: Trained | None = None

    def results(self, batches: Iterable[RawBatch]) -> Iterator[Merged]:
        """Results behind the training share, as the shed run finds them."""
        source = self._begun(batches)
        chain = self._chains[0]
        blocks = list(chain.blocks(source))
        total = blocks[-1].next_seq if blocks else 0
        share = int(total * self._run.train)
        ends = [*range(TRAINING_EVENTS, share, TRAINING_EVENTS), share]
        pieces = list(recut(blocks, ends))
        server = Server(chain.engines, self._slots(chain))
        trained = train(server, (one for one in pieces if one.next_seq <= share), DEFAULT_STREAM, self._stated())
        self.trained = trained
        server.found.clear()
        rest = [one for one in pieces if one.next_seq > share]
        arrivals = self._run.rate.arrivals(total - share, trained.capacity)
        rest = list(recut(rest, (cuts(arrivals) + share).tolist()))
        truth = self._truth(chain, rest) if self._run.truth else None
        yield from self._shed(chain, server, rest, arrivals, truth)

    def figures(self) -> dict[str, Any]:
        return super().figures() | self._figures

    def models(self) -> list[bytes]:
        """The models that were trained, encoded."""
        return [] if self.trained is None else [model.encode() for model in self.trained.models]

    # ------------------------------------------------------------ before

    def _begun(self, batches: Iterable[RawBatch]) -> Iterator[RawBatch]:
        self.queries = [replace(query, shed=self._run.shedder) for query in self.queries]
        return super()._begun(batches)

    def _bound(self, schema: Any) -> list[Query]:
        bound = super()._bound(schema)
        if self._run.aggregates:
            return bound
        exempt = {plan.name for plan in self.plans if not isinstance(plan, MatchPlan)}
        return [replace(query, shed=NONE) if query.name in exempt else query for query in bound]

    def _slots(self, chain: Chain) -> dict[str, int]:
        controls = (control.body for block in chain.opening for control in block.controls if control.kind == "query")
        return {str(body["name"]): int(body["slot"]) for body in controls}

    def _stated(self) -> Mapping[str, float] | None:
        stated = self._run.stated
        if stated is None:
            return None
        missing = [name for name in self.names if name not in stated and "" not in stated]
        if missing:
            raise InputError(f"no cost is stated for {', '.join(missing)}: give one for all (--cost NS)")
        return {name: stated.get(name, stated.get("", 0.0)) for name in self.names}

    def _truth(self, chain: Chain, rest: Sequence[Block]) -> Found:
        """What the same engines find in the rest without shedding."""
        engines = Engines(self._compile)
        engines.matcher.restore(chain.engines.matcher.snapshot())
        engines.trends.restore(chain.engines.trends.snapshot())
        found = Found(self.names)
        for block in rest:
            found.add(engines.apply(block))
        return found

    # ------------------------------------------------------------ the closed loop

    def _shed(
        self, chain: Chain, server: Server, rest: Sequence[Block], arrivals: NDArray[np.float64], truth: Found | None
    ) -> Iterator[Merged]:
        assert self.trained is not None
        shedder = self._shedder(chain, rest)
        found = Found(self.names)
        first = rest[0].first_seq
        bounds = np.array([block.next_seq - first for block in rest])
        begins = np.append(0, bounds[:-1])
        ready = [float(arrivals[max(end - 1, 0)]) if len(arrivals) else 0.0 for end in bounds.tolist()]
        free, announced = 0.0, 0
        for number, block in enumerate(rest):
            now = max(free, ready[number])
            while announced < len(rest) and ready[announced] <= now:
                shedder.arrived(len(rest[announced].columns), ready[announced])
                announced += 1
            came = arrivals[begins[number] : bounds[number]]
            since = float(came[0]) if len(came) else now
            admitted = shedder.apply(block, now_ms=now, appended_ms=since)
            merged, work = server.apply(admitted)
            spent = sum(self.trained.cost.of(work).values()) + work.shedding_ns
            free = now + spent / 1e6
            shedder.observe(_load(server, work.events, spent, block.next_seq))
            self._event_latency.add(free - came)
            last = np.concatenate([part.position for part in merged.parts]) if merged.parts else np.zeros(0, np.int64)
            if len(arrivals):
                self._results_latency.add(free - arrivals[np.clip(last - first, 0, len(arrivals) - 1)])
            if truth is not None:
                found.add(merged)
            self._peak = max(self._peak, sum(server.partial_matches().values()))
            self._results.update(merged.counts())
            yield merged
        self._figures = self._told(server, shedder, free) | (
            {} if truth is None else compared(found, truth, self._run.overload.weights)
        )

    def _shedder(self, chain: Chain, rest: Sequence[Block]) -> ShedderOperator:
        assert self.trained is not None
        shedder = ShedderOperator(0, DEFAULT_STREAM, self._run.overload)
        for block in chain.opening:
            shedder.resume(block)
        shedder.resume(replace(rest[0], controls=(), next_seq=rest[0].first_seq, counter=rest[0].counter))
        given = self._run.models or {model.key: model.encode() for model in self.trained.models}
        for offset, (key, value) in enumerate(given.items()):
            if refused := shedder.offer(key, value, offset):
                raise InputError(refused)
        return shedder

    def _told(self, server: Server, shedder: ShedderOperator, seconds: float) -> dict[str, Any]:
        assert self.trained is not None
        matcher, numbers = server.engines.matcher.statistics(), shedder.statistics()
        loss = {name: float(matcher["loss"].get(name, 0.0)) for name in self.names}
        found = server.found
        return {
            "capacity": round(self.trained.capacity, 1),
            "virtual_seconds": round(seconds / 1000, 6),
            "latency_ms": self._results_latency.summary(),
            "event_latency_ms": self._event_latency.summary(),
            "dropped_events": sum(numbers["shed_events"].values()),
            "dropped_partial_matches": matcher["dropped_partial_matches"],
            "estimated_loss": {
                name: round(loss[name] / (loss[name] + found[name]), 6) if loss[name] else 0.0 for name in self.names
            },
            "model": {name: numbers["models"].get(name) for name in self.names},
        }


def _load(server: Server, events: int, nanoseconds: float, position: int) -> dict[str, Any]:
    """A load message as the matcher would send it."""
    return {
        "service": "matcher",
        "partial_matches": server.engines.matcher.statistics()["partial_matches"],
        "position": position,
        "processing_ns": round(nanoseconds),
        "events": events,
    }
