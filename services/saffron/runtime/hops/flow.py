"""Flow control of one input partition."""

from __future__ import annotations

from saffron.runtime.log import Consumer, TopicPartition


class Flow:
    """An input that is paused while many records wait. It begins paused, as a partition is when it is assigned.

    `most`: records from which on it is paused; `fewest`: down to which it stays so. Each change costs the client its
    prefetched records.
    """

    def __init__(self, consumer: Consumer, where: TopicPartition, most: int, fewest: int) -> None:
        self._consumer = consumer
        self._where = where
        self._most = most
        self._fewest = fewest
        self._paused = True

    def update(self, waiting: int) -> None:
        """Pauses or resumes by the number of records that wait."""
        if waiting >= self._most:
            self.pause(True)
        elif waiting <= self._fewest:
            self.pause(False)

    def pause(self, pause: bool) -> None:
        """Pauses or resumes the input, if that is not its state."""
        if pause != self._paused:
            (self._consumer.pause if pause else self._consumer.resume)([self._where])
            self._paused = pause
