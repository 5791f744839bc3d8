"""The dead letters of windowing's own input: written before the block that passes their records."""

from __future__ import annotations

from collections.abc import Sequence

from saffron.engine.windows.dead_letters import REASONS, DeadLetter
from saffron.errors import LogError, StreamError, UnwritableError
from saffron.records.stream import StreamRecord
from saffron.runtime.dead_letters.writing import letter_message
from saffron.runtime.log import Log, Producer, TopicPartition
from saffron.runtime.log.topic_watch import missing_shared_topic
from saffron.runtime.streams.places import Place, origin_of
from saffron.runtime.telemetry.metric_names import DEAD_LETTERS, LATE_BY_SILENCE, LATE_EVENTS
from saffron.runtime.telemetry.metrics import Metrics

_FLUSH_SECONDS = 10.0
_LATE = {"late": LATE_EVENTS, "late-by-silence": LATE_BY_SILENCE}
"""Counters of events that are too late, by the reason of their dead letters."""


class LetterWriter:
    """The writer of dead letters to `topic`, for all chains of a process. Its producer writes nothing else.

    So a topic that takes nothing holds up those partitions alone that have dead letters.
    """

    def __init__(self, log: Log, topic: str, metrics: Metrics) -> None:
        self._log = log
        self._topic = topic
        self._partitions = log.partitions(topic) or 1
        self._metrics = metrics
        self._producer: Producer | None = None
        self._is_missing = False
        self._counted: dict[tuple[TopicPartition, str], int] = {}
        for reason in REASONS:  # a counter that begins at 1 shows no increase
            metrics.add(DEAD_LETTERS, 0, reason)

    def write(self, record: StreamRecord, where: TopicPartition, topic_id: str, letters: Sequence[DeadLetter]) -> None:
        """Sends dead letters of the stream `record`, and waits for the acknowledgement. `topic_id`: of the input topic.

        A chain that starts anew sends those again that no block has passed. They are counted the first time.
        StreamError: the topic does not exist, or takes nothing.
        """
        self._require_there()
        try:
            if self._producer is None:
                self._producer = self._log.producer(client_id="windowing-letters")
            for letter in letters:
                self._send(self._producer, record, where, letter)
                if letter.offset >= self._counted.get((where, topic_id), 0):
                    self._counted[where, topic_id] = letter.offset + 1
                    self._count(record, where, letter)
            self._producer.flush(_FLUSH_SECONDS)
        except LogError as error:
            self.close()
            if isinstance(error, UnwritableError):
                raise StreamError(str(error)) from error
            self._is_missing = True
            self._require_there()
            raise

    def close(self) -> None:
        """Drops what is not acknowledged."""
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    # ------------------------------------------------------------ inside

    def _require_there(self) -> None:
        """StreamError: the topic did not exist when it was written last, and does not now."""
        if self._is_missing:
            self._is_missing = self._log.partitions(self._topic) is None
        if self._is_missing:
            raise StreamError(missing_shared_topic(self._topic))

    def _send(self, producer: Producer, record: StreamRecord, where: TopicPartition, letter: DeadLetter) -> None:
        """Sends one dead letter. That of a merged stream names the stream, and the message that its event is from."""
        stream, place = "", Place(where.topic, where.partition, letter.offset)
        if record.definition is not None:
            stream, place = record.name, origin_of(letter.value) or place
        message = letter_message(
            self._topic,
            self._partitions,
            place,
            letter.timestamp,
            letter.reason,
            letter.detail,
            letter.value,
            stream,
        )
        producer.send(message.topic, message.partition, message.value, key=message.key)

    def _count(self, record: StreamRecord, where: TopicPartition, letter: DeadLetter) -> None:
        self._metrics.add(DEAD_LETTERS, 1, letter.reason)
        if letter.reason in _LATE:
            self._metrics.add(_LATE[letter.reason], 1, record.name, str(where.partition))
