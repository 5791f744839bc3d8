"""The state that earlier control records put in force: queries, their versions and traits, and versions of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from saffron.engine.events.block import Control
from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.shed.drops.shedders import SHEDDERS, Shedder
from saffron.engine.shed.drops.traits import Traits, traits_of
from saffron.records.envelope import Version


@dataclass
class View:
    """The state of a stream's queries at a position, as its control records say.

    `queries`: name -> the version by which it was added. `changed`: name -> the version of its last change, such as a
    pause. `slots`: name -> bit in `Columns.dropped` (-1: none). `paused`: names. `failed`: name -> the reason for which
    it was stopped for good; such a query is also paused.

    `since`: name -> the position from which on the version is in force here; it is not in checkpoints.
    `reached`: name -> the position from which on its state is in force: since it was added, paused, resumed or stopped.

    `traits`: name -> its properties for shedding. `texts`: name -> text. `models`: query -> version of its transition
    model in force. `schema`: of the stream, as its record has it. `shedders`: by the names in records.
    """

    queries: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    slots: dict[str, int] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    models: dict[str, Version] = field(default_factory=dict)
    traits: dict[str, Traits] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    since: dict[str, int] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    shedders: Mapping[str, Shedder] = field(default_factory=lambda: SHEDDERS)

    @property
    def any_active(self) -> bool:
        return any(query not in self.paused for query in self.queries)

    @property
    def sheddable(self) -> dict[str, tuple[Traits, int]]:
        """The queries that run: name -> (traits, slot)."""
        running = (query for query in self.queries if query not in self.paused)
        return {query: (self._traits(query), self.slots[query]) for query in running}

    def misfit(self, model: TransitionModel) -> str:
        """The difference between a model and its query in force, as text; "" for none, or another version."""
        if self.queries.get(model.query) != model.query_version:
            return ""
        return self.traits[model.query].misfit(model)

    def apply(self, control: Control) -> None:
        """Put one control in force: a query, a model, a schema, or a checkpoint, which replaces the state.

        Other kinds change nothing.
        """
        if control.kind == "query":
            self._query(control.body, control.position)
        elif control.kind == "model":
            epoch, batch = control.body["version"]
            self.models[str(control.body["query"])] = (int(epoch), int(batch))
        elif control.kind == "schema":
            self.schema = control.body["schema"]
        elif control.kind == "checkpoint":
            self._checkpoint(control.body)

    def _traits(self, query: str) -> Traits:
        """The traits of a query. Over imprecise time it has no partial matches."""
        imprecise = self.schema is not None and bool(self.schema.get("times"))
        return replace(self.traits[query], partial=False) if imprecise else self.traits[query]

    def _query(self, body: Mapping[str, Any], position: int) -> None:
        """Put a change of a query in force, at a position. A failed query stays paused until it is added again."""
        name, operation = str(body["name"]), body["op"]
        self.changed[name] = int(body["version"])
        self.reached[name] = position
        if operation == "add":
            self.queries[name] = int(body["version"])
            self.since[name] = position
            self.slots[name] = int(body.get("slot", -1))
            self.traits[name] = traits_of(body, self.shedders)
            self.texts[name] = str(body.get("text", ""))
            self.paused.discard(name)
            self.failed.pop(name, None)
        elif operation == "remove":
            self.queries.pop(name, None)
            self.changed.pop(name, None)
            self.slots.pop(name, None)
            self.traits.pop(name, None)
            self.texts.pop(name, None)
            self.paused.discard(name)
            self.models.pop(name, None)
            self.since.pop(name, None)
            self.reached.pop(name, None)
            self.failed.pop(name, None)
        elif operation == "pause":
            self.paused.add(name)
        elif operation == "resume" and name not in self.failed:
            self.paused.discard(name)
        elif operation == "fail":
            self.paused.add(name)
            self.failed[name] = str(body["reason"])

    def _checkpoint(self, body: Mapping[str, Any]) -> None:
        """Replace the state by that of a checkpoint; fields that it does not have stay."""
        queries = body.get("queries", ())
        entries = list(queries.values()) if isinstance(queries, Mapping) else list(queries)
        self.queries = {str(entry["name"]): int(entry.get("added", entry["version"])) for entry in entries}
        self.changed = {str(entry["name"]): int(entry["version"]) for entry in entries}
        self.reached = {str(entry["name"]): int(entry["since"]) for entry in entries if "since" in entry}
        self.slots = {str(entry["name"]): int(entry.get("slot", -1)) for entry in entries}
        self.failed = {str(entry["name"]): str(entry["failure"]) for entry in entries if entry.get("failure")}
        self.paused = {str(entry["name"]) for entry in entries if _is_paused(entry)} | self.failed.keys()
        self.traits = {str(entry["name"]): traits_of(entry, self.shedders) for entry in entries}
        self.texts = {str(entry["name"]): str(entry.get("text", "")) for entry in entries}
        self.schema = body.get("schema") or self.schema
        self.models = _versions(body.get("models") or {})
        self.since = {name: at for name, at in self.since.items() if name in self.queries}


def _is_paused(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("paused")) or entry.get("state") == "paused" or entry.get("op") == "pause"


def _versions(body: Mapping[str, Any]) -> dict[str, Version]:
    return {str(query): (int(version[0]), int(version[1])) for query, version in body.items()}
