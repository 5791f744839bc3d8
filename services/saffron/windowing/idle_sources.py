"""Idle sources: a silent partition follows the watermark of its stream's other partitions.

A partition is silent when its topic's end is reached and no event came for the stream's bound. Other members own some
of the partitions. So `windowing` reports each partition's watermark and silence on `health` once a second. The lowest
watermark of the partitions not known to be silent is followed. Nothing is followed before each owner has reported. An
old, lost or repeated report does no harm, since watermarks only grow. The decision is written into the block, so no
result depends on repeating it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.runtime.hops.inner_hop import InnerHop
from saffron.runtime.log import Log, TopicPartition
from saffron.runtime.telemetry.digest import INTERVAL_MS, Every
from saffron.windowing.hop import WindowingHop

_FRESH_MS = 5 * INTERVAL_MS
"""Age at which a report of silence is no longer trusted."""
_COUNT_MS = 10_000


@dataclass(frozen=True)
class IdleBound:
    """The time (ms) after which a stream's partitions count as silent. `stem`: the stream's `StreamRecord.stem`."""

    stem: str
    idle: int


@dataclass(frozen=True)
class WatermarkReport:
    """An owner's last report on a partition. `at`: time of its arrival here (ms)."""

    watermark: int
    silent: bool
    at: int


class IdleSources:
    """Idle detection for all streams of one member."""

    def __init__(self, log: Log, shell: InnerHop) -> None:
        self._log = log
        self._shell = shell
        self._reports: dict[tuple[str, int], WatermarkReport] = {}
        self._partition_counts: dict[str, int] = {}
        self._recount = Every(_COUNT_MS)

    def step(self, now_ms: int, bounds: Mapping[str, IdleBound]) -> None:
        """Advances the watermarks of silent partitions. `bounds`: by topic, for streams with idle detection."""
        if self._recount.due(now_ms):
            self._partition_counts.clear()
        for topic, bound in bounds.items():
            self._follow(topic, bound, now_ms)

    def silent(self, where: TopicPartition, bound: int, now_ms: int) -> bool:
        """True if an own partition was read to its end and had no input for `bound` ms."""
        hop = self._shell.chains[where].hop
        assert isinstance(hop, WindowingHop)
        return not hop.holding and now_ms - hop.last_input_at >= bound and self._shell.at_end(where)

    def hear(self, body: Mapping[str, Any], now_ms: int) -> None:
        """Reads a digest of windowing."""
        if body["partition"] is not None:
            watermark = NO_WATERMARK if body["watermark"] is None else int(body["watermark"])
            where = (str(body.get("stem", body["stream"])), int(body["partition"]))
            self._reports[where] = WatermarkReport(watermark, body.get("silent") is True, now_ms)

    # ------------------------------------------------------------ inside

    def _follow(self, topic: str, bound: IdleBound, now_ms: int) -> None:
        """Raises the watermarks of a topic's silent partitions to the lowest one of all that are not silent.

        Nothing is raised if all are silent, or an active one has no watermark or no report yet.
        """
        own = {
            where: chain.hop
            for where, chain in self._shell.chains.items()
            if isinstance(chain.hop, WindowingHop) and where.topic == topic
        }
        silent = [where for where in own if self.silent(where, bound.idle, now_ms)]
        if not silent:
            return
        active = [hop.operator.watermark for where, hop in own.items() if where not in silent]
        active += self._other_watermarks(bound.stem, topic, {where.partition for where in own}, now_ms)
        if active and min(active) > NO_WATERMARK:
            for where in silent:
                own[where].follow(min(active))

    def _other_watermarks(self, stem: str, topic: str, own: set[int], now_ms: int) -> list[int]:
        """Watermarks of other members' partitions that are not silent; NO_WATERMARK for one without a report."""
        found = []
        for partition in set(range(self._partitions(topic))) - own:
            report = self._reports.get((stem, partition))
            if report is None:
                found.append(NO_WATERMARK)
            elif not (report.silent and now_ms - report.at <= _FRESH_MS):
                found.append(report.watermark)
        return found

    def _partitions(self, topic: str) -> int:
        if topic not in self._partition_counts:
            self._partition_counts[topic] = self._log.partitions(topic) or 0
        return self._partition_counts[topic]
