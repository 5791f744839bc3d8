"""Tiny operators for tests of the shells: every event has a result, and every result hashes all events before it.

So a lost, doubled or reordered event changes every id after it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.block import Block, Control
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.raw import RawBatch
from saffron.engine.operators.addresses import Address
from saffron.engine.operators.containment import Failure
from saffron.engine.operators.operator import History, ResultOperator, State
from saffron.runtime.hops.hop import InputPartition
from saffron.runtime.hops.input_state import InputTracker
from saffron.runtime.hops.when_written import Counted
from saffron.schema.schema import Kind


def columns(seqs: Sequence[int], values: Sequence[int], times: Sequence[int]) -> Columns:
    """Events with one attribute x; ts is the sequence number."""
    seq = np.array(seqs, dtype=np.int64)
    kind = Column(Kind.STRING, np.zeros(len(seq), dtype=np.int32), ("T",))
    x = Column(Kind.INT, np.array(values, dtype=np.int64))
    return Columns(seq, seq, np.array(times, dtype=np.int64), kind, {"x": x})


class FakeResults:
    """Results as (hash, number of the result at its event). `addresses`: where they go, in turn. `past`: if any is."""

    def __init__(
        self,
        rows: list[tuple[str, int]],
        addresses: Sequence[Address | None] = (None,),
        past: NDArray[np.bool_] | None = None,
    ) -> None:
        self.rows = rows
        self.past = past
        self._addresses = addresses

    @property
    def names(self) -> tuple[str, ...]:
        return ("fake",)

    @property
    def query(self) -> NDArray[np.int32]:
        return np.zeros(len(self.rows), dtype=np.int32)

    @property
    def last_time(self) -> NDArray[np.int64]:
        return np.zeros(len(self.rows), dtype=np.int64)

    @property
    def position(self) -> NDArray[np.int64]:
        return np.zeros(len(self.rows), dtype=np.int64)

    @property
    def with_event(self) -> NDArray[np.bool_]:
        return np.zeros(len(self.rows), dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.rows)

    def json(self, start: int, stop: int) -> list[bytes]:
        return [orjson.dumps({"id": digest, "n": number}) for digest, number in self.rows[start:stop]]

    def addresses(self, start: int, stop: int) -> list[Address | None]:
        return [self._addresses[index % len(self._addresses)] for index in range(start, stop)]

    def fail(self, index: int, error: Exception) -> None:
        del index
        raise error


class FakeOperator:
    """Event x gives x results; an order to keep n gives n results at its position."""

    def __init__(self) -> None:
        self._digest = b""
        self._events = 0
        self._unsaid = 0

    def apply(self, block: Block, history: History | None = None) -> FakeResults:
        del history
        rows: list[tuple[str, int]] = []
        controls = list(block.controls)
        x = block.columns.attributes["x"].data
        for row, seq in enumerate(block.columns.seq.tolist()):
            while controls and controls[0].position <= seq:
                self._control(controls.pop(0), rows)
            self._mix(f"{seq}:{x[row]}")
            rows += [(self._digest.hex(), number) for number in range(int(x[row]))]
        for control in controls:
            self._control(control, rows)
        self._events += len(block.columns)
        self._unsaid += len(block.columns)
        return FakeResults(rows)

    def _control(self, control: Control, rows: list[tuple[str, int]]) -> None:
        if control.kind == "checkpoint":
            return
        self._mix(f"{control.position}:{control.kind}:{sorted(control.body.items())}")
        rows += [(self._digest.hex(), number) for number in range(int(control.body.get("n", 0)))]

    def _mix(self, text: str) -> None:
        self._digest = hashlib.blake2b(self._digest + text.encode(), digest_size=16).digest()

    def snapshot(self) -> State:
        return {"digest": np.frombuffer(self._digest, dtype=np.uint8), "events": np.array([self._events])}

    def restore(self, state: State) -> None:
        self._digest = state["digest"].tobytes()
        self._events = int(state["events"][0])

    def statistics(self) -> Mapping[str, Any]:
        return {"partial_matches": {"fake": 0}, "events": self._events}

    has_queries = True
    failed: frozenset[str] = frozenset()

    def failures(self) -> list[Failure]:
        return []

    def stop(self, name: str, version: int, reason: str) -> None: ...

    def part(self, names: frozenset[str]) -> None: ...

    def cost(self) -> tuple[int, int]:
        return 0, 0

    def observations(self) -> Mapping[str, list[Mapping[str, Any]]]:
        said, self._unsaid = self._unsaid, 0
        return {"observations.latency": [{"events": said}]} if said else {}


class FakeObserver:
    """Says how many events were applied."""

    def applied(self, block: Block, operator: ResultOperator, nanoseconds: int) -> None:
        """Nothing measured."""

    def messages(self, operator: ResultOperator) -> list[tuple[str, bytes, bytes]]:
        rows = operator.observations().get("observations.latency", [])
        return [("observations.latency", b"k", orjson.dumps(row)) for row in rows]


class FakeWindowing:
    """Numbers events as they arrive, cuts blocks wherever it is asked to; a checkpoint every `every` blocks."""

    def __init__(self, cuts: Iterator[int], bursts: Iterator[int], every: int = 5) -> None:
        self._cuts = cuts
        self._bursts = bursts
        self._every = every
        self._held: list[tuple[int, int, int]] = []
        self._next_seq = 0
        self._counter = 0
        self._position = 0
        self._blocks = self._uncounted = 0
        self.input = InputTracker()

    @property
    def accepts_input(self) -> bool:
        return len(self._held) < 100

    def resume(self, block: Block) -> None:
        self._next_seq, self._counter = block.next_seq, block.next_counter
        self._position = block.input["events"]

    def begin(self, partition: InputPartition, now_ms: int) -> int:
        del now_ms
        return max(partition.low, self._position)

    def records_lost(self, first: int, stop: int, now_ms: int) -> None:
        raise AssertionError("nothing is lost in these tests")

    def take(self, batch: RawBatch, now_ms: int) -> None:
        del now_ms
        assert batch.times is not None
        for row in range(len(batch)):
            offset = int(batch.offsets[row])
            assert offset >= self._position
            self._held.append((offset, int(batch.value(row)), int(batch.times[row])))

    def emit(self, now_ms: int, *, flush: bool) -> Sequence[Block]:
        del now_ms
        size = len(self._held) if flush else min(next(self._cuts), len(self._held))
        taken, self._held = self._held[:size], self._held[size:]
        if not taken:
            return []
        controls = [
            Control(self._next_seq, "keep", {"query": "fake", "n": n, "utility": []}) for n in [next(self._bursts)] if n
        ]
        if self._blocks % self._every == 0:
            controls.insert(0, Control(self._next_seq, "checkpoint", {"schema": None, "queries": []}))
        self._blocks += 1
        self._position = taken[-1][0] + 1
        seqs = range(self._next_seq, self._next_seq + len(taken))
        block = Block(
            columns(list(seqs), [x for _, x, _ in taken], [time for _, _, time in taken]),
            first_seq=self._next_seq,
            next_seq=self._next_seq + len(taken),
            watermark=self._next_seq,
            counter=self._counter,
            controls=tuple(controls),
            input={"events": self._position},
        )
        self._next_seq, self._counter = block.next_seq, block.next_counter
        self._uncounted += 1
        return [block]

    def take_counts(self) -> Sequence[Sequence[Counted]]:
        blocks, self._uncounted = self._uncounted, 0
        return [()] * blocks
