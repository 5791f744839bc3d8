"""A workload of small events: five types, 1,000 keys, some 60 bytes each, and a query by key within a second."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import confluent_kafka as ck

QUERY = "PATTERN SEQ(A a, B b, C c) WHERE skip-till-next-match { [key] } WITHIN 1 second"
_TICK = 0.002
"""Seconds between the events that are due together."""


def events(count: int, seed: int = 7) -> Iterator[tuple[str, int]]:
    """The type and the key of each."""
    draw = random.Random(seed)
    for _ in range(count):
        yield draw.choice("ABCDE"), draw.randrange(1000)


def line(kind: str, key: int, ts: int) -> bytes:
    """An event as JSON. `ts` in ms."""
    return b'{"type":"%s","ts":%d,"key":"k%03d","x":%d}' % (kind.encode(), ts, key, 7 * key % 100)


def write(path: Path, count: int) -> None:
    """A file of so many events, ten of them a millisecond."""
    with path.open("wb") as file:
        file.writelines(line(kind, key, at // 10) + b"\n" for at, (kind, key) in enumerate(events(count)))


def send_paced(bootstrap: str, topic: str, rate: int, seconds: float, settings: Mapping[str, Any]) -> None:
    """Sends `rate` events a second, each with the time of its sending as `ts`. `settings`: of the producer."""
    producer = ck.Producer({"bootstrap.servers": bootstrap, **settings})
    began = time.monotonic()
    for sent, (kind, key) in enumerate(events(round(rate * seconds))):
        if sent >= (time.monotonic() - began) * rate:
            producer.poll(0)
            time.sleep(_TICK)
        producer.produce(topic, line(kind, key, time.time_ns() // 1_000_000), partition=0)
    producer.flush(30)
