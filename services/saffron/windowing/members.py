"""The digests of all members of windowing, from `health`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from saffron.runtime.log import Log
from saffron.runtime.log.follower import Follower
from saffron.runtime.log.topics import Topics


class Members:
    """Reader of what members of windowing report from now on, the own one among them."""

    def __init__(self, log: Log, topics: Topics) -> None:
        self._follower = Follower(log, topics.health, from_end=True)

    def step(self, hear: Callable[[dict[str, Any]], None]) -> None:
        """Gives the digests since the last call to `hear`. One that it cannot read is left out."""
        for record in self._follower.step():
            try:
                body = orjson.loads(record.value or b"")
                if body["service"] == "windowing":
                    hear(body)
            except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError):
                continue  # another kind of message

    def close(self) -> None:
        self._follower.close()
