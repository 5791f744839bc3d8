"""Records into the compacted `models` topic, by a producer that is kept for as long as it does not fail."""

from __future__ import annotations

from collections.abc import Iterable

from saffron.errors import LogError
from saffron.runtime.log import Log, Producer


class Writer:
    """Writes to one topic. A failed producer is ended, for what it still has would come while all is written again; the
    next records go by a new one."""

    def __init__(self, log: Log, topic: str, *, client_id: str, seconds: float) -> None:
        """`seconds`: for which acknowledgements are waited for."""
        self._log = log
        self._topic = topic
        self._client_id = client_id
        self._seconds = seconds
        self._producer: Producer | None = None

    def write(self, records: Iterable[tuple[int, bytes, bytes | None]]) -> None:
        """(partition, key, value) of each; returns when the log has them all. LogError: it may have some."""
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
