"""All re-keyed streams of one `windowing` member: a consumer group and chains for each."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from saffron.records.stream import StreamRecord
from saffron.runtime.hops.input_report import InputRow
from saffron.runtime.hops.last_hop import LastHop
from saffron.runtime.log import Consumer, Log, TopicPartition
from saffron.runtime.process.background import Background
from saffron.runtime.process.config import Settings
from saffron.runtime.streams.stream_formats import Formats
from saffron.runtime.telemetry.digest import Every
from saffron.runtime.telemetry.metrics import Metrics
from saffron.windowing.control_follower import ControlFollower
from saffron.windowing.routing.route_chain import RouteBounds, RouteChain, RoutePlan
from saffron.windowing.routing.route_metrics import RouteMetrics

_LOG = logging.getLogger(__name__)
_RETRY_MS = 1_000
_POLL_RECORDS = 2_000
_TOPICS_MS = 100
"""Interval of topic checks (ms). The other sources must wait for a partition that was added, once it is known."""
_THREADS = 8
"""Threads for commits, which mostly wait."""


class Router:
    """The chains of all re-keyed streams in the control records. `background`: runs commits; own threads if None."""

    def __init__(
        self,
        log: Log,
        settings: Settings,
        metrics: Metrics,
        control: ControlFollower,
        formats: Formats,
        background: Background | None = None,
    ) -> None:
        self._log = log
        self._settings = settings
        self._control = control
        self._formats = formats
        self._background = background
        self._metrics = RouteMetrics(metrics)
        self._threads = ExitStack()
        self._hops: dict[str, LastHop[RouteChain]] = {}
        self._opened: dict[str, tuple[str, str, str | None]] = {}
        self._seen_version = -1
        self._missing: set[str] = set()
        self._retry = Every(_RETRY_MS)

    def step(self, now_ms: int) -> bool:
        """One round over all chains; True on progress. Never waits."""
        if self._seen_version != self._control.version or (self._missing and self._retry.due(now_ms)):
            self._seen_version = self._control.version
            self._update_hops(now_ms)
        moved = False
        for hop in self._hops.values():
            moved |= hop.step(now_ms)
        return moved

    def report(self) -> None:
        """Updates the metrics."""
        self._metrics.report(self._hops, self._missing)

    @property
    def inputs(self) -> list[InputRow]:
        """Incidents of the sources."""
        return [row for hop in self._hops.values() for row in hop.inputs]

    @property
    def troubles(self) -> list[str]:
        """Obstacles that only the user can remove."""
        return [trouble for hop in self._hops.values() for trouble in hop.troubles]

    def close(self, now_ms: int) -> None:
        """Commits and leaves the groups."""
        for hop in self._hops.values():
            hop.close(now_ms)
        self._threads.close()

    # ------------------------------------------------------------ inside

    def _update_hops(self, now_ms: int) -> None:
        """Starts hops of new streams, and closes those of removed streams."""
        routed = [record for record in self._control.streams.values() if record.source is not None]
        wanted = {(one.name, one.stem, self._control.topic_of(one.source or "")): one for one in routed}
        for name, opened in list(self._opened.items()):
            if opened not in wanted:
                del self._opened[name]
                self._hops.pop(name).close(now_ms)
        self._missing.clear()
        for (name, stem, source), record in wanted.items():
            if name not in self._hops and self._open(record, source):
                self._opened[name] = name, stem, source

    def _open(self, record: StreamRecord, source: str | None) -> bool:
        """Starts a stream's hop; False if a topic is missing. `source`: topic of the stream it is made from."""
        if source is None or self._log.partitions(source) is None or self._log.partitions(record.topic) is None:
            self._missing.add(record.name)
            what = "stream %s: its topic, or that of %s, is missing; `saffron stream add` again"
            _LOG.error(what, record.name, record.source)
            return False
        self._hops[record.name] = LastHop(
            self._log,
            self._settings.group(f"router.{record.stem}"),
            topics=lambda: [source],
            chain=lambda consumer, where, clock: self._chain(record, consumer, where),
            poll_records=_POLL_RECORDS,
            check_ms=_TOPICS_MS,
        )
        return True

    def _chain(self, record: StreamRecord, consumer: Consumer, where: TopicPartition) -> RouteChain:
        if self._background is None:
            self._background = self._threads.enter_context(ThreadPoolExecutor(_THREADS, "routes")).submit
        settings = self._settings
        plan = RoutePlan(
            where=where,
            group=settings.group(f"router.{record.stem}"),
            target=record.topic,
            partitions=self._log.partitions(record.topic) or 1,
            sources=lambda: self._sources(record, where),
            key=record.key,
            transactional_id=f"{settings.prefix}router.{record.name}.{where.partition}",
            bounds=lambda: self._bounds(record),
            translate=self._formats.translation(lambda: self._control.streams.get(record.name, record)),
            commit_executor=self._background,
            commit_ms=settings.commit_ms,
            retry_ms=settings.session_ms // 2,
            max_future=settings.max_future_ms,
        )
        return RouteChain(self._log, consumer, plan)

    def _sources(self, record: StreamRecord, where: TopicPartition) -> int:
        """Number of partitions of the source, as far as known."""
        hop = self._hops.get(record.name)
        return max(where.partition + 1, 0 if hop is None else hop.partitions(where.topic))

    def _bounds(self, opened: StreamRecord) -> RouteBounds:
        """The bounds in force; for a removed stream the last ones."""
        record = self._control.streams.get(opened.name, opened)
        return RouteBounds(record.disorder or 0, record.idle)
