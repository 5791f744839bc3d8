"""Queries over streams that do not exist: their status is "ended", and they begin anew when the stream is created
again.

Every member derives the statuses from the control topics alone. So repeated reports, also after a restart, are equal.
"""

from __future__ import annotations

from saffron.engine.operators.standing import compile_text
from saffron.errors import SaffronError
from saffron.records.query import QueryRecord
from saffron.records.status import ENDED, QueryStatus
from saffron.runtime.streams.statuses import Statuses
from saffron.windowing.control_follower import ControlFollower

SERVICE = "windowing"
_REASON = (
    "there is no stream {0!r} (any more): `saffron stream add {0}`, or `stream apply` with its definition, makes one, "
    "on which the query begins anew; `saffron query remove {1}` removes the query"
)


class EndedQueries:
    """Reporter of ENDED statuses. It withdraws earlier statuses of the same queries on the missing stream."""

    def __init__(self, control: ControlFollower, statuses: Statuses) -> None:
        self._control = control
        self._statuses = statuses
        self._seen_version = -1
        self._streams: dict[tuple[str, str], str | None] = {}

    def step(self) -> None:
        """Updates the statuses after a change of the control records."""
        if self._seen_version == self._control.version:
            return
        self._seen_version = self._control.version
        wanted = {}
        for query in self._control.queries.values():
            if query.record is not None and (status := self._ended_status(query.record)) is not None:
                wanted[status.key] = status
        ended = {(status.name, status.stream) for status in wanted.values()}
        for key, status in list(self._control.statuses.items()):
            over = (status.name, status.stream) in ended
            if key not in wanted and (over or (status.state == ENDED and status.service == SERVICE)):
                self._statuses.withdraw(key)
        for key, status in wanted.items():
            if self._control.statuses.get(key) != status:
                self._statuses.report(status)

    def _ended_status(self, record: QueryRecord) -> QueryStatus | None:
        """The status ENDED of a query whose stream is missing, else None."""
        stream = self._stream_of(record)
        if stream is None or stream in self._control.streams:
            return None
        return QueryStatus(
            record.name, record.version, SERVICE, stream, None, ENDED, _REASON.format(stream, record.name)
        )

    def _stream_of(self, record: QueryRecord) -> str | None:
        """The stream that a query reads; None where its text is invalid, which others report."""
        at = (record.name, record.text)
        if at not in self._streams:
            try:
                self._streams[at] = compile_text(record.text, None, record.name).stream
            except SaffronError:
                self._streams[at] = None
        return self._streams[at]
