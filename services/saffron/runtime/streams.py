"""Which streams there are, for services that read an internal topic of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from saffron.runtime.digest import Every
from saffron.runtime.follower import Follower
from saffron.runtime.log import Log
from saffron.runtime.topics import DEFAULT_STREAM, Topics

_LOOK_MS = 500


class Streams:
    """Follows `streams`. `topic`: the internal topic of a stream; a stream without it is left out for now."""

    def __init__(self, log: Log, topics: Topics, topic: Callable[[str], str]) -> None:
        self._log = log
        self._topic = topic
        self._follower = Follower(log, topics.streams)
        self._known: dict[str, str] = {topic(DEFAULT_STREAM): DEFAULT_STREAM}
        self._missing: set[str] = set()
        self._given: set[str] = set()
        self._look = Every(_LOOK_MS)

    def step(self, now_ms: int) -> None:
        """Read what is new, now and then."""
        if self.ready and not self._look.due(now_ms):
            return
        for record in self._follower.step():
            name = (record.key or b"").decode(errors="replace")
            (self._given.add if _has_schema(record.value) else self._given.discard)(name)
            if name == DEFAULT_STREAM:
                continue
            if record.value is None:
                self._missing.discard(name)
                self._known.pop(self._topic(name), None)
            elif self._topic(name) not in self._known:
                self._missing.add(name)
        for name in list(self._missing):
            if self._log.partitions(self._topic(name)) is not None:
                self._missing.discard(name)
                self._known[self._topic(name)] = name

    @property
    def ready(self) -> bool:
        return self._follower.caught_up

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(sorted(self._known))

    def of(self, topic: str) -> str:
        """The stream whose topic this is."""
        return self._known[topic]

    def has_schema(self, stream: str) -> bool:
        """Whether the stream was given a schema, so that one comes even before its first event."""
        return stream in self._given

    def close(self) -> None:
        self._follower.close()


def _has_schema(value: bytes | None) -> bool:
    try:
        row: Any = orjson.loads(value or b"null")
    except orjson.JSONDecodeError:
        return False
    return isinstance(row, dict) and row.get("schema") is not None
