"""All re-keyed streams that this member of `windowing` has a part in: a group of consumers and chains for each."""

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
from saffron.windowing.follower import Desk
from saffron.windowing.routing.figures import RoutingNumbers
from saffron.windowing.routing.route_chain import Bounds, RouteChain, RoutePlan

_LOG = logging.getLogger(__name__)
_LOOK_MS = 1_000
_POLL_RECORDS = 2_000
_TOPICS_MS = 100
"""Between looks at a source: the others do not go past a partition that has been added, once it is known."""
_THREADS = 8
"""Threads that end transactions: they mostly wait."""


class Router:
    """Follows the streams on the desk. `background`: where transactions are ended (threads of its own, if None)."""

    def __init__(
        self,
        log: Log,
        settings: Settings,
        metrics: Metrics,
        desk: Desk,
        formats: Formats,
        background: Background | None = None,
    ) -> None:
        self._log = log
        self._settings = settings
        self._desk = desk
        self._formats = formats
        self._background = background
        self._numbers = RoutingNumbers(metrics)
        self._threads = ExitStack()
        self._hops: dict[str, LastHop[RouteChain]] = {}
        self._opened: dict[str, tuple[str, str, str | None]] = {}
        self._looked = -1
        self._missing: set[str] = set()
        self._look = Every(_LOOK_MS)

    def step(self, now_ms: int) -> bool:
        """Some progress; True if there was any. Never waits."""
        if self._looked != self._desk.version or (self._missing and self._look.due(now_ms)):
            self._looked = self._desk.version
            self._take_up(now_ms)
        moved = False
        for hop in self._hops.values():
            moved |= hop.step(now_ms)
        return moved

    def report(self) -> None:
        """Say how far all of them are."""
        self._numbers.report(self._hops, self._missing)

    @property
    def inputs(self) -> list[InputRow]:
        """What became of the sources."""
        return [row for hop in self._hops.values() for row in hop.inputs]

    @property
    def troubles(self) -> list[str]:
        """What routes wait for that only the user can mend."""
        return [trouble for hop in self._hops.values() for trouble in hop.troubles]

    def close(self, now_ms: int) -> None:
        """Finish transactions and leave the groups."""
        for hop in self._hops.values():
            hop.close(now_ms)
        self._threads.close()

    # ------------------------------------------------------------ inside

    def _take_up(self, now_ms: int) -> None:
        """Begin with streams that are new, and end with those that are gone."""
        routed = [record for record in self._desk.streams.values() if record.source is not None]
        wanted = {(one.name, one.stem, self._desk.topic_of(one.source or "")): one for one in routed}
        for name, opened in list(self._opened.items()):
            if opened not in wanted:
                del self._opened[name]
                self._hops.pop(name).close(now_ms)
        self._missing.clear()
        for (name, stem, source), record in wanted.items():
            if name not in self._hops and self._open(record, source):
                self._opened[name] = name, stem, source

    def _open(self, record: StreamRecord, source: str | None) -> bool:
        """Begin with a stream, if all topics are there. `source`: that of the stream it is made from."""
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
            look_ms=_TOPICS_MS,
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
            translate=self._formats.translation(lambda: self._desk.streams.get(record.name, record)),
            commits=self._background,
            commit_ms=settings.commit_ms,
            retry_ms=settings.session_ms // 2,
            max_future=settings.max_future_ms,
        )
        return RouteChain(self._log, consumer, plan)

    def _sources(self, record: StreamRecord, where: TopicPartition) -> int:
        """How many partitions the source has, as far as is known."""
        hop = self._hops.get(record.name)
        return max(where.partition + 1, 0 if hop is None else hop.partitions(where.topic))

    def _bounds(self, opened: StreamRecord) -> Bounds:
        """Those in force now; those of a removed stream as they were."""
        record = self._desk.streams.get(opened.name, opened)
        return Bounds(record.disorder or 0, record.idle)
