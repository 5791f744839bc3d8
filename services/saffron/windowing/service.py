"""The `windowing` service: chains in the shared shell, with queries and streams from the control topics."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.events.decoding.decode import prepare_decoder
from saffron.engine.events.raw import RawBatch
from saffron.engine.kernels import jit
from saffron.engine.windows.operator import WindowingOperator
from saffron.records.status import QueryStatus
from saffron.runtime.hops.inner_hop import InnerHop
from saffron.runtime.hops.input_report import InputReport
from saffron.runtime.log import Consumer, Log, TopicPartition
from saffron.runtime.log.topic_watch import TopicWatch
from saffron.runtime.log.topics import DEFAULT_STREAM, Topics
from saffron.runtime.process.background import Background
from saffron.runtime.process.config import Settings
from saffron.runtime.streams.control_topics import reporter
from saffron.runtime.streams.schema_versions import Announcements
from saffron.runtime.streams.statuses import Statuses
from saffron.runtime.streams.stream_formats import Formats, registry_trouble
from saffron.runtime.telemetry.advice import Advice
from saffron.runtime.telemetry.digest import INTERVAL_MS, Every, send, service_digest
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metrics import Metrics
from saffron.windowing.control_follower import ControlFollower
from saffron.windowing.ended_queries import SERVICE, EndedQueries
from saffron.windowing.hop import BlockLimits, Sinks, WindowingHop
from saffron.windowing.idle_sources import IdleBound, IdleSources
from saffron.windowing.letter_writer import LetterWriter
from saffron.windowing.members import Members
from saffron.windowing.routing.router import Router
from saffron.windowing.silence import Silence, SilentStream
from saffron.windowing.windowing_metrics import WindowingMetrics

_LOG = logging.getLogger(__name__)
_CONTROL_MS = 20
_ROUTED_WAIT = 0.01
"""Seconds. Sources of routed streams are looked at between the waits for others."""
_FLUSH_SECONDS = 10.0


class WindowingService:
    """The service on one group member: all its chains. A `Service` of `runtime.service`."""

    def __init__(
        self,
        log: Log,
        settings: Settings,
        metrics: Metrics,
        health: Health,
        *,
        background: Background | None,
        steady_ms: Callable[[], int] | None = None,
    ) -> None:
        """`background`: runs commits and requests; own threads if None. `steady_ms`: a clock that nobody sets (ms).

        Without `steady_ms` the time given to `step` is that of such a clock.
        """
        jit.prepare()
        prepare_decoder()
        self._log = log
        self._settings = settings
        self._metrics = metrics
        self._health = health
        self._topics = Topics(settings.prefix)
        self._control = ControlFollower(log, self._topics, reporter(metrics, *self._topics.control))
        self._producer = log.producer(client_id="windowing-side")
        self._statuses = Statuses(self._producer, self._topics)
        self._announcements = Announcements(self._producer, self._topics)
        self._ended_queries = EndedQueries(self._control, self._statuses)
        self._advice = Advice(log, "windowing")
        self._inputs = InputReport("windowing", metrics, health, self._advice, self._topics)
        self._limits = BlockLimits(settings.largest_block, settings.block_ms, settings.poll_records)
        self._poll_control, self._digest = Every(_CONTROL_MS), Every(INTERVAL_MS)
        self._now = 0
        self._formats = Formats(settings.registry_auth, lambda: self._now, background)
        self._router = Router(log, settings, metrics, self._control, self._formats, background)
        self._sources: tuple[str, ...] = ()
        self._sources_version = -1
        self._letters = LetterWriter(log, self._topics.dead_letters, metrics)
        self.shell = InnerHop(
            log,
            settings.group("windowing"),
            self,
            metrics.add,
            nonce=lambda: secrets.token_hex(16),
            retry_ms=settings.session_ms // 2,
            watch=TopicWatch(log, sources=True),
        )
        self._members: Members | None = None
        self._idle_sources = IdleSources(log, self.shell)
        self._steady_ms = steady_ms
        self._silence = Silence(log, self.shell, self._router, background)
        self._silent_streams: tuple[SilentStream, ...] = ()
        self._windowing_metrics = WindowingMetrics(
            metrics, self.shell, settings.group("windowing"), lambda topic: self._control.stream_at(topic).name
        )
        health.waiting("queries", "reading queries, statuses and streams from the beginning")

    def step(self, now_ms: int, wait: float = 0.0) -> bool:
        """Make some progress; True if there was any.

        Read the control topics if it is time. Once they are read to the end, route events to streams made from others.
        Then advance the chains, which wait for input for at most `wait` seconds.
        """
        self._now = now_ms
        moved = False
        at = now_ms if self._steady_ms is None else self._steady_ms()
        if not self._control.caught_up or self._poll_control.due(at):
            moved = self._control.step()
            self._pass_time(now_ms, at)
        if self._control.caught_up:
            self._ended_queries.step()
            moved |= self._router.step(now_ms)
            if self._router.has_sources:
                wait = min(wait, _ROUTED_WAIT)
        moved |= self.shell.step(now_ms, 0.0 if moved else wait)
        if interval := self._digest.due(now_ms):
            self._report(now_ms, interval)
        return moved

    def close(self, now_ms: int) -> None:
        """Commits routed events, ends the chains, sends the last statuses, and closes all clients."""
        self._router.close(now_ms)
        self.shell.close()
        self._producer.flush(_FLUSH_SECONDS)
        self._producer.close()
        self._advice.close()
        self._letters.close()
        self._control.close()
        if self._members is not None:
            self._members.close()
        self._silence.close()
        self._formats.close()

    # ------------------------------------------------------------ wiring

    def topics(self) -> Sequence[str]:
        """The sources, also those that are missing, which the shell tells; none before the control topics are read."""
        if self._control.caught_up and self._sources_version != self._control.version:
            self._health.done("queries")
            self._health.done("start")
            self._sources_version = self._control.version
            self._sources = tuple(sorted(self._control.sources))
            self._silent_streams = tuple(
                self._silent_stream(topic) for topic in self._sources if self._control.stream_at(topic).silence
            )
        return self._sources

    def output(self, where: TopicPartition) -> TopicPartition:
        return TopicPartition(self._topics.windows_of(self._control.stream_at(where.topic).stem), where.partition)

    def chain(self, where: TopicPartition) -> WindowingHop:
        """A new hop for a partition of a source topic. It follows later records of the stream.

        Statuses written for the partition before are forgotten, so that all are reported again.
        """
        settings, record = self._settings, self._control.stream_at(where.topic)
        stream = record.name
        operator = WindowingOperator(
            where.partition,
            stream,
            disorder_ms=settings.disorder_ms if stream == DEFAULT_STREAM else 0,
            max_block_events=settings.largest_block,
            checkpoint_every=settings.checkpoint_events,
            max_future=settings.max_future_ms,
            rekeyed=record.is_routed,
            merged=record.definition is not None,
            asks=True,
        )
        self._statuses.forget(stream, where.partition)
        sinks = Sinks(
            letters=lambda topic, letters: self._letters.write(
                self._control.stream_at(where.topic), where, topic, letters
            ),
            report_status=lambda name, version, state, reason, position, schema=None: self._statuses.report(
                QueryStatus(name, version, SERVICE, stream, where.partition, state, reason, position, schema)
            ),
            announce_schema=lambda schema, now_ms: self._announcements.need(
                record.stem, where.partition, self._control.schemas.of(record.stem), schema, now_ms
            ),
            report_error=lambda sentence: _LOG.error("%s", sentence),
        )
        return WindowingHop(
            operator,
            self._control,
            self._limits,
            sinks,
            record.stem,
            self._formats.translation(lambda: self._control.stream_at(where.topic)),
        )

    def poll(self, consumer: Consumer, wait: float) -> Sequence[tuple[TopicPartition, RawBatch]]:
        """The next messages as columns. Waits up to `wait` seconds while no chain has a block to send.

        Else it gathers messages until the next block may leave.
        """
        hops = [one.hop for one in self.shell.chains.values() if isinstance(one.hop, WindowingHop)]
        due = [ms for hop in hops if (ms := hop.due(self._now)) is not None]
        if not due:
            return consumer.poll_raw(self._settings.poll_records, wait)
        # Messages gather in the client until the next block may leave: a step costs more than the few it would take.
        wait = min(*due, self._settings.block_ms) / 1000
        if self._router.has_sources:
            wait = min(wait, _ROUTED_WAIT)
        return consumer.poll_raw(self._settings.poll_records, wait, fill=True)

    def sent(self, where: TopicPartition, block: Block, now_ms: float) -> None:
        self._windowing_metrics.sent(where, block, now_ms)

    # ------------------------------------------------------------ inside

    def _pass_time(self, now_ms: int, at: int) -> None:
        """Advances the event time of silent partitions, and of silent streams. `at`: on the clock that nobody sets."""

        def hear(body: dict[str, Any]) -> None:
            self._idle_sources.hear(body, now_ms)
            self._silence.hear(body, at)
            self._router.hear(body, now_ms)

        bounds = self._idle_bounds()
        if self._members is None and (bounds or self._silent_streams or self._router.hears):
            self._members = Members(self._log, self._topics)
        if self._members is not None:
            self._members.step(hear)
        self._idle_sources.step(now_ms, bounds)
        if self._silent_streams and (quiet := self._silence.step(at, self._silent_streams)):
            body = service_digest(SERVICE, now_ms, INTERVAL_MS, quiet=quiet)
            self._advice.send(self._topics.health, body, SERVICE)

    def _awaited_registries(self) -> Iterator[str]:
        """Obstacles to reading messages for which a schema registry does not answer."""
        for where, chain in self.shell.chains.items():
            if isinstance(chain.hop, WindowingHop) and chain.hop.awaits_registry:
                record = self._control.stream_at(where.topic)
                if why := self._formats.waiting(record):
                    yield registry_trouble(record, why)

    def _silent_stream(self, topic: str) -> SilentStream:
        record = self._control.stream_at(topic)
        return SilentStream(record.name, record.stem, topic, record.silence or 0, record.is_routed)

    def _idle_bounds(self) -> dict[str, IdleBound]:
        """The idle bounds by topic, for streams with idle detection."""
        found = {}
        for topic in self._control.sources:
            record = self._control.stream_at(topic)
            idle = record.idle or (self._settings.idle_ms if record.name == DEFAULT_STREAM else 0)
            if idle and not record.is_routed:
                found[topic] = IdleBound(record.stem, idle)
        return found

    def _report(self, now_ms: int, interval: int) -> None:
        """Sends the digests of all partitions and what routes are read here, and updates metrics and health.

        `interval`: ms that the digests are for.
        """
        self._producer.check("sending to control topics")  # what is lost is written by a service that begins anew
        bounds = self._idle_bounds()

        def silent(where: TopicPartition) -> bool | None:
            bound = bounds.get(where.topic)
            return None if bound is None else self._idle_sources.silent(where, bound.idle, now_ms)

        self._windowing_metrics.keep({name: one.stem for name, one in self._control.streams.items()})
        for where, digest in self._windowing_metrics.report(now_ms, interval, silent):
            send(self._advice, self._topics, replace(digest, stem=self._control.stream_at(where.topic).stem))
        self._router.report()
        if reads := self._router.reads():
            body = service_digest(SERVICE, now_ms, interval, reads=reads)
            self._advice.send(self._topics.health, body, SERVICE)
        inputs = [*self.shell.inputs, *self._router.inputs]
        troubles = [*self.shell.troubles, *self._router.troubles, *self._awaited_registries()]
        self._inputs.report(inputs, troubles, now_ms, interval)
        self._health.detail("partitions", sorted(f"{w.topic}/{w.partition}" for w in self.shell.chains))
