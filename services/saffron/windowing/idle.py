"""Idle sources: a partition that has been silent for its stream's bound follows the others' watermark.

The others may be other members': `windowing` tells the watermark of each partition on `health`, once a second, and
whether it is silent. A word that is old, lost or repeated is safe, for a watermark only grows: the slowest of those
that are not known to be silent is followed, and none while a partition's owner has not yet spoken. What is decided here
is written into the block, so that no answer depends on it being decided again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.runtime.hops.inner_hop import InnerHop
from saffron.runtime.log import Log, TopicPartition
from saffron.runtime.log.follower import Follower
from saffron.runtime.log.topics import Topics
from saffron.runtime.telemetry.digest import INTERVAL_MS, Every
from saffron.windowing.hop import WindowingHop

_FRESH_MS = 5 * INTERVAL_MS
"""A partition that was silent so long ago may speak again by now."""
_COUNT_MS = 10_000


@dataclass(frozen=True)
class Bound:
    """After how long (ms) a partition counts as silent. `stem`: of its stream (`StreamRecord.stem`)."""

    stem: str
    idle: int


@dataclass(frozen=True)
class Word:
    """What its owner last said of a partition; `at`: when it was heard here."""

    watermark: int
    silent: bool
    at: int


class Idle:
    """All streams of one member."""

    def __init__(self, log: Log, topics: Topics, shell: InnerHop) -> None:
        self._log = log
        self._shell = shell
        self._follower = Follower(log, topics.health, from_end=True)
        self._words: dict[tuple[str, int], Word] = {}
        self._counts: dict[str, int] = {}
        self._count = Every(_COUNT_MS)

    def step(self, now_ms: int, bounds: Mapping[str, Bound]) -> None:
        """Let silent partitions follow. `bounds`: of the streams where they may, by the topic of each."""
        for record in self._follower.step():
            self._read(record.value, now_ms)
        if self._count.due(now_ms):
            self._counts.clear()
        for topic, bound in bounds.items():
            self._follow(topic, bound, now_ms)

    def silent(self, where: TopicPartition, bound: int, now_ms: int) -> bool:
        """Whether an own partition has been read to its end and has said nothing for `bound`."""
        hop = self._shell.chains[where].hop
        assert isinstance(hop, WindowingHop)
        return not hop.holding and now_ms - hop.heard_at >= bound and self._shell.at_end(where)

    def close(self) -> None:
        self._follower.close()

    # ------------------------------------------------------------ inside

    def _read(self, value: bytes | None, now_ms: int) -> None:
        try:
            body = orjson.loads(value or b"")
            if body["service"] == "windowing" and body["partition"] is not None:
                watermark = NO_WATERMARK if body["watermark"] is None else int(body["watermark"])
                where = (str(body.get("stem", body["stream"])), int(body["partition"]))
                self._words[where] = Word(watermark, body.get("silent") is True, now_ms)
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return  # nothing of ours

    def _follow(self, topic: str, bound: Bound, now_ms: int) -> None:
        own = {
            where: chain.hop
            for where, chain in self._shell.chains.items()
            if isinstance(chain.hop, WindowingHop) and where.topic == topic
        }
        silent = [where for where in own if self.silent(where, bound.idle, now_ms)]
        if not silent:
            return
        speaking = [hop.operator.watermark for where, hop in own.items() if where not in silent]
        speaking += self._elsewhere(bound.stem, topic, {where.partition for where in own}, now_ms)
        if speaking and min(speaking) > NO_WATERMARK:
            for where in silent:
                own[where].follow(min(speaking), now_ms)

    def _elsewhere(self, stem: str, topic: str, own: set[int], now_ms: int) -> list[int]:
        """Watermarks of other members' partitions that are not silent; of one not yet heard of: none at all."""
        found = []
        for partition in set(range(self._partitions(topic))) - own:
            word = self._words.get((stem, partition))
            if word is None:
                found.append(NO_WATERMARK)
            elif not (word.silent and now_ms - word.at <= _FRESH_MS):
                found.append(word.watermark)
        return found

    def _partitions(self, topic: str) -> int:
        if topic not in self._counts:
            self._counts[topic] = self._log.partitions(topic) or 0
        return self._counts[topic]
