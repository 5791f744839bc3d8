"""All re-keyed streams that this member of `windowing` has a part in: a group of consumers and chains for each."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from saffron.runtime.background import Background
from saffron.runtime.config import Settings
from saffron.runtime.digest import Every
from saffron.runtime.last_hop import LastHop
from saffron.runtime.log import Consumer, Log, TopicPartition
from saffron.runtime.metrics import Metrics
from saffron.runtime.stream_formats import Formats
from saffron.windowing.desk import Desk
from saffron.windowing.routing.numbers import RoutingNumbers
from saffron.windowing.routing.route_chain import Bounds, RouteChain, RoutePlan

_LOG = logging.getLogger(__name__)
_LOOK_MS = 1_000
_POLL_RECORDS = 2_000
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

    def close(self, now_ms: int) -> None:
        """Finish transactions and leave the groups."""
        for hop in self._hops.values():
            hop.close(now_ms)
        self._threads.close()

    # ------------------------------------------------------------ inside

    def _take_up(self, now_ms: int) -> None:
        """Begin with streams that are new, and end with those that are gone."""
        wanted = {name: row for name, row in self._desk.streams.items() if row.get("from")}
        for name in self._hops.keys() - wanted.keys():
            self._hops.pop(name).close(now_ms)
        self._missing.clear()
        for name, row in wanted.items():
            if name not in self._hops:
                self._open(name, row)

    def _open(self, name: str, row: Mapping[str, Any]) -> None:
        source = self._desk.topic_of(row["from"])
        if source is None or self._log.partitions(source) is None or self._log.partitions(row["topic"]) is None:
            self._missing.add(name)
            _LOG.error("stream %s: its topic, or that of %s, is missing; `saffron stream add` again", name, row["from"])
            return
        self._hops[name] = LastHop(
            self._log,
            self._settings.group(f"router.{name}"),
            topics=lambda: [source],
            chain=lambda consumer, where, clock: self._chain(name, row, consumer, where),
            poll_records=_POLL_RECORDS,
        )

    def _chain(self, name: str, row: Mapping[str, Any], consumer: Consumer, where: TopicPartition) -> RouteChain:
        if self._background is None:
            self._background = self._threads.enter_context(ThreadPoolExecutor(_THREADS, "routes")).submit
        settings = self._settings
        plan = RoutePlan(
            where=where,
            group=self._settings.group(f"router.{name}"),
            target=row["topic"],
            partitions=self._log.partitions(row["topic"]) or 1,
            sources=lambda: self._log.partitions(where.topic) or 1,
            key=row["key"],
            transactional_id=f"{settings.prefix}router.{name}.{where.partition}",
            bounds=lambda: self._bounds(name),
            translate=self._formats.translation(row),
            commits=self._background,
            commit_ms=settings.commit_ms,
            retry_ms=settings.session_ms // 2,
            max_future=settings.max_future_ms,
        )
        return RouteChain(self._log, consumer, plan)

    def _bounds(self, name: str) -> Bounds:
        row = self._desk.settings(name)
        return Bounds(int(row.get("disorder") or 0), row.get("idle"))
