"""Changes of streams and queries by commands, while other processes write, too."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from saffron.cli.client import Client
from saffron.control.record_writer import Known, Numbered, RecordWriter
from saffron.errors import LogError
from saffron.runtime.log import Record

R = TypeVar("R")


class RecordChanges:
    """The changes of one command. Each is made of the newest records, and again if another process was faster.

    `known`: what it is made of. It is fed first.
    """

    def __init__(self, client: Client, known: Known) -> None:
        self._client = client
        group = client.settings.group("records")
        self._writer = RecordWriter(known, client.topics, client.log, self._send, group, _called)

    def change(self, topic: str, make: Callable[[], R], record_of: Callable[[R], Numbered | None]) -> R:
        """Makes a change and writes its record (None: there is nothing to write). Returns the change.

        OvertakenError: others change the same record all the time.
        """

        async def made() -> R:
            return make()

        try:
            return _driven(self._writer.change(topic, made, record_of))
        except (LogError, KeyboardInterrupt):  # no other process looks at what ours has overtaken
            with suppress(LogError):
                _driven(self._writer.catch_up(topic))
            raise

    async def _send(self, topic: str, key: bytes, value: bytes | None) -> None:
        self._client.put(topic, key.decode(), value)


async def _called(act: Callable[[Mapping[str, int]], list[Record]], since: Mapping[str, int]) -> list[Record]:
    return act(since)


def _driven(work: Coroutine[Any, Any, R]) -> R:
    """The result of a coroutine whose calls all block. There is no event loop, which would hold Ctrl-C back."""
    try:
        raise AssertionError(f"it waits for {work.send(None)}, and there is no event loop")
    except StopIteration as done:
        result: R = done.value
        return result
