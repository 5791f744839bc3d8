"""Detection of control topics that were deleted and made again while a process follows them.

Their followers would read on at the old offset, and never see the first records of the new topic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter

from saffron.errors import LogError
from saffron.runtime.log import Log
from saffron.runtime.log.topic_watch import TopicWatch
from saffron.runtime.log.topics import Topics

_EVERY_MS = 10_000
_ENGINE = attrgetter("streams", "queries", "query_status")
FOLLOWED: Mapping[str, Callable[[Topics], tuple[str, ...]]] = {
    "windowing": attrgetter("streams", "queries", "query_status", "health"),
    "shedder": attrgetter("streams", "models", "load"),
    "matcher": _ENGINE,
    "greta": _ENGINE,
    "control": attrgetter("streams", "queries", "query_status", "models", "load", "health"),
}
"""Service -> the topics that it reads whole, from the first record; it has the right to read them, and no others."""


class ControlWatch:
    """The topics that a service follows, checked every ten seconds."""

    def __init__(self, log: Log, topics: Topics, service: str) -> None:
        self._watch = TopicWatch(log)
        self._topics = FOLLOWED[service](topics)
        self._checked = -_EVERY_MS

    def step(self, now_ms: int) -> None:
        """LogError: a topic is a new one, so that the process must begin anew with it."""
        if 0 <= now_ms - self._checked < _EVERY_MS:  # `TopicWatch` looks again after each step that took long
            return
        self._checked = now_ms
        if changed := self._watch.step(now_ms, self._topics):
            raise LogError(f"made anew, and read again from the first record: {', '.join(changed)}")
