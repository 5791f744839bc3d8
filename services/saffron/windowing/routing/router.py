"""All routed streams of one `windowing` member: a consumer group and chains for each."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from saffron.errors import DeniedError
from saffron.records.stream import StreamRecord
from saffron.runtime.hops.input_report import InputRow
from saffron.runtime.hops.last_hop import LastHop
from saffron.runtime.log import Log, TopicPartition
from saffron.runtime.log.topic_watch import TopicWatch, missing_topic
from saffron.runtime.process.background import Background, at_once, on_own_thread, one_at_a_time
from saffron.runtime.process.config import Settings
from saffron.runtime.streams.stream_formats import Formats, registry_trouble
from saffron.runtime.telemetry.digest import Every
from saffron.runtime.telemetry.metrics import Metrics
from saffron.windowing.control_follower import ControlFollower
from saffron.windowing.routing.asked_lookups import AskedLookups
from saffron.windowing.routing.heard_sources import HeardSources, reads
from saffron.windowing.routing.route_chain import REGISTRY, RouteChain
from saffron.windowing.routing.route_metrics import RouteMetrics
from saffron.windowing.routing.route_plans import RoutePlans

_LOG = logging.getLogger(__name__)
_RETRY_MS = 1_000
_POLL_RECORDS = 2_000
_TOPICS_MS = 100
"""Interval of topic checks (ms). The other sources must wait for a partition that was added, once it is known."""
_THREADS = 8
"""Threads for commits, which mostly wait."""


class Router:
    """The chains of all routed streams in the control records. `background`: runs commits; own threads if None."""

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
        self._searches: Background | None = None
        self._starts: Background = at_once
        self._report = metrics.add
        self._metrics = RouteMetrics(metrics, self._is_merged)
        self._threads = ExitStack()
        self._hops: dict[str, LastHop[RouteChain]] = {}
        self._opened: dict[str, tuple[str, str | None]] = {}
        self._plans: dict[str, RoutePlans] = {}
        self._seen_version = -1
        self._missing: dict[str, str] = {}
        self._heard = HeardSources()
        self._began: dict[str, bool] = {}
        self._now = 0
        self._retry = Every(_RETRY_MS)

    def step(self, now_ms: int) -> bool:
        """One round over all chains; True on progress. Never waits."""
        self._now = now_ms
        self._began.clear()
        if self._seen_version != self._control.version or (self._missing and self._retry.due(now_ms)):
            self._seen_version = self._control.version
            self._update_hops(now_ms)
        moved = False
        for plans in self._plans.values():
            moved |= plans.tables.step(now_ms)
        for hop in self._hops.values():
            moved |= hop.step(now_ms)
        return moved

    @property
    def has_sources(self) -> bool:
        """True if there is a source to read."""
        return bool(self._hops)

    def report(self) -> None:
        """Update the metrics of routes and tables."""
        vanished = (name for name, hop in self._hops.items() if hop.missing)
        self._metrics.report(self._hops, {*self._missing, *vanished})
        self._metrics.report_tables({name: plans.tables.tables for name, plans in self._plans.items()})

    def hear(self, body: Mapping[str, Any], now_ms: int) -> None:
        """Reads a digest of windowing."""
        self._heard.hear(body, now_ms)

    @property
    def hears(self) -> bool:
        """True if the reports of other members matter."""
        return any(plans.any_idle() for plans in self._plans.values())

    def reads(self) -> Mapping[str, Sequence[str]]:
        """What other members must know: of each stream that they read too, the sources that are read here, by stem."""
        found = {}
        for name, plans in self._plans.items():
            if plans.any_idle() and self._elsewhere(name):
                begun = [where for where, chain in self.chains(name).items() if chain.has_begun]
                found[self._opened[name][0]] = reads(begun)
        return found

    def chains(self, stream: str) -> Mapping[TopicPartition, RouteChain]:
        """This member's chains of a stream, by source partition."""
        hop = self._hops.get(stream)
        return {} if hop is None else hop.chains

    def has_read(self, stream: str, where: TopicPartition, end: int) -> bool:
        """See `Consumer.has_read`."""
        return self._hops[stream].has_read(where, end)

    def sources(self, stream: str) -> list[TopicPartition]:
        """All source partitions of a stream; none while not all are known."""
        hop = self._hops.get(stream)
        counts = {} if hop is None else {topic: hop.partitions(topic) for topic in hop.topics}
        known = all(counts.values())
        return [TopicPartition(topic, one) for topic, count in counts.items() for one in range(count) if known]

    @property
    def inputs(self) -> list[InputRow]:
        """Incidents of the sources."""
        return [row for hop in self._hops.values() for row in hop.inputs]

    @property
    def troubles(self) -> list[str]:
        """Obstacles that only the user can remove."""
        tables = (trouble for plans in self._plans.values() for trouble in plans.tables.troubles)
        hops = (trouble for hop in self._hops.values() for trouble in hop.troubles)
        return [*hops, *tables, *self._missing.values(), *self._awaited_registries()]

    def close(self, now_ms: int) -> None:
        """Commits and leaves the groups."""
        for hop in self._hops.values():
            hop.close(now_ms)
        for plans in self._plans.values():
            plans.tables.close()
        self._threads.close()

    # ------------------------------------------------------------ inside

    def _update_hops(self, now_ms: int) -> None:
        """Starts hops of new streams, and closes those of removed streams."""
        wanted = {
            one.name: (one.stem, None if one.source is None else self._control.topic_of(one.source))
            for one in self._control.streams.values()
            if one.is_routed
        }
        for name, opened in list(self._opened.items()):
            if wanted.get(name) != opened:
                del self._opened[name]
                self._hops.pop(name).close(now_ms)
                self._plans.pop(name).tables.close()
        before, self._missing = self._missing, {}
        for name, (stem, source) in wanted.items():
            if name not in self._hops and self._open(self._control.streams[name], source, before):
                self._opened[name] = stem, source

    def _open(self, record: StreamRecord, source: str | None, before: Mapping[str, str]) -> bool:
        """Starts a stream's hop; False if its source or a topic is missing, or may not be seen.

        `source`: topic of the stream that it is made from; None of a merged stream, which names its topics itself.
        `before`: the streams whose missing topics are logged already.
        """
        if trouble := self._obstacle(record, [record.topic, *([] if source is None else [source])]):
            self._missing[record.name] = trouble
            if before.get(record.name) != trouble:
                _LOG.error("stream %s: %s", record.name, trouble)
            return False
        plans, group = self._plans_of(record), self._settings.group(f"router.{record.stem}")
        self._plans[record.name] = plans
        self._hops[record.name] = LastHop(
            self._log,
            group,
            topics=lambda: _topics(plans, source),
            chain=lambda consumer, where, clock: RouteChain(self._log, consumer, plans.plan(where, group), clock),
            poll_records=_POLL_RECORDS,
            watch=TopicWatch(self._log, _TOPICS_MS, sources=True),
        )
        return True

    def _obstacle(self, record: StreamRecord, topics: Sequence[str]) -> str:
        """Why a stream's source, or one of these topics, cannot be used, and how to end that; "" if all can."""
        reads = () if record.definition is None else record.definition.numbers
        if (owner := self._control.sources.get(record.topic)) != record.name or record.topic in reads:
            of = "one of its own sources" if owner == record.name else f"stream {owner}'s"
            return (
                f"stream {record.name} would write topic {record.topic}, which is {of}: "
                f"saffron stream remove {record.name}"
            )
        if record.source is not None and record.source not in self._control.streams:
            return (
                f"stream {record.name} is made from stream {record.source!r}, which is not there (any more): "
                f"saffron stream add {record.source}, or saffron stream remove {record.name}"
            )
        for topic in topics:
            try:
                if self._log.partitions(topic) is None:
                    return missing_topic(topic, is_source=True)
            except DeniedError as error:
                return f"{error}: grant READ and WRITE on it, or remove the stream"
        return ""

    def _awaited_registries(self) -> Iterator[str]:
        """Obstacles to reading messages for which a schema registry does not answer."""
        for name, hop in self._hops.items():
            for where, chain in hop.chains.items():
                if chain.waits_for == REGISTRY and (
                    why := self._formats.waiting(self._plans[name].written(where.topic))
                ):
                    yield registry_trouble(self._control.streams[name], why)

    def _all_began(self, name: str, stem: str) -> bool:
        """See `RoutePlan.all_began`. Looked at once in a step: each chain asks."""
        if name not in self._began:
            own = all(chain.has_begun for chain in self.chains(name).values())
            self._began[name] = own and self._heard.are_read(stem, self._elsewhere(name), self._now)
        return self._began[name]

    def _elsewhere(self, name: str) -> list[TopicPartition]:
        """The source partitions of a stream that are not read here."""
        chains = self.chains(name)
        return [where for where in self.sources(name) if where not in chains]

    def _is_merged(self, name: str) -> bool:
        record = self._control.streams.get(name)
        return record is not None and record.definition is not None

    def _plans_of(self, record: StreamRecord) -> RoutePlans:
        """The plans of a stream's chains, which follow later records of the stream; the last one once it is removed.

        Starts the threads for commits, if the router was given none.
        """
        if self._searches is None:
            self._searches = one_at_a_time(self._threads, self._background)
        if self._background is None:
            self._starts = on_own_thread
            self._background = self._threads.enter_context(ThreadPoolExecutor(_THREADS, "routes")).submit

        def partitions(topic: str) -> int:
            hop = self._hops.get(record.name)
            return 0 if hop is None else hop.partitions(topic)

        return RoutePlans(
            self._log,
            self._settings,
            self._formats,
            lambda: self._control.streams.get(record.name, record),
            partitions,
            lambda: self._all_began(record.name, record.stem),
            AskedLookups(self._control, record.name),
            self._background,
            self._report,
            self._searches,
            self._starts,
        )


def _topics(plans: RoutePlans, source: str | None) -> list[str]:
    """The topics that a stream's events come from, now."""
    if source is not None:
        return [source]
    definition = plans.definition
    return [] if definition is None else sorted(one.topic for one in definition.sources)
