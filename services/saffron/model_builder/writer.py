"""The writer of records to one topic, with a producer that is kept until it fails."""

from __future__ import annotations

from collections.abc import Iterable

from saffron.errors import LogError
from saffron.runtime.log import Log, Producer


class Writer:
    """A writer to one topic.

    After a failure it closes the producer, whose queued records would arrive in between, and makes a new one.
    """

    def __init__(self, log: Log, topic: str, *, client_id: str, seconds: float) -> None:
        """`seconds`: the longest wait for acknowledgements."""
        self._log = log
        self._topic = topic
        self._client_id = client_id
        self._seconds = seconds
        self._producer: Producer | None = None

    def write(self, records: Iterable[tuple[int, bytes, bytes | None]]) -> None:
        """Write (partition, key, value) records, and return when the log has all. After a LogError it may have some."""
        producer = self._producer or self._log.producer(client_id=self._client_id)
        self._producer = None
        try:
            for partition, key, value in records:
                producer.send(self._topic, partition, value, key=key)
            producer.flush(self._seconds)
        except LogError:
            producer.close()
            raise
        self._producer = producer

    def close(self) -> None:
        if self._producer is not None:
            self._producer.close()
            self._producer = None
