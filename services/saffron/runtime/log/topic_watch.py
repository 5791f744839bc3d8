"""Detection of topics that were deleted and created again while a process reads them.

A new topic that has grown beyond the old position would be read on from there: messages do not carry the id of their
topic. So topics are checked at intervals, at once after the process may have been suspended, and where records come
after a pause, before they are taken.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence

from saffron.errors import BEGIN_ANEW, CREATE_ANEW, LogError
from saffron.runtime.log import Log, TopicState, no_leader

_LOG = logging.getLogger(__name__)
_CHECK_MS, _STOPPED_MS = 1_000, 100
_PAUSE_MS = 50
"""Shorter than it takes to delete a topic, make it again and fill it beyond the old position."""
_NEVER = -(2**62)


class TopicWatch:
    """The topics of one consumer, checked every `every_ms`.

    `sources`: they are topics of the user's, checked before records are taken that come after a pause too: at most 20
    requests a second.
    """

    def __init__(self, log: Log, every_ms: int = _CHECK_MS, *, sources: bool = False) -> None:
        self._log = log
        self._every_ms = every_ms
        self._sources = sources
        self._states: dict[str, TopicState] = {}
        self._missing: frozenset[str] = frozenset()
        self._checked: float = _NEVER
        self._stepped = _NEVER
        self._topics: Sequence[str] = ()
        self._arrived: dict[str, float] = {}

    def step(self, now_ms: int, topics: Sequence[str]) -> list[str]:
        """The topics that are new ones since the last check. Missing topics are logged once."""
        stopped = now_ms - self._stepped > _STOPPED_MS
        self._stepped, self._topics = now_ms, topics
        return self._check(now_ms) if stopped or now_ms - self._checked >= self._every_ms else []

    def arrived(self, now_ms: float, topics: Iterable[str]) -> list[str]:
        """The topics that are new ones since the last check. Called before records of `topics` are taken."""
        if not self._sources:
            return []
        late = [one for one in topics if now_ms - max(self._arrived.get(one, _NEVER), self._checked) > _PAUSE_MS]
        self._arrived |= dict.fromkeys(topics, now_ms)
        return self._check(now_ms) if late else []

    @property
    def missing(self) -> frozenset[str]:
        """Topics that existed before and do not exist now."""
        return self._missing

    def troubles_with(self, others: Iterable[str | None], denied: Collection[str] = ()) -> list[str]:
        """Obstacles that only the user can remove, each once: topics that are missing, partitions without a leader, and
        those of `others`.

        `denied`: topics that may not be read. They seem to be missing.
        """
        missing = [self.trouble_of(topic) for topic in self._missing if topic not in denied]
        unread = [f"topic {topic} may not be read: grant READ on it, or remove its stream" for topic in denied]
        headless = [
            no_leader(topic, one)
            for topic in self._topics
            if topic in self._states and topic not in self._missing
            for one in sorted(self._states[topic].leaderless)
        ]
        return sorted({*missing, *unread, *headless, *(trouble for trouble in others if trouble is not None)})

    def trouble_of(self, topic: str) -> str:
        """The obstacle of a topic that does not exist, and how to end it."""
        return missing_topic(topic, is_source=self._sources)

    def partitions(self, topic: str) -> int:
        """Number of partitions at the last check; 0: unknown."""
        state = self._states.get(topic)
        return 0 if state is None else state.partitions

    def _check(self, now_ms: float) -> list[str]:
        """Describes all topics, and returns those with another id than before. Missing ones are logged once.

        Nothing is noted if no broker answers.
        """
        if not self._topics:
            return []
        self._checked = now_ms
        try:
            found = self._log.describe(self._topics)
        except LogError as error:  # no broker answers
            _LOG.debug("topics were not looked at: %s", error)
            return []
        missing = frozenset(self._topics) - found.keys()
        for topic in sorted(missing - self._missing):
            _LOG.error("topic %s is not there: it waits until the topic is made again", topic)
        self._missing = missing
        changed = [one for one, now in found.items() if one in self._states and self._states[one].id != now.id]
        self._states |= found
        return changed


def missing_topic(topic: str, *, is_source: bool) -> str:
    """The obstacle of a topic that does not exist, a stream's source or one of Saffron's own, and how to end it."""
    return f"topic {topic} is not there: {'make it again, or remove its stream' if is_source else BEGIN_ANEW}"


def missing_shared_topic(topic: str) -> str:
    """The obstacle of a topic of the whole system that does not exist, and how to end it."""
    return f"topic {topic} is not there: {CREATE_ANEW}"
