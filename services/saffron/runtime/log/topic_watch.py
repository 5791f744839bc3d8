"""Detection of topics that were deleted and created again while a process reads them.

Topics are checked at intervals, and at once after the process may have been suspended. Otherwise a new topic that has
grown beyond the old position would be read on from there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from saffron.errors import LogError
from saffron.runtime.log import Log, TopicState

_LOG = logging.getLogger(__name__)
CHECK_MS, _STOPPED_MS = 1_000, 100


class TopicWatch:
    """The topics of one consumer, checked every `every_ms`."""

    def __init__(self, log: Log, every_ms: int = CHECK_MS) -> None:
        self._log = log
        self._every_ms = every_ms
        self._states: dict[str, TopicState] = {}
        self._missing: frozenset[str] = frozenset()
        self._checked = self._stepped = -(2**62)

    def step(self, now_ms: int, topics: Sequence[str]) -> list[str]:
        """The topics that are new ones since the last check. Missing topics are logged once."""
        stopped = now_ms - self._stepped > _STOPPED_MS
        self._stepped = now_ms
        if not topics or not (stopped or now_ms - self._checked >= self._every_ms):
            return []
        self._checked = now_ms
        try:
            found = self._log.describe(topics)
        except LogError as error:  # no broker answers
            _LOG.debug("topics were not looked at: %s", error)
            return []
        return self._compare(topics, found)

    @property
    def missing(self) -> frozenset[str]:
        """Topics that existed before and do not exist now."""
        return self._missing

    def troubles_with(self, others: Iterable[str | None]) -> list[str]:
        """Obstacles that only the user can remove: topics that are missing, and those of `others`; each once."""
        missing = (f"topic {topic} is not there: make it again, or remove its stream" for topic in self._missing)
        return sorted({*missing, *(trouble for trouble in others if trouble is not None)})

    def partitions(self, topic: str) -> int:
        """Number of partitions at the last check; 0: unknown."""
        state = self._states.get(topic)
        return 0 if state is None else state.partitions

    def _compare(self, topics: Sequence[str], found: Mapping[str, TopicState]) -> list[str]:
        missing = frozenset(topics) - found.keys()
        for topic in sorted(missing - self._missing):
            _LOG.error("topic %s is not there: it waits until the topic is made again", topic)
        self._missing = missing
        changed = [one for one, now in found.items() if one in self._states and self._states[one].id != now.id]
        self._states |= found
        return changed
