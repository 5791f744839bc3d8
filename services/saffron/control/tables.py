"""Tables over the compacted topics, fed message by message, for the API.

They hold state without I/O. Views are JSON values. A message that was applied before is passed over, so a topic may be
read again, also from its beginning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from saffron.control.live import LiveStatistics
from saffron.control.queries.query_tables import Found, QueryTables
from saffron.records.query import QueryRecord
from saffron.records.stream import StreamRecord, version_after
from saffron.records.table import Unreadable
from saffron.runtime.log.topics import Topics
from saffron.runtime.streams.known_streams import KnownStreams
from saffron.runtime.telemetry.digest_fields import are_counts

_PROBLEMS_KEPT = 20

_Row = Mapping[str, Any]


class Tables(QueryTables):
    """Tables over queries, query-status, streams, models, load and health.

    `problems`: messages that cannot be read. `applied`: how many messages there were.
    """

    def __init__(self, topics: Topics, bound_ms: int) -> None:
        super().__init__(topics)
        self.live = LiveStatistics(bound_ms)
        self.problems: deque[_Row] = deque(maxlen=_PROBLEMS_KEPT)
        self.applied = 0
        self.streams = KnownStreams(topics)
        self._models: dict[str, _Row] = {}
        self._load: dict[str, _Row] = {}
        self._apply: Mapping[str, Callable[[str, _Row | None, int], None]] = {
            topics.models: self._apply_model,
            topics.load: self._apply_load,
            topics.health: self._apply_health,
        }

    @property
    def topics(self) -> tuple[str, ...]:
        """Full names of the topics that feed the tables."""
        return (self._topics.queries, self._topics.query_status, self._topics.streams, *self._apply)

    def records(self, topic: str) -> Mapping[str, QueryRecord | StreamRecord]:
        """The newest records of queries or streams, by name, as they are now."""
        return dict(self.streams.records.rows) if topic == self._topics.streams else super().records(topic)

    def next_version(self, topic: str, name: str) -> int:
        """A version above all known ones of a query or stream."""
        if topic != self._topics.streams:
            return super().next_version(topic, name)
        return version_after(self.streams.get(name), self.streams.next_offset)

    def models(self) -> list[_Row]:
        """The newest models, without their tables."""
        return [self._models[key] for key in sorted(self._models)]

    def load(self) -> list[_Row]:
        """The last load report of each reader and partition."""
        return [self._load[key] for key in sorted(self._load)]

    def query(self, name: str) -> dict[str, Any]:
        """A query as the API shows it, with its number of partial matches (null: not reported). KeyError: unknown."""
        counts = [row["partial_matches"] for row in self._load.values() if name in row.get("partial_matches", {})]
        partial = sum(one[name] for one in counts) if counts else None
        return {**self.queries.view(name), "partial_matches": partial}

    def _take(self, topic: str, key: bytes | None, value: bytes | None, at: int, offset: int) -> Found:
        """Applies a message that is new."""
        self.applied += 1
        if topic in self._apply:
            self._apply_row(topic, key, value, at)
            return None
        streams = topic == self._topics.streams
        found = self.streams.apply(key, value, offset) if streams else super()._take(topic, key, value, at, offset)
        if isinstance(found, Unreadable):
            detail = f"cannot be read: {found.reason}"
            self.problems.append({"topic": topic, "key": found.key, "at": at, "detail": detail})
        return found

    def _apply_row(self, topic: str, key: bytes | None, value: bytes | None, at: int) -> None:
        name = (key or b"").decode("utf-8", "replace")
        try:
            row = None if value is None else orjson.loads(value)
            if row is not None and not isinstance(row, dict):
                raise ValueError("the value must be a JSON object")
            self._apply[topic](name, row, at)
        except (ValueError, KeyError, TypeError) as error:
            self.problems.append({"topic": topic, "key": name, "at": at, "detail": f"cannot be read: {error!r}"})

    def _apply_model(self, key: str, value: _Row | None, at: int) -> None:
        _put(self._models, key, None if value is None else _model_row(value, at))

    def _apply_load(self, key: str, value: _Row | None, at: int) -> None:
        if value is not None and value.get("kind") == "force":
            return  # an order to the shedder, no report
        if value is not None and not are_counts(value.get("partial_matches", {})):
            raise ValueError(f"'partial_matches' cannot be {value['partial_matches']!r}")
        _put(self._load, key, value)

    def _apply_health(self, key: str, value: _Row | None, at: int) -> None:
        if value is not None:
            self.live.apply(value, at)


def _put(table: dict[str, _Row], key: str, value: _Row | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _model_row(value: _Row, at: int) -> _Row:
    """The header of a model's record, without its tables."""
    row = {name: one for name, one in value.items() if name not in ("model", "trained_through")}
    return {**row, "version": list(value["version"]), "published_at": at}
