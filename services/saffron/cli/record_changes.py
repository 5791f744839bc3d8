"""Changes of streams and queries by commands, while other processes write, too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from saffron.cli.client import Client
from saffron.control.record_writer import Known, Numbered, RecordWriter

R = TypeVar("R")


class RecordChanges:
    """The changes of one command. Each is made of the newest records, and again if another process was faster.

    `known`: what it is made of. It is fed first.
    """

    def __init__(self, client: Client, known: Known) -> None:
        self._client = client
        self._writer = RecordWriter(known, client.topics, client.log, self._send, client.settings.group("records"))

    def change(self, topic: str, make: Callable[[], R], record_of: Callable[[R], Numbered | None]) -> R:
        """Makes a change and writes its record (None: there is nothing to write). Returns the change.

        OvertakenError: others change the same record all the time.
        """

        async def made() -> R:
            return make()

        return asyncio.run(self._writer.change(topic, made, record_of))

    async def _send(self, topic: str, key: bytes, value: bytes | None) -> None:
        self._client.put(topic, key.decode(), value)
