"""The standing queries, and what the services say of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saffron.language.shedding import AUTO
from saffron.runtime.topics import status_key

Row = Mapping[str, Any]

_SHOWN = ("service", "stream", "partition", "state", "reason", "position")
_STATUS = ("name", "version", *_SHOWN)
_IN_FORCE = ("active", "paused")
_VERSIONS_KEPT = 50


class StandingQueries:
    """Newest version of each query by name, with the statuses of that version."""

    def __init__(self) -> None:
        self._queries: dict[str, Row] = {}
        self._statuses: dict[str, dict[tuple[str, str, int | None], Row]] = {}
        self._versions: dict[str, int] = {}
        self._history: dict[str, dict[int, Row]] = {}
        self._positions: dict[str, dict[int, dict[tuple[str, int], int]]] = {}

    def apply_query(self, name: str, value: Row | None, at: int) -> None:
        """A message of the topic `queries`."""
        if value is None:
            self._queries.pop(name, None)
            return
        self._versions[name] = max(self._versions.get(name, 0), int(value["version"]))
        parts = {part: value[part] for part in ("version", "op", "text", "from")}
        self._queries[name] = {"name": name, **parts, "shed": value.get("shed", AUTO), "changed_at": at}
        history = self._history.setdefault(name, {})
        history[int(value["version"])] = self._queries[name]
        if len(history) > _VERSIONS_KEPT:
            del history[min(history)]

    def apply_status(self, key: str, value: Row | None, at: int) -> None:
        """A message of the topic `query-status`."""
        del at
        name = key.partition("/")[0]
        if value is None:
            said = self._statuses.get(name, {})
            for place in [one for one in said if status_key(name, *one).decode() == key]:
                del said[place]
            return
        place = (str(value["service"]), str(value["stream"]), value["partition"])
        row = {part: value[part] for part in _STATUS}
        self._versions[value["name"]] = max(self._versions.get(value["name"], 0), int(value["version"]))
        self._statuses.setdefault(str(value["name"]), {})[place] = row
        if row["service"] == "windowing" and row["state"] in _IN_FORCE and row["position"] is not None:
            known = self._positions.setdefault(str(value["name"]), {}).setdefault(int(value["version"]), {})
            known[place[1], int(place[2] or 0)] = int(row["position"])

    def names(self) -> list[str]:
        """Names of all standing queries, sorted."""
        return sorted(self._queries)

    def texts(self) -> dict[str, str]:
        """The text of each query, by name."""
        return {name: str(row["text"]) for name, row in self._queries.items()}

    def get(self, name: str) -> Row | None:
        """The query's newest message, or None."""
        return self._queries.get(name)

    def next_version(self, name: str) -> int:
        """A version above every one seen under this name, removed ones included."""
        return self._versions.get(name, 0) + 1

    def view(self, name: str) -> dict[str, Any]:
        """The query as the API shows it: with `state`, `reason` and what each service says. KeyError if unknown."""
        query = self._queries[name]
        found = self._statuses.get(name, {}).values()
        current = [one for one in found if one["version"] == query["version"]]
        order = sorted(current, key=lambda one: (one["service"], one["stream"], one["partition"] or 0))
        state, reason = summary(str(query["op"]), order)
        services = [{part: one[part] for part in _SHOWN} for one in order]
        return {**query, "state": state, "reason": reason, "services": services}

    def versions(self, name: str) -> list[dict[str, Any]]:
        """The versions that have been read, the newest first: each with its text, and from which position of which
        partition it was in force. `state`: that of the newest, "replaced" of all others. KeyError if unknown.

        Of compacted topics only the newest is sure to be there; older ones are seen as long as nobody has compacted.
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
        places = self._positions.get(name, {}).get(version, {})
        return [{"stream": s, "partition": p, "position": places[s, p]} for s, p in sorted(places)]


def summary(op: str, statuses: Sequence[Row]) -> tuple[str, str | None]:
    """(state, reason) of a query from the statuses of its version; windowing has the word on when it is in force.

    States: "failed", "rejected" (by anyone), "paused", "active" (on every partition that windowing owns), "waiting"
    (for what the reason says), "starting" (taken up by some), "pending" (nobody has answered yet).
    """
    for state in ("failed", "rejected", "waiting"):
        said = [one for one in statuses if one["state"] == state]
        if said:
            return state, said[0]["reason"]
    decided = [one["state"] for one in statuses if one["service"] == "windowing" and one["state"] != "ready"]
    wanted = "paused" if op == "pause" else "active"
    if decided and all(state == wanted for state in decided):
        return wanted, None
    if statuses:
        return "starting", None
    return "pending", "no service has answered yet"
