"""Detection of control topics that were deleted and made again while a process follows them.

Their followers would read on at the old offset, and never see the first records of the new topic.
"""

from __future__ import annotations

from saffron.errors import LogError
from saffron.runtime.log import Log
from saffron.runtime.log.topic_watch import TopicWatch
from saffron.runtime.log.topics import Topics

_EVERY_MS = 5_000


class ControlWatch:
    """The topics that services follow from the first record, checked every five seconds."""

    def __init__(self, log: Log, topics: Topics) -> None:
        self._watch = TopicWatch(log, _EVERY_MS)
        self._topics = (topics.streams, topics.queries, topics.query_status, topics.models, topics.load, topics.health)

    def step(self, now_ms: int) -> None:
        """LogError: a topic is a new one, so that the process must begin anew with it."""
        if changed := self._watch.step(now_ms, self._topics):
            raise LogError(f"made anew, and read again from the first record: {', '.join(changed)}")
