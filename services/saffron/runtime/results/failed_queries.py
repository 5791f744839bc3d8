"""Failed queries of one partition, each with the place from which on it produces no results.

The cause of a failure may be gone after a restart, and the stream does not record it. So failed queries are committed
with the results: the next owner stops them at the same place, whichever snapshot it restores. An entry is kept until a
control record in the log ends the query. This is a newer version, a removal, or the failure that windowing copies from
`query-status`.

A failure in a block whose results are in the log already, which is applied again for the state alone, may be known and
past: its query was ended since. So it is reported once these blocks have been applied, if no control record in them
ends its query.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import orjson

from saffron.engine.events.block import Block, Control
from saffron.engine.operators.containment import Failure
from saffron.engine.operators.operator import ResultOperator
from saffron.errors import SaffronError

_LOG = logging.getLogger(__name__)
_MOST_BYTES = 3_400
"""Size limit for all entries. Brokers store at most 4,096 bytes beside an offset, incidents of the input among them."""

ReportFailure = Callable[[Failure], None]
"""A function called with a failure, to report it."""


@dataclass(frozen=True)
class FailedQuery:
    """A failed query (`name`, and the `version` that added it) and the place where it stops.

    Without `index` it does not take the block at `offset`. With `index` it has taken that block, and its results end
    before that index among all results. `ended_at`: offset of the block whose control record ends the query, once
    known.
    """

    name: str
    version: int
    offset: int
    index: int | None = None
    ended_at: int | None = None

    @property
    def stops_at(self) -> int:
        """Offset of the first block that the query does not take."""
        return self.offset + (self.index is not None)


class FailedQueries:
    """The failed queries of one chain. `report`: called once with each new failure."""

    def __init__(self, report: ReportFailure) -> None:
        self._report = report
        self._failed: dict[tuple[str, int], FailedQuery] = {}
        self._stopped: set[tuple[str, int]] = set()
        self._unreported: dict[tuple[str, int], Failure] = {}
        self._committed = 0

    def take_over(self, committed: Iterable[FailedQuery], offset: int) -> None:
        """Adds the entries of the committed place, at `offset`. Entries that were never committed stay."""
        self._failed |= {(one.name, one.version): one for one in committed}
        self._stopped.clear()
        self._committed = offset

    def stop_before(self, operator: ResultOperator, offset: int) -> None:
        """Stops in `operator` the queries that do not take the block at `offset`. Called before it is applied."""
        for key, query in self._failed.items():
            if query.stops_at <= offset and key not in self._stopped:
                self._stopped.add(key)
                operator.stop(query.name, query.version, "it failed before: query-status says with what")

    def add(self, failures: Sequence[Failure], offset: int, index: int | None = None, *, stopped: bool = True) -> None:
        """Adds new failures, from the block at `offset` on. They are reported now, or by `reached`.

        `stopped`: the operator has stopped them already.
        """
        for one in failures:
            key = one.name, one.version
            if key in self._failed:
                continue
            if not one.logged:
                self._failed[key] = FailedQuery(one.name, one.version, offset, index)
                if stopped:
                    self._stopped.add(key)
            if offset < self._committed:
                self._unreported[key] = one
            else:
                self._tell(one)

    def block_applied(self, block: Block, offset: int) -> None:
        """Marks the entries that control records of the block at `offset` end."""
        ended = dict(one for control in block.controls if (one := _ended(control)) is not None)
        for key, query in self._failed.items() if ended else ():
            if query.version <= ended.get(query.name, 0) and query.ended_at is None and query.stops_at <= offset:
                self._failed[key] = replace(query, ended_at=offset)
        for name, version in list(self._unreported) if ended else ():
            if version <= ended.get(name, 0):
                del self._unreported[name, version]

    def reached(self, position: int) -> None:
        """Reports what waited, once all blocks before the committed place have been applied."""
        if self._unreported and position >= self._committed:
            for one in self._unreported.values():
                self._tell(one)
            self._unreported.clear()

    def excluded(self, offset: int, index: int) -> frozenset[str]:
        """Names of queries whose results from `index` on, in the block at `offset`, are left out."""
        if not self._failed:
            return frozenset()
        found = (one for one in self._failed.values() if one.offset == offset and one.index is not None)
        return frozenset(one.name for one in found if one.index is not None and one.index <= index)

    def to_commit(self, offset: int) -> tuple[FailedQuery, ...]:
        """The entries to commit with a place before or in the block at `offset`."""
        if not self._failed:
            return ()
        self._failed = {key: one for key, one in self._failed.items() if one.ended_at is None or one.ended_at >= offset}
        return tuple(self._failed.values())

    def _tell(self, failure: Failure) -> None:
        _LOG.error("query %s failed: %s", failure.name, failure.reason, exc_info=failure.error)
        self._report(replace(failure, error=None))


def failed_queries_record(queries: Sequence[FailedQuery]) -> list[list[str | int | None]]:
    """The form of the entries that is committed.

    SaffronError: too many fail at once for the queries to be the cause.
    """
    record: list[list[str | int | None]] = [
        [one.name, one.version, one.offset, one.index, one.ended_at] for one in queries
    ]
    if len(orjson.dumps(record)) > _MOST_BYTES:
        first = queries[0].name
        raise SaffronError(
            f"{len(queries)} queries failed at once, {first} first: the log says with what. "
            "Fix what they have in common (the installation, the disk that kernels are written to, a module of "
            "aggregates), then start again"
        )
    return record


def failed_queries_text(queries: Sequence[FailedQuery]) -> bytes:
    """The record of failed queries as JSON; empty if there are none."""
    return orjson.dumps(failed_queries_record(queries)) if queries else b""


def failed_queries_in(text: bytes) -> tuple[FailedQuery, ...]:
    """The entries in what `failed_queries_text` wrote."""
    return failed_queries_of(orjson.loads(text)) if text else ()


def failed_queries_of(record: Iterable[Sequence[object]]) -> tuple[FailedQuery, ...]:
    """The entries in a committed record."""
    return tuple(
        FailedQuery(str(name), int(str(version)), int(str(offset)), _number(index), _number(ended_at))
        for name, version, offset, index, ended_at in record
    )


def _ended(control: Control) -> tuple[str, int] | None:
    """The query that a control record ends, and the newest version ended; else None."""
    if control.kind != "query":
        return None
    body = control.body
    version = {"add": int(body["version"]) - 1, "remove": int(body["version"]), "fail": body.get("added")}
    ended = version.get(body["op"])
    return None if ended is None else (str(body["name"]), int(ended))


def _number(value: object) -> int | None:
    return None if value is None else int(str(value))
