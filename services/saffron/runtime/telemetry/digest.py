"""Digests of each partition on the topic `health`, once a second, for people and the live page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from saffron.runtime.log.topics import Topics
from saffron.runtime.telemetry.advice import Advice
from saffron.runtime.telemetry.histogram import Buckets

INTERVAL_MS = 1_000
_RARE = ("shed", "mistyped", "left_out", "in_seconds", "silence", "late_by_silence")
"""Fields that most digests leave out."""
_FEW = frozenset({"latency", "stem", *_RARE})


@dataclass(frozen=True)
class Digest:
    """The work of one partition in the interval that ends at `at` (schemas/health.yaml).

    `stem`: the stream's `StreamRecord.stem`; in the message only where it differs from the name.
    """

    service: str
    stream: str
    partition: int
    at: int
    interval_ms: int
    events: int
    results: int = 0
    latency: Buckets | None = None
    partial_matches: int = 0
    watermark: int | None = None
    lag: int | None = None
    silent: bool | None = None
    shed: Mapping[str, Any] | None = None
    stem: str | None = None
    mistyped: Mapping[str, int] | None = None
    left_out: int | None = None
    silence: int | None = None
    late_by_silence: int | None = None
    in_seconds: int | None = None

    def body(self) -> bytes:
        """The value of the message."""
        fields = {name: getattr(self, name) for name in Digest.__dataclass_fields__ if name not in _FEW}
        fields |= {name: one for name in _RARE if (one := getattr(self, name)) is not None}
        if self.stem not in (None, self.stream):
            fields["stem"] = self.stem
        measured = self.latency is not None and bool(self.latency.counts.any())
        latency = None
        if self.latency is not None and measured:
            latency = {"p50": _finite(self.latency.quantile(0.5)), "p99": _finite(self.latency.quantile(0.99))}
        return orjson.dumps({**fields, "latency_ms": latency})


def service_digest(service: str, now_ms: int, interval_ms: int, **more: Any) -> bytes:
    """The value of a message about a whole service. `more`: fields of its own."""
    nothing = {"events": 0, "results": 0, "latency_ms": None, "partial_matches": 0, "watermark": None, "lag": None}
    head = {"service": service, "stream": None, "partition": None, "at": now_ms, "interval_ms": interval_ms}
    return orjson.dumps({**head, **nothing, **more})


def send(advice: Advice, topics: Topics, digest: Digest) -> None:
    """Writes a digest."""
    advice.send(topics.health, digest.body(), f"{digest.service}/{digest.stream}/{digest.partition}")


class Every:
    """A timer. `due` returns the time since the last interval's end in ms once the interval is over, else 0."""

    def __init__(self, interval_ms: int) -> None:
        self._interval = interval_ms
        self._last: int | None = None

    def due(self, now_ms: int) -> int:
        if self._last is None:
            self._last = now_ms
            return 0
        passed = now_ms - self._last
        if passed < self._interval:
            return 0
        self._last = now_ms
        return passed


def _finite(value: float) -> float:
    return round(min(value, 1e9), 3)
