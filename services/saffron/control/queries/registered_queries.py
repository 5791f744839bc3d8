"""The registered queries, with the statuses that services report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from saffron.counted import counted
from saffron.records.query import PAUSE, QueryRecord
from saffron.records.status import ACTIVE, ENDED, FAILED, PAUSED, READY, REJECTED, WAITING, QueryStatus
from saffron.records.table import Applied

Row = Mapping[str, Any]

_REASONS, _PARTITIONS = 3, 8
"""Most different reports of an active query's partitions that its reason has, and partitions named for each."""
_SHOWN = ("service", "stream", "partition", "state", "reason", "position")
_IN_FORCE = (ACTIVE, PAUSED)
_VERSIONS_KEPT = 50


class RegisteredQueries:
    """The newest version of each query by name, with the statuses of that version.

    `partitions`: how many each stream has, as far as it is known.
    """

    def __init__(self) -> None:
        self.partitions: Mapping[str, int] = {}
        self._queries: dict[str, Row] = {}
        self._statuses: dict[str, dict[str, QueryStatus]] = {}
        self._versions: dict[str, int] = {}
        self._history: dict[str, dict[int, Row]] = {}
        self._positions: dict[str, dict[int, dict[tuple[str, int], int]]] = {}

    def apply_query(self, change: Applied[QueryRecord], at: int) -> None:
        """Applies a message of `queries`; `at`: its time in ms."""
        name, record = change.key, change.row
        if record is None:
            self._queries.pop(name, None)
            return
        self._versions[name] = max(self._versions.get(name, 0), record.version)
        shown = {part: value for part, value in record.body().items() if part not in record.unknown}
        self._queries[name] = {**shown, "changed_at": at}
        history = self._history.setdefault(name, {})
        history[record.version] = self._queries[name]
        if len(history) > _VERSIONS_KEPT:
            del history[min(history)]

    def apply_status(self, change: Applied[QueryStatus]) -> None:
        """Applies a message of `query-status`. Windowing's statuses in force give the start positions of versions."""
        status = change.row
        if status is None:
            self._statuses.get(change.key.partition("/")[0], {}).pop(change.key, None)
            return
        self._versions[status.name] = max(self._versions.get(status.name, 0), status.version)
        self._statuses.setdefault(status.name, {})[change.key] = status
        if status.service == "windowing" and status.state in _IN_FORCE and status.position is not None:
            known = self._positions.setdefault(status.name, {}).setdefault(status.version, {})
            known[status.stream, status.partition or 0] = status.position

    def names(self) -> list[str]:
        """Names of all registered queries, sorted."""
        return sorted(self._queries)

    def texts(self) -> dict[str, str]:
        """The text of each query, by name."""
        return {name: str(row["text"]) for name, row in self._queries.items()}

    def get(self, name: str) -> Row | None:
        """The query's newest message, or None."""
        return self._queries.get(name)

    def next_version(self, name: str) -> int:
        """A version number above all known under this name, removed queries included."""
        return self._versions.get(name, 0) + 1

    def view(self, name: str) -> dict[str, Any]:
        """The query as the API shows it, with `state`, `reason` and all statuses. KeyError: unknown."""
        query = self._queries[name]
        current = [one for one in self._statuses.get(name, {}).values() if one.version == query["version"]]
        state, reason = summary(str(query["op"]), current, self.partitions)
        return {**query, "state": state, "reason": reason, "services": shown(current)}

    def versions(self, name: str) -> list[dict[str, Any]]:
        """The versions read so far, newest first: text, and start position by partition. KeyError: unknown.

        `state`: the query's for the newest version, "replaced" for all others. Compaction removes older versions.
        """
        current = self.view(name)
        rows = sorted(self._history[name].values(), key=lambda one: int(one["version"]), reverse=True)
        return [
            {
                **row,
                "state": current["state"] if row["version"] == current["version"] else "replaced",
                "positions": self._in_force(name, int(row["version"])),
            }
            for row in rows
        ]

    def _in_force(self, name: str, version: int) -> list[dict[str, Any]]:
        """The positions from which a version was in force, by stream and partition."""
        places = self._positions.get(name, {}).get(version, {})
        return [{"stream": s, "partition": p, "position": places[s, p]} for s, p in sorted(places)]


def shown(statuses: Iterable[QueryStatus]) -> list[dict[str, Any]]:
    """The statuses, as API and commands show them."""
    order = sorted(statuses, key=lambda one: (one.service, one.stream, one.partition or 0))
    return [{part: getattr(one, part) for part in _SHOWN} for one in order]


def summary(
    op: str, statuses: Sequence[QueryStatus], partitions: Mapping[str, int] = MappingProxyType({})
) -> tuple[str, str | None]:
    """State and reason of a query, from the statuses of its version. `windowing` decides when it is in force.

    States: "failed", "rejected", "ended" (its stream is gone), "waiting" (see the reason), "paused" and "active" (on
    every partition of its stream; the reason names attributes not seen yet, and where), "starting" (on some),
    "pending" (no status yet). `partitions`: how many each stream has. Where that is not known, those count on which
    windowing has reported the version.
    """
    for state in (FAILED, REJECTED, ENDED, WAITING):
        matching = [one for one in statuses if one.state == state]
        if matching:
            return state, matching[0].reason
    decided = [one for one in statuses if one.service == "windowing" and one.state != READY]
    wanted = PAUSED if op == PAUSE else ACTIVE
    if decided and all(one.state == wanted for one in decided):
        missing = _missing(decided, partitions)
        return ("starting", f"not yet on {_partitions(missing)}") if missing else (wanted, _said(decided))
    if statuses:
        return "starting", None
    return "pending", "no service has answered yet"


def _missing(decided: Sequence[QueryStatus], partitions: Mapping[str, int]) -> list[int]:
    """The partitions of the streams of these statuses that have none."""
    reported = {(one.stream, one.partition or 0) for one in decided}
    streams = sorted({one.stream for one in decided})
    return [number for name in streams for number in range(partitions.get(name, 0)) if (name, number) not in reported]


def _said(statuses: Iterable[QueryStatus]) -> str | None:
    """What partitions report of an active query: once if all agree, else with the partitions that report it."""
    found: dict[str, list[int]] = {}
    for one in sorted(statuses, key=lambda one: one.partition or 0):
        found.setdefault(one.reason or "", []).append(one.partition or 0)
    if len(found) == 1:
        return next(iter(found)) or None
    told = [f"{_partitions(where)}: {reason}" for reason, where in found.items() if reason]
    more = [f"and {counted(len(told) - _REASONS, 'other report')}"] if len(told) > _REASONS else []
    return "; ".join([*told[:_REASONS], *more])


def _partitions(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:_PARTITIONS]))
    more = f" and {len(numbers) - _PARTITIONS:,} more" if len(numbers) > _PARTITIONS else ""
    return f"partition{'s' if len(numbers) > 1 else ''} {shown}{more}"
