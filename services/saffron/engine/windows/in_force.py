"""The state in force after the blocks written so far: the content of checkpoints, which a new owner takes over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from saffron.engine.events.block import Block, Control
from saffron.engine.events.schema_record import schema_from_record
from saffron.engine.windows.bounds import window_deadline
from saffron.engine.windows.known_since import KnownSince
from saffron.language.plan.clauses import Window
from saffron.records.query import shedder_of

Openings = list[tuple[int, int]]
"""(seq, ts) of the events whose windows may still be open."""


class InForce:
    """The state in force, as a fold over the own output.

    `schema`: record of the schema or None. `queries`: name -> {"name", "version", "added", "text", "slot", "from",
    "shed", "since", "paused"}. "added" is the version by which it was added, which pausing it leaves as it is. A query
    that has failed also has "failure", which says why.

    `open`: name -> openings of its OPEN ON windows. `windows`: by name and version, as far as they are known (texts are
    bound elsewhere). `since`: the positions from which on names of the schema are known that came later.
    """

    def __init__(self) -> None:
        self.schema: Mapping[str, Any] | None = None
        self.since = KnownSince()
        self.queries: dict[str, dict[str, Any]] = {}
        self.open: dict[str, Openings] = {}
        self.windows: dict[tuple[str, int], Window] = {}

    def since_behind(self, pending: Iterable[Control]) -> KnownSince:
        """`since` once these controls, the next ones, are written."""
        schema, since = self.schema, self.since
        for control in pending:
            schema, since = _grown(schema, since, control)
        return since

    def checkpoint(self) -> dict[str, Any]:
        """The body of a "checkpoint" control."""
        return {
            "schema": self.schema,
            "known_since": self.since.record(),
            "queries": [dict(query) for query in self.queries.values()],
            "models": {},
            "windows": {name: [list(opening) for opening in openings] for name, openings in self.open.items()},
        }

    def apply(self, block: Block) -> None:
        """Apply one block."""
        for control in block.controls:
            self._control(control)
        for name, positions in block.opened.items():
            if name in self.queries:
                since = self.queries[name]["since"]
                rows = block.columns.seq.searchsorted(positions)
                times = block.columns.ts[rows].tolist()
                openings = self.open.setdefault(name, [])
                openings += [(seq, ts) for seq, ts in zip(positions, times, strict=True) if seq >= since]
        if block.end:
            self.open.clear()

    def close(self, next_seq: int, watermark: int) -> None:
        """Forget the windows that are closed once the block that ends here has been applied."""
        for name, openings in list(self.open.items()):
            window = self.windows.get((name, self.queries[name]["version"]))
            if window is None:
                continue
            place, passed = (0, next_seq) if window.events else (1, watermark)
            still = [opening for opening in openings if window_deadline(opening[place], window.size) >= passed]
            if still:
                self.open[name] = still
            else:
                del self.open[name]

    def _control(self, control: Control) -> None:
        body = control.body
        self.schema, self.since = _grown(self.schema, self.since, control)
        if control.kind == "query":
            self._query(body, control.position)
        elif control.kind == "checkpoint":
            self.queries = {query["name"]: dict(query) for query in body["queries"]}
            self.open = {name: [(seq, ts) for seq, ts in openings] for name, openings in body["windows"].items()}

    def _query(self, body: Mapping[str, Any], position: int) -> None:
        """Put a change of a query in force at a position. Each change closes the query's open windows.

        Pausing, resuming or failing an unknown query does nothing.
        """
        name, op = body["name"], body["op"]
        if op == "remove":
            self.queries.pop(name, None)
            self.open.pop(name, None)
            for key in [key for key in self.windows if key[0] == name and key[1] <= body["version"]]:
                del self.windows[key]
        elif op == "add":
            self.open.pop(name, None)
            self.queries[name] = {
                "name": name,
                "version": body["version"],
                "added": body["version"],
                "text": body["text"],
                "slot": body["slot"],
                "from": body["from"],
                "shed": shedder_of(body),
                "since": position,
                "paused": False,
            }
        elif op == "fail" and name in self.queries:
            self.open.pop(name, None)
            self.queries[name] |= {"version": body["version"], "failure": body["reason"], "since": position}
        elif name in self.queries:
            self.open.pop(name, None)
            self.queries[name] |= {"version": body["version"], "paused": op == "pause", "since": position}


def _grown(
    before: Mapping[str, Any] | None, since: KnownSince, control: Control
) -> tuple[Mapping[str, Any] | None, KnownSince]:
    """The schema's record and `since` behind a control."""
    if control.kind not in ("schema", "checkpoint"):
        return before, since
    record: Mapping[str, Any] | None = control.body["schema"]
    if control.kind == "checkpoint":
        return record, KnownSince.of(control.body.get("known_since"))
    if before is None or record is None or before == record:
        return record, since
    return record, since.after(schema_from_record(before), schema_from_record(record), control.position)
