"""The `shedder` service on a log: blocks from `windows` to `admitted`, as the readers behind it have credit."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from saffron.engine.events.block import Block
from saffron.engine.events.codec import decode_block, encode_block
from saffron.engine.shed.operator import ShedderOperator
from saffron.runtime.config import Settings
from saffron.runtime.digest import INTERVAL_MS, Digest, Every, send
from saffron.runtime.follower import Follower
from saffron.runtime.health import Health
from saffron.runtime.histogram import Buckets
from saffron.runtime.inner_hop import InnerHop
from saffron.runtime.log import Consumer, Log, Record, TopicPartition
from saffron.runtime.metric_names import (
    BLOCKS,
    EVENTS_IN,
    IN_FLIGHT,
    MODEL_VERSION,
    PROCESSING_LATENCY,
    QUEUEING_LATENCY,
    SHEDDING_LATENCY,
)
from saffron.runtime.metrics import Metrics
from saffron.runtime.streams import Streams
from saffron.runtime.tags import claim_value
from saffron.runtime.topics import Topics
from saffron.shedder.hop import ShedderHop

_LOG = logging.getLogger(__name__)
_PATIENCE_MS = 3_000
"""A reader that has said nothing for this long is not waited for (an idle one reports twice a second)."""
_FETCH = 64


class ShedderService:
    """All chains of this member. A `Service` of `runtime.service`."""

    def __init__(self, log: Log, settings: Settings, metrics: Metrics, health: Health) -> None:
        self._settings = settings
        self._metrics = metrics
        self._health = health
        self._topics = Topics(settings.prefix)
        self._models = Follower(log, self._topics.models)
        self._load = Follower(log, self._topics.load, from_end=True)
        self._newest: dict[bytes | None, Record] = {}
        self._streams = Streams(log, self._topics, self._topics.windows_of)
        self._producer = log.producer(client_id="shedder-side")
        self._digest = Every(INTERVAL_MS)
        self._events: dict[TopicPartition, int] = {}
        self.shell = InnerHop(
            log,
            settings.group("shedder"),
            self,
            nonce=lambda: secrets.token_hex(16),
            retry_ms=settings.session_ms // 2,
        )
        health.waiting("models", "reading models from the beginning")

    def step(self, now_ms: int, wait: float = 0.0) -> bool:
        moved = self._follow_models()
        for record in self._load.step():
            self._hear(record, now_ms)
            moved = True
        self._streams.step(now_ms)
        # A block waits for credit that comes by `load`: with one in the queue, look again soon.
        waiting = any(hop.queue for hop in self._hops().values())
        moved |= self.shell.step(now_ms, min(wait, 0.001) if waiting else wait)
        if interval := self._digest.due(now_ms):
            self._report(now_ms, interval)
        return moved

    def close(self, now_ms: int) -> None:
        self.shell.close()
        self._producer.close()
        for follower in (self._models, self._load):
            follower.close()
        self._streams.close()

    # ------------------------------------------------------------ wiring

    def topics(self) -> Sequence[str]:
        """None before the newest models are known: no block may pass by an older one."""
        if not (self._models.caught_up and self._streams.ready):
            return []
        self._health.done("models")
        self._health.done("start")
        return self._streams.topics

    def output(self, where: TopicPartition) -> TopicPartition:
        return TopicPartition(self._topics.admitted_of(self._streams.of(where.topic)), where.partition)

    def chain(self, where: TopicPartition) -> ShedderHop:
        operator = ShedderOperator(where.partition, self._streams.of(where.topic))
        for record in self._newest.values():
            operator.offer(record.key, record.value, record.offset)
        return ShedderHop(operator, decode_block, credit_events=self._settings.credit_events, patience_ms=_PATIENCE_MS)

    def poll(self, consumer: Consumer, wait: float) -> Sequence[tuple[TopicPartition, Any]]:
        found: dict[TopicPartition, list[Record]] = {}
        for record in consumer.poll(_FETCH, wait):
            found.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
        return list(found.items())

    def encode(self, block: Block) -> bytes:
        self._metrics.add(BLOCKS, 1, "admitted")
        return encode_block(block)

    def decode(self, value: bytes) -> Block:
        return decode_block(value)

    def claim(self, nonce: str) -> bytes:
        return claim_value(nonce)

    # ------------------------------------------------------------ control topics

    def _hops(self) -> dict[TopicPartition, ShedderHop]:
        return {w: c.hop for w, c in self.shell.chains.items() if isinstance(c.hop, ShedderHop)}

    def _follow_models(self) -> bool:
        records = self._models.step()
        for record in records:
            self._newest[record.key] = record
            for hop in self._hops().values():
                refused = hop.operator.offer(record.key, record.value, record.offset)
                if refused is not None:
                    _LOG.warning("%s; the last good one stays in force", refused)
        return bool(records)

    def _hear(self, record: Record, now_ms: int) -> None:
        """A load report, or an order from outside; anybody may write here, so what makes no sense is passed over."""
        try:
            self._take_advice(orjson.loads(record.value or b""), now_ms)
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
            _LOG.warning("load/%d passed over: %r", record.offset, error)

    def _take_advice(self, body: Mapping[str, Any], now_ms: int) -> None:
        hop = self._hops().get(TopicPartition(self._topics.windows_of(body["stream"]), body["partition"]))
        if hop is None:
            return
        if body.get("kind") != "force":
            hop.hear(body, now_ms)
        elif (refused := hop.force(body["query"], body["n"])) is not None:
            _LOG.warning("order refused: %s", refused)

    # ------------------------------------------------------------ numbers

    def _report(self, now_ms: int, interval: int) -> None:
        for where, hop in self._hops().items():
            operator, partition = hop.operator, str(where.partition)
            waits = np.array(hop.waits, dtype=np.float64)
            hop.waits.clear()
            buckets = Buckets()
            if len(waits):
                self._metrics.observe(QUEUEING_LATENCY, waits, partition)
                buckets.observe(waits)
            numbers = operator.statistics()
            events = max(0, numbers["events"] - self._events.get(where, 0))
            self._events[where] = numbers["events"]
            self._metrics.add(EVENTS_IN, events, operator.stream, partition)
            self._metrics.set(IN_FLIGHT, hop.credits.in_flight(now_ms), "slowest", partition)
            self._metrics.set(PROCESSING_LATENCY, (numbers["processing_ms"] or 0.0) / 1000, partition)
            self._metrics.set(SHEDDING_LATENCY, (numbers["shedding_ms"] or 0.0) / 1000, partition)
            for query, (epoch, batch) in numbers["models"].items():
                self._metrics.set(MODEL_VERSION, epoch, query, "epoch")
                self._metrics.set(MODEL_VERSION, batch, query, "batch")
            partial = sum(numbers["partial_matches"].values())
            digest = Digest("shedder", operator.stream, where.partition, now_ms, interval, events, 0, buckets, partial)
            send(self._producer, self._topics, digest)
        if hops := self._hops():
            self._health.detail("models", next(iter(hops.values())).operator.statistics()["models"])
            self._health.detail("partitions", sorted(f"{w.topic}/{w.partition}" for w in hops))
