"""Messages that may be lost: load reports on `load`, and digests on `health`. No answer depends on them."""

from __future__ import annotations

import logging

from saffron.errors import DeniedError, LogError, WriteDeniedError
from saffron.runtime.log import Log

_LOG = logging.getLogger(__name__)


class Advice:
    """The writer of one process, with a producer of its own. What cannot be written is left out, and logged once.

    DeniedError, WriteDeniedError: the process lacks a right, which is to be told.
    """

    def __init__(self, log: Log, service: str) -> None:
        self._producer = log.producer(client_id=f"{service}-advice")
        self._refusals: set[str] = set()

    def send(self, topic: str, value: bytes, key: str) -> None:
        """Writes to partition 0 of a topic. A failure is known only when a later message is sent."""
        try:
            self._producer.check(f"sending to {topic}")
            self._producer.send(topic, 0, value, key=key.encode())
        except (DeniedError, WriteDeniedError):
            raise
        except LogError as error:
            if str(error) not in self._refusals:
                _LOG.error("what tells others of this service is left out: %s", error)
            self._refusals.add(str(error))

    def close(self) -> None:
        """Closes the producer; what it still has may be lost."""
        self._producer.close()
