"""The watermark of a routed stream: the lowest that a partition of its sources has reported.

Events of a routed partition come from every partition of the sources. Some of these are read faster than others, so the
ts of an event says nothing of what is still to come. But each source partition sends `$watermark` records of its own,
behind the events that they speak of.

Nothing passes before all partitions have reported. One that is silent is not waited for. If all are silent, the
watermark is the latest that any of them has reported.
"""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from saffron.engine.events.decoding.decode import WatermarkRecord
from saffron.engine.windows.bounds import NO_WATERMARK

_OF = 1 << 20
"""The partitions of one source lie below this number, so that one number names a source's partition."""


@dataclass
class _Words:
    """The watermarks reported by the source partitions.

    `said`: number of a source partition -> (its watermark, whether it is silent). `lookups`: number -> what its events
    have from there on. `ended`: the partitions that reported their end. `version`, `among`: of a merged stream's
    definition, and the numbers of its sources; partitions of other sources are left out.
    """

    count: int = 0
    said: dict[int, tuple[int, bool]] = field(default_factory=dict)
    lookups: dict[int, tuple[str, ...]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    version: int = 0
    among: tuple[int, ...] = ()

    def take(self, mark: WatermarkRecord) -> bool:
        """Take the watermark record of one source partition; True if it is the last one to report the end."""
        source = mark.source
        assert source is not None
        if source.version > self.version:
            self.version, self.among, self.count = source.version, source.among, 0
        if source.version == self.version:
            self.count = max(self.count, source.count)
        number = source.of * _OF + source.number
        before = self.said.get(number, (NO_WATERMARK, False))[0]
        self.said[number] = (max(before, mark.ts), source.silent)
        self.lookups[number] = source.lookups
        if mark.end:
            self.ended.add(number)
        if len(self.ended) < self.count:
            return False
        self.ended.clear()
        return True

    @property
    def lowest(self) -> int:
        """The stream's watermark: the least of the partitions that are not silent, or the greatest if all are silent.

        NO_WATERMARK until every partition has reported.
        """
        said = [self.said[number] for number in self._counted]
        if len(said) < self.count:
            return NO_WATERMARK
        return min((ts for ts, silent in said if not silent), default=max((ts for ts, _ in said), default=NO_WATERMARK))

    @property
    def common_lookups(self) -> frozenset[str]:
        """The look-ups that events of all source partitions have from here on."""
        each = [frozenset(self.lookups.get(number, ())) for number in self._counted]
        return frozenset() if len(each) < self.count or not each else frozenset.intersection(*each)

    @property
    def _counted(self) -> list[int]:
        """The numbers of the partitions that have reported, of sources that the stream still has."""
        return [number for number in self.said if not self.among or number // _OF in self.among]


class Sources:
    """All sources of one partition. `record` and `of`: what a new owner begins with, at the record it reads first."""

    def __init__(self) -> None:
        self._now = _Words()
        self._then = _Words()
        self._since: deque[tuple[int, WatermarkRecord]] = deque()

    @classmethod
    def of(cls, record: list[Any] | None) -> Sources:
        """The state from a block's input."""
        found = cls()
        if record is not None:
            count, said, ended, *definition = record
            for words in (found._now, found._then):
                words.count, words.ended = count, set(ended)
                if definition:
                    words.version, words.among = definition[0], tuple(definition[1])
                words.said = {number: (ts, silent) for number, ts, silent, *_ in said}
                words.lookups = {number: tuple(lookups) for number, _, _, *lookups in said}
        return found

    def heard(self, offset: int, mark: WatermarkRecord) -> WatermarkRecord:
        """The record at `offset` as a watermark record of the partition as a whole."""
        self._since.append((offset, mark))
        end = self._now.take(mark)
        return replace(mark, ts=self._now.lowest, end=end)

    @property
    def lookups(self) -> frozenset[str]:
        """The look-ups that all events have which are still to be read."""
        return self._now.common_lookups

    def lookups_since(self, position: int) -> frozenset[str]:
        """The look-ups that all events from the record at `position` on have."""
        words = deepcopy(self._then)
        for offset, mark in self._since:
            if offset < position:
                words.take(mark)
        return words.common_lookups

    def record(self, position: int) -> list[Any] | None:
        """The state for a block's input: the reports before the record at `position`, which never goes back."""
        while self._since and self._since[0][0] < position:
            self._then.take(self._since.popleft()[1])
        words = self._then
        if not words.count:
            return None
        said = [[number, *word, *words.lookups.get(number, ())] for number, word in sorted(words.said.items())]
        definition = [words.version, list(words.among)] if words.version else []
        return [words.count, said, sorted(words.ended), *definition]
