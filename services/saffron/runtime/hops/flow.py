"""Flow control of one input partition."""

from __future__ import annotations

from saffron.runtime.log import Consumer, TopicPartition


class Flow:
    """An input that is paused while many records wait. It begins paused, as a partition is when it is assigned.

    Each change costs the client its prefetched records.
    """

    def __init__(self, consumer: Consumer, where: TopicPartition) -> None:
        self._consumer = consumer
        self._where = where
        self._paused = True

    @property
    def is_paused(self) -> bool:
        return self._paused

    def update(self, waiting: int, most: int, fewest: int) -> None:
        """Pauses where `most` records wait or more, and resumes where no more than `fewest` do."""
        if waiting >= most:
            self.pause(True)
        elif waiting <= fewest:
            self.pause(False)

    def pause(self, pause: bool) -> None:
        """Pauses or resumes the input, if that is not its state."""
        if pause != self._paused:
            (self._consumer.pause if pause else self._consumer.resume)([self._where])
            self._paused = pause
