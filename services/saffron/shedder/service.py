"""The `shedder` service: forwards blocks from `windows` to `admitted`, as their readers have credit."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from saffron.engine.events.block import Block
from saffron.engine.models.features.features import Pane
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.operator import ShedderOperator
from saffron.runtime.hops.inner_hop import InnerHop
from saffron.runtime.hops.input_report import InputReport
from saffron.runtime.log import Consumer, Log, Record, TopicPartition
from saffron.runtime.log.follower import Follower
from saffron.runtime.log.topics import Topics
from saffron.runtime.process.config import ALWAYS, PASS, Settings
from saffron.runtime.streams.control_topics import reporter
from saffron.runtime.streams.streams import Streams
from saffron.runtime.telemetry.advice import Advice
from saffron.runtime.telemetry.digest import INTERVAL_MS, Every, send
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metrics import Metrics
from saffron.shedder.good_models import GoodModels
from saffron.shedder.hop import ShedderHop
from saffron.shedder.shedder_metrics import ShedderMetrics

_LOG = logging.getLogger(__name__)
_CREDIT_WAIT = 0.005
_SILENCE_MS = 3_000
"""Silence (ms) after which a reader is not waited for. Idle readers report once a second."""
_FETCH = 64
_SHARE = 0.85
"""Share of the latency bound available here. The rest is for ordering before `windows` and commits after the engine."""


class ShedderService:
    """The service on one group member: all its chains. A `Service` of `runtime.service`."""

    def __init__(self, log: Log, settings: Settings, metrics: Metrics, health: Health) -> None:
        self._log = log
        self._settings = settings
        self._health = health
        self._topics = Topics(settings.prefix)
        self._models = Follower(log, self._topics.models)
        self._load = Follower(log, self._topics.load, from_end=True)
        self._good = GoodModels()
        self._streams = Streams(log, self._topics, self._topics.windows_of, reporter(metrics, self._topics.streams))
        self._advice = Advice(log, "shedder")
        self._inputs = InputReport("shedder", metrics, health, self._advice, self._topics)
        self._digest = Every(INTERVAL_MS)
        self.shell = InnerHop(
            log,
            settings.group("shedder"),
            self,
            metrics.add,
            nonce=lambda: secrets.token_hex(16),
            retry_ms=settings.session_ms // 2,
        )
        self._shedder_metrics = ShedderMetrics(metrics, self.shell, settings.group("shedder"), self._streams.name_of)
        health.waiting("models", "reading models from the beginning")

    def step(self, now_ms: int, wait: float = 0.0) -> bool:
        """One round: new models, load reports and orders, streams, then all chains. True on progress.

        While blocks wait for credit, the round waits for load reports, 5 ms at most, and not for input.
        """
        moved = self._follow_models()
        # Credit comes by `load`: blocks in the queue wait for that, and only briefly for more input.
        waiting = any(hop.queue for hop in self._hops().values())
        for record in self._load.step(min(wait, _CREDIT_WAIT) if waiting else 0.0):
            self._take_record(record, now_ms)
        self._streams.step(now_ms)
        moved |= self.shell.step(now_ms, 0.0 if waiting else wait)
        if interval := self._digest.due(now_ms):
            self._report(now_ms, interval)
        return moved

    def close(self, now_ms: int) -> None:
        self.shell.close()
        self._advice.close()
        for follower in (self._models, self._load):
            follower.close()
        self._streams.close()

    # ------------------------------------------------------------ wiring

    def topics(self) -> Sequence[str]:
        """The input topics; none before the newest models are known, so that no block is shed by an older one."""
        if not (self._models.caught_up and self._streams.ready):
            return []
        self._health.done("models")
        self._health.done("start")
        return self._streams.topics

    def output(self, where: TopicPartition) -> TopicPartition:
        return TopicPartition(self._topics.admitted_of(self._streams.record_of(where.topic).stem), where.partition)

    def chain(self, where: TopicPartition) -> ShedderHop:
        bound = overload(self._settings)
        watched = bound is not None or self._settings.observe == ALWAYS
        observes = Pane(self._settings.pane_events) if watched else None
        operator = ShedderOperator(where.partition, self._streams.name_of(where.topic), bound, observes=observes)
        for record in self._good:
            operator.offer(record.key, record.value, record.offset)
        credit = self._settings.credit_events
        return ShedderHop(operator, where.topic, credit_events=credit, patience_ms=_SILENCE_MS)

    def poll(self, consumer: Consumer, wait: float) -> Sequence[tuple[TopicPartition, Any]]:
        found: dict[TopicPartition, list[Record]] = {}
        for record in consumer.poll(_FETCH, wait):
            found.setdefault(record.where, []).append(record)
        return list(found.items())

    def sent(self, where: TopicPartition, block: Block, now_ms: float) -> None:
        self._shedder_metrics.sent(self._hops()[where].sent(), now_ms)

    # ------------------------------------------------------------ control topics

    def _hops(self) -> dict[TopicPartition, ShedderHop]:
        return {w: c.hop for w, c in self.shell.chains.items() if isinstance(c.hop, ShedderHop)}

    def _follow_models(self) -> bool:
        """Offer new models to all chains; whether there were any."""
        records = self._models.step()
        for record in records:
            refused = [self._good.take(record)]
            refused += [hop.operator.offer(record.key, record.value, record.offset) for hop in self._hops().values()]
            for why in sorted({why for why in refused if why is not None}):
                _LOG.warning("%s; the last good one stays in force", why)
        return bool(records)

    def _take_record(self, record: Record, now_ms: int) -> None:
        """Take a load report, or an order from outside. An unreadable record is skipped: anybody may write here."""
        try:
            self._take_advice(orjson.loads(record.value or b""), now_ms)
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            _LOG.warning("load/%d passed over: %r", record.offset, error)

    def _take_advice(self, body: Mapping[str, Any], now_ms: int) -> None:
        """Apply a load report or a user's order to its chain."""
        hop = self._hops().get(TopicPartition(self._streams.topic_of(body["stream"]) or "", body["partition"]))
        if hop is None:
            return
        if body.get("kind") != "force":
            hop.take_load(body, now_ms)
        elif (refused := hop.force(body["query"], body["n"])) is not None:
            _LOG.warning("order refused: %s", refused)

    # ------------------------------------------------------------ numbers

    def _report(self, now_ms: int, interval: int) -> None:
        """Update metrics and health, and send digests."""
        hops = self._hops()
        for digest in self._shedder_metrics.report(hops, now_ms, interval):
            send(self._advice, self._topics, digest)
        self._inputs.report(self.shell.inputs, self.shell.troubles, now_ms, interval)
        if hops:
            self._health.detail("models", next(iter(hops.values())).operator.statistics()["models"])
            self._health.detail("partitions", sorted(f"{w.topic}/{w.partition}" for w in hops))


def overload(settings: Settings) -> Overload | None:
    """The latency bound and policy of the shedder, or None without one."""
    if settings.overload == PASS:
        return None
    return Overload(_SHARE * settings.latency_bound_ms, policy=settings.overload)
