"""What the compacted topics say now: the tables behind the API, fed message by message.

Pure state without I/O: `apply` takes one message, the views below are JSON-able. Applying a message again changes
nothing, so that reading a topic twice, or from the beginning after a restart, is safe.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import orjson

from saffron.control.live import Live
from saffron.control.standing import StandingQueries
from saffron.runtime.topics import DEFAULT_STREAM, Topics

_PROBLEMS_KEPT = 20


class Tables:
    """Tables over queries, query-status, streams, models, load and health. Not thread safe."""

    def __init__(self, topics: Topics, bound_ms: int) -> None:
        self.queries = StandingQueries()
        self.live = Live(bound_ms)
        self.problems: deque[Mapping[str, Any]] = deque(maxlen=_PROBLEMS_KEPT)
        self.applied = 0
        self._topics = topics
        self._streams: dict[str, Mapping[str, Any]] = {}
        self._models: dict[str, Mapping[str, Any]] = {}
        self._load: dict[str, Mapping[str, Any]] = {}
        self._apply = {
            topics.queries: self.queries.apply_query,
            topics.query_status: self.queries.apply_status,
            topics.streams: lambda key, value, at: _put(self._streams, key, value),
            topics.models: lambda key, value, at: _put(self._models, key, value and _model_row(value, at)),
            topics.load: lambda key, value, at: _put(self._load, key, value),
            topics.health: lambda key, value, at: self.live.apply(value) if value else None,
        }

    @property
    def topics(self) -> tuple[str, ...]:
        """Full names of the topics that feed the tables."""
        return tuple(self._apply)

    def apply(self, topic: str, key: bytes | None, value: bytes | None, at: int) -> None:
        """Take one message; `at`: its time in ms. One that nobody can read is noted in `problems` and skipped."""
        self.applied += 1
        name = (key or b"").decode("utf-8", "replace")
        try:
            row = None if value is None else orjson.loads(value)
            if row is not None and not isinstance(row, dict):
                raise ValueError("the value must be a JSON object")
            self._apply[topic](name, row, at)
        except (ValueError, KeyError, TypeError) as error:
            self.problems.append({"topic": topic, "key": name, "at": at, "detail": f"cannot be read: {error!r}"})

    def streams(self) -> list[Mapping[str, Any]]:
        """All streams, the default one first."""
        default = {"name": DEFAULT_STREAM, "topic": self._topics.events, "key": None, "schema": None}
        rows = {DEFAULT_STREAM: {**default, "disorder": None, "idle": None}, **self._streams}
        return list(rows.values())

    def stream(self, name: str) -> Mapping[str, Any] | None:
        """One stream's row, or None."""
        return next((row for row in self.streams() if row["name"] == name), None)

    def models(self) -> list[Mapping[str, Any]]:
        """The newest models, without their tables."""
        return [self._models[key] for key in sorted(self._models)]

    def load(self) -> list[Mapping[str, Any]]:
        """What each reader of each partition last said."""
        return [self._load[key] for key in sorted(self._load)]


def _put(table: dict[str, Mapping[str, Any]], key: str, value: Mapping[str, Any] | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _model_row(value: Mapping[str, Any], at: int) -> Mapping[str, Any]:
    row = {name: one for name, one in value.items() if name not in ("model", "trained_through")}
    return {**row, "version": list(value["version"]), "published_at": at}
