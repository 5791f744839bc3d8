"""The real services as processes on a real broker: started, killed, stopped and woken; and what a reader then sees."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from saffron.runtime.log import Consumer, TopicPartition
from saffron.runtime.log.kafka.kafka_log import connect
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.log.topics import Topics, topic_specs
from saffron.runtime.process.config import Settings, environment_of

SERVICES = ("windowing", "shedder", "matcher", "greta")
ROOT = Path(__file__).parents[3]
_SESSION_MS = 2_000
END = b'{"type":"$watermark","ts":1700000000000,"end":true}'
"""Closes every window: later than all events, and not ahead of the clock."""


@dataclass
class Reader:
    """Reads a topic of results as a user would, read_committed, from the beginning."""

    consumer: Consumer
    found: list[list[bytes]]

    def step(self, wait: float) -> int:
        """Read what is there; how many results there are so far."""
        for record in self.consumer.poll(5_000, wait):
            self.found[record.partition].append(record.value or b"")
        return self.count

    @property
    def count(self) -> int:
        return sum(map(len, self.found))


class System:
    """One system under a prefix of its own. `start` and `kill` work on single processes, by name."""

    def __init__(self, bootstrap: str, prefix: str, directory: Path, *, partitions: int) -> None:
        self.partitions = partitions
        self.topics = Topics(prefix)
        self.settings = replace(
            Settings(),
            data=directory,
            snapshots=directory / "snapshots",
            bootstrap=bootstrap,
            prefix=prefix,
            partitions=partitions,
            session_ms=_SESSION_MS,
            snapshot_ms=1_000,
            checkpoint_events=20_000,
        )
        self.log = connect(self.settings)
        self.log.create_topics(topic_specs(prefix, partitions))
        self.producer = self.log.producer(bulk=True)
        self.directory = directory
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.readers = {name: self._reader(name) for name in (self.topics.complex_events, self.topics.trends)}

    def _reader(self, topic: str) -> Reader:
        consumer = self.log.consumer(f"{topic}-test", committed_only=True, patient=True)
        consumer.assign({TopicPartition(topic, index): 0 for index in range(self.partitions)})
        return Reader(consumer, [[] for _ in range(self.partitions)])

    # ------------------------------------------------------------ processes

    def start(self, service: str, name: str = "", command: Sequence[str] = ()) -> None:
        """Start one, with another command than its own if there is one; its output is in a file for `last_words`."""
        path = os.pathsep.join(str(ROOT / part) for part in ("services", "tools"))
        environment = {**os.environ, **environment_of(self.settings), "PYTHONPATH": path}
        with (self.directory / f"{service}.log").open("ab") as output:
            self.running[name or service] = subprocess.Popen(
                [sys.executable, "-m", *(command or ("saffron", "run", service))],
                env=environment,
                stdout=output,
                stderr=output,
            )

    def kill(self, name: str) -> None:
        """kill -9."""
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def send(self, name: str, number: signal.Signals) -> None:
        self.running[name].send_signal(number)

    def close(self) -> None:
        for process in self.running.values():
            process.kill()
            process.wait()
        for reader in self.readers.values():
            reader.consumer.close()
        self.producer.close()
        self.log.close()

    def last_words(self) -> str:
        """The ends of all services' logs, for a failure's message."""
        parts = []
        for path in sorted(self.directory.glob("*.log")):
            parts.append(f"--- {path.name}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-12:]))
        return "\n".join(parts)

    # ------------------------------------------------------------ input

    def stream(self, schema: object) -> None:
        body = {"name": "events", "topic": self.topics.events, "key": "symbol", "schema": schema}
        body |= {"disorder": 0, "idle": None}
        self.producer.send(self.topics.streams, 0, orjson.dumps(body), key=b"events")
        self.producer.flush(20)

    def query(self, name: str, text: str) -> None:
        body = {"name": name, "version": 1, "op": "add", "text": text, "from": "now"}
        self.producer.send(self.topics.queries, 0, orjson.dumps(body), key=name.encode())
        self.producer.flush(20)

    def produce(self, events: Sequence[tuple[bytes, bytes]]) -> None:
        """(key, value) of each event; acknowledged when it returns."""
        self.producer.send_many(self.topics.events, [{"key": key, "value": value} for key, value in events])
        self.producer.flush(60)

    def end(self) -> None:
        """Close every window of every partition."""
        for partition in range(self.partitions):
            self.producer.send(self.topics.events, partition, END)
        self.producer.flush(20)

    # ------------------------------------------------------------ output

    def active(self, count: int) -> None:
        """Wait until `count` (query, partition) pairs have been taken up."""
        consumer = self.log.consumer(f"{self.topics.query_status}-test", committed_only=True, patient=True)
        consumer.assign({TopicPartition(self.topics.query_status, 0): 0})
        seen: set[tuple[str, int]] = set()

        def taken_up() -> bool:
            for record in consumer.poll(100, 0.05):
                body = orjson.loads(record.value or b"{}")
                assert body["state"] != "rejected", body
                if body["state"] == "active":
                    seen.add((body["name"], body["partition"]))
            return len(seen) == count

        self.wait(taken_up, 60, "the queries were not taken up")
        consumer.close()

    def results(self, wait: float = 0.05) -> int:
        """How many results have been read so far, after reading what is there."""
        return sum(reader.step(wait) for reader in self.readers.values())

    def wait(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"{what} within {seconds:g} s\n{self.last_words()}"


def split(lines: Sequence[bytes], partitions: int) -> list[list[tuple[bytes, bytes]]]:
    """(key, line) by the partition that the producer will choose."""
    parts: list[list[tuple[bytes, bytes]]] = [[] for _ in range(partitions)]
    for line in lines:
        key = orjson.loads(line)["symbol"].encode()
        parts[partition_of(key, partitions)].append((key, line))
    return parts
