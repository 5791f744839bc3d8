"""A whole system in one process: broker, clock, services as processes that can be killed, paused and replaced.

Everything that happens is drawn from one seeded generator, so that a seed is a test case. `run` lets chaos reign for a
number of turns, then lets the system settle; what readers then see is compared with what the log says it must be.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from saffron.engine.events.block import Block
from saffron.engine.events.codec import decode_block
from saffron.errors import AbortableError, FencedError, LogError
from saffron.runtime.hops.block_reader import BlockReader
from saffron.runtime.log import Committed, Record, TopicPartition, TopicSpec
from tests.memory.memory_broker import MemoryBroker, Wire
from tests.memory.memory_log import Killed, MemoryLog

_CHATTER = ("load", "health")


class Service(Protocol):
    """What a process runs."""

    def step(self, now_ms: int) -> bool: ...

    def close(self, now_ms: int) -> None: ...


Make = Callable[[MemoryLog], Service]


@dataclass
class Process:
    """One process of the world; `service` None while it is dead."""

    name: str
    make: Make
    log: MemoryLog | None = None
    service: Service | None = None
    paused_until: int = 0


@dataclass
class Chaos:
    """Chances per turn (of 1000) of each fault."""

    kill: int = 6
    kill_inside: int = 10
    pause: int = 3
    inject: int = 8
    late: int = 10
    leave: int = 3
    tear: int = 3
    forget: int = 4
    reset: int = 4


NO_CHAOS = Chaos(0, 0, 0, 0, 0, 0, 0, 0, 0)


@dataclass
class World:
    """`snapshots`: the directory of all snapshots. `positions_lost`: a group's were deleted or set otherwise."""

    seed: int
    snapshots: Path
    chaos: Chaos = field(default_factory=Chaos)
    now: int = 1_000_000
    history: list[str] = field(default_factory=list)
    positions_lost: bool = False

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.broker = MemoryBroker(lambda: self.now, session_timeout=600, transaction_timeout=900, instant=False)
        self.processes: list[Process] = []

    def topics(self, *specs: TopicSpec) -> None:
        for spec in specs:
            self.broker.create(spec)

    def add(self, name: str, make: Make) -> None:
        self.processes.append(Process(name, make))

    # ------------------------------------------------------------ running

    def run(self, turns: int, each: Callable[[], None] = lambda: None) -> None:
        """`turns` of chaos; `each` is called in every one (to produce events, say)."""
        for _ in range(turns):
            each()
            self._fault()
            self._turn(self.random.choice(self.processes))
            self._deliver(self.random.random() < 0.7)

    def settle(self, quiet: Callable[[], bool]) -> None:
        """No more faults: everybody lives, time passes, until `quiet` holds and nothing is written but chatter."""
        still, before = 0, 0
        for process in self.processes:
            process.paused_until = 0
            if process.log is not None:
                process.log.faults.clear()
        for _ in range(4000):
            for process in self.processes:
                self._turn(process)
            self._deliver(True)
            written = self.written()
            self.now += 5 if written != before else 25  # where nothing comes but what time brings
            still = still + 1 if written == before and quiet() else 0
            before = written
            if still > 5:
                return
        raise AssertionError(f"seed {self.seed}: the system does not come to rest; {self.history[-30:]}")

    def written(self) -> int:
        """How many records there are, load reports and digests left out."""
        topics = self.broker.topics.items()
        return sum(part.high for name, parts in topics if not name.endswith(_CHATTER) for part in parts)

    def _turn(self, process: Process) -> bool:
        self.now += self.random.choice((0, 0, 1, 3))
        if process.paused_until > self.now:
            return False
        try:
            if process.service is None:
                process.log = MemoryLog(self.broker)
                process.service = process.make(process.log)
                return True
            return process.service.step(self.now)
        except Killed:
            self._note(f"{process.name} died inside a call")
            process.service, process.log = None, None
            return True
        except LogError as error:
            # As in life: a service that meets an error of the log that it cannot mend ends, and is started again.
            self._note(f"{process.name} ended: {type(error).__name__} {error}")
            if "missing before" in str(error):
                raise
            self._kill(process)
            return True

    def _deliver(self, everything: bool) -> None:
        """Records on the wire land; those of dead processes too (late), unless they were lost with their sender."""
        for wire in [wire for wire in self.broker.wires if wire.queue]:
            self._land(wire, None if everything else self.random.randrange(3))

    def _land(self, wire: Wire, limit: int | None) -> None:
        if wire.held > self.now:
            return
        try:
            self.broker.deliver(wire, limit)
        except (FencedError, AbortableError):
            wire.queue.clear()

    # ------------------------------------------------------------ faults

    def _note(self, what: str) -> None:
        self.history.append(f"{self.now}: {what}")

    def _fault(self) -> None:
        chaos, draw = self.chaos, self.random.randrange(1000)
        process = self.random.choice(self.processes)
        if process.log is None or process.service is None:
            return
        for name, chance in vars(chaos).items():
            if draw < chance:
                getattr(self, f"_{name}")(process)
                return
            draw -= chance

    def _kill(self, process: Process) -> None:
        self._note(f"kill {process.name}")
        if process.log is not None:
            process.log.kill()
            for wire in process.log.wires:
                if self.random.random() < 0.5:
                    wire.queue.clear()
        process.service, process.log = None, None

    def _kill_inside(self, process: Process) -> None:
        assert process.log is not None
        process.log.kill_at(self.random.randrange(30))

    def _pause(self, process: Process) -> None:
        length = self.random.choice((50, 400, 1500))
        self._note(f"pause {process.name} for {length}")
        process.paused_until = self.now + length
        self.now += self.random.choice((0, 0, 700))

    def _inject(self, process: Process) -> None:
        operation = self.random.choice(("commit", "commit", "flush", "init", "send_offsets", "send", "committed"))
        error = self.random.choice((AbortableError("injected"), LogError("injected"), FencedError("injected")))
        self._note(f"inject {operation} {type(error).__name__} into {process.name}")
        assert process.log is not None
        process.log.inject(operation, error, after=self.random.random() < 0.5)

    def _late(self, process: Process) -> None:
        """What this process has on the wire is held up in the network."""
        assert process.log is not None
        for wire in process.log.wires:
            wire.held = self.now + self.random.choice((20, 200, 1000))

    def _leave(self, process: Process) -> None:
        self._note(f"stop {process.name}")
        assert process.service is not None
        try:
            process.service.close(self.now)
        except Killed:
            self._note(f"{process.name} died while stopping")
        except LogError as error:
            self._note(f"{process.name} could not stop cleanly: {error}")
        process.service, process.log = None, None

    def _tear(self, process: Process) -> None:
        """A snapshot loses its end, a byte of it changes, or it disappears."""
        del process
        files = sorted(self.snapshots.rglob("*.snapshot"))
        if not files:
            return
        path = self.random.choice(files)
        self._note(f"tear {path.name}")
        data = path.read_bytes()
        match self.random.randrange(3):
            case 0:
                path.write_bytes(data[: self.random.randrange(len(data))])
            case 1:
                spot = self.random.randrange(len(data))
                path.write_bytes(data[:spot] + bytes([data[spot] ^ 1]) + data[spot + 1 :])
            case _:
                path.unlink()

    def _forget(self, process: Process) -> None:
        """A group's positions are gone, as when it is deleted."""
        del process
        if groups := sorted({group for group, _ in self.broker.offsets}):
            group = self.random.choice(groups)
            self._note(f"delete group {group}")
            self.broker.forget(group)
            self.positions_lost = True

    def _reset(self, process: Process) -> None:
        """Somebody sets a group's position by Kafka's own tools, which leave no metadata."""
        del process
        if places := sorted(self.broker.offsets):
            group, where = self.random.choice(places)
            high = self.broker.partition(where).high
            offset = self.random.choice((0, high, self.random.randrange(high + 1)))
            self._note(f"set group {group} to {offset} of {where}")
            self.broker.offsets[group, where] = Committed(offset)
            self.positions_lost = True

    # ------------------------------------------------------------ what readers see

    def read(self, topic: str, partition: int, *, committed_only: bool) -> list[Record]:
        return self.broker.partition(TopicPartition(topic, partition)).read(0, 10**9, committed_only)[0]

    def blocks(self, topic: str, partition: int) -> list[Block]:
        """The blocks that count, by the readers' own rules."""
        reader = BlockReader(decode=_decoded)
        found = (reader.accept(record) for record in self.read(topic, partition, committed_only=False))
        return [block for block in found if block is not None]


_decoded = lru_cache(maxsize=4096)(decode_block)
"""Whoever waits for blocks reads all those before them again."""
