"""The standing queries of a partition, as `windowing` decides on them: versions, slots, texts bound or refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from saffron.engine.events.column_operations import conformed
from saffron.engine.events.columns import Columns
from saffron.engine.operators.composition import bound, made_by, makers_first, types_of
from saffron.engine.operators.containment import BINDING, failure_text, is_of_query
from saffron.engine.operators.standing import Compiler
from saffron.engine.windows.known_since import KnownSince
from saffron.engine.windows.predicate import holds
from saffron.errors import SaffronError
from saffron.language.cost.shedders import AUTO, refusal
from saffron.language.plan.clauses import Window
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import UNTIL_SEEN, Plan
from saffron.records.query import ADD, NOW, QueryRecord, shedder_of
from saffron.schema.schema import Kind, Schema

SLOTS = 64
NO_SLOT = -1
"""A query beyond the 64th has no bit in `Columns.dropped`: nothing is ever dropped for it alone."""


@dataclass(frozen=True)
class Notice:
    """A change of a query's state, for `query-status`; `state`: "active", "paused", "removed", "rejected" or "failed".

    `reason`: why it is rejected or has failed, or what an active one waits to see.
    """

    name: str
    version: int
    state: str
    reason: str | None
    position: int


@dataclass
class Change:
    """Bodies of "query" controls, in order, and what to report."""

    bodies: list[dict[str, Any]] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)


@dataclass
class Query:
    """One query in force. `plan`: of the text alone until it is `bound` to a `schema`. `failure`: why it was stopped
    for good, or "": it keeps its name and its slot until it is removed or replaced, and is nobody's maker.

    `added`: the version by which it was added, which pausing it leaves as it is. `unseen`: types that it reads and that
    neither the stream nor another query had when it was bound. `start`: from where on it sees events ("now" or
    "earliest"); `later`: of the latter, what of its names came later, as a sentence.
    """

    name: str
    version: int
    text: str
    slot: int
    shed: str = AUTO
    paused: bool = False
    failure: str = ""
    plan: Plan | None = None
    bound: bool = False
    schema: Schema | None = None
    unseen: frozenset[str] = frozenset()
    start: str = NOW
    later: str = ""
    added: int = 0

    @property
    def state(self) -> str:
        return "failed" if self.failure else "paused" if self.paused else "active"

    @property
    def reported(self) -> str | None:
        """The report on it: names that no event has had yet, or only later ones; of a failed query the reason."""
        if self.failure:
            return self.failure
        waits = () if self.plan is None else self.plan.waits
        unseen = f"no event has had this yet; {UNTIL_SEEN}: {', '.join(waits)}" if waits else ""
        return "; ".join(one for one in (unseen, self.later) if one) or None

    @property
    def window(self) -> Window | None:
        """The window of the query; None until its text is bound to the schema."""
        return self.plan.window if self.plan is not None and self.bound else None

    def opens_at(self, columns: Columns) -> list[int]:
        """Positions (seq) of the events at which a window of this query opens."""
        opening = None if self.window is None or self.paused or self.failure else self.window.opens
        if opening is None or opening.type not in columns.type.values:
            return []
        fits = np.equal(columns.type.data, columns.type.values.index(opening.type))
        if opening.expr is not None:
            fits &= holds(opening.expr, conformed(columns, self._unseen_names(columns)))
        positions: list[int] = columns.seq[fits].tolist()
        return positions

    def _unseen_names(self, columns: Columns) -> Schema:
        """The attributes that the query reads and no event has had yet, all null."""
        names = () if self.plan is None else self.plan.unseen
        return Schema({name: Kind.NULL for name in names if name not in columns.attributes}, {}, {})


class QueriesInForce:
    """The queries in force, by name. `since`: from where on names of the schema are known that came later."""

    def __init__(self, stream: str, compiler: Compiler) -> None:
        self.stream = stream
        self.queries: dict[str, Query] = {}
        self.since = KnownSince()
        self._compile = compiler

    def change(self, name: str, wanted: QueryRecord | None, schema: Schema | None, position: int) -> Change:
        """The change that a record of the `queries` topic (schemas/queries.yaml) makes; None: the query is removed.

        Records of an older version, and repeats, change nothing; nor does a wrong query: the one in force stays.
        """
        current = self.queries.get(name)
        if wanted is None:
            return Change() if current is None else self._removed(current, position)
        if why := refusal(wanted.shed):
            return Change([], [Notice(name, wanted.version, "rejected", why, position)])
        same = current is not None and (wanted.text, wanted.shed) == (current.text, current.shed)
        if current is None or wanted.version > current.version:
            if current is not None and wanted.op != ADD and same:
                return self._switched(current, wanted.version, position, paused=wanted.paused)
            query = Query(name, wanted.version, wanted.text, NO_SLOT, wanted.shed, wanted.paused, start=wanted.start)
            query.added = wanted.version
            return self._put(current, query, schema, position)
        if wanted.version == current.version and same and current.paused != wanted.paused:
            return self._switched(current, wanted.version, position, paused=wanted.paused)
        return Change()

    def fail(self, name: str, added: int, reason: str, position: int) -> Change:
        """Stop a query that a service reports as failed, unless another version of it is in force by now.

        `added`: the version by which it was added.
        """
        current = self.queries.get(name)
        if current is None or current.failure or current.added != added:
            return Change()
        current.failure = reason
        shared = {"name": name, "version": current.version, "slot": current.slot}
        body = {"op": "fail", **shared, "added": added, "reason": reason}
        return Change([body], [Notice(name, current.version, "failed", reason, position)])

    def bind(self, schema: Schema, position: int) -> Change:
        """A schema, or the next version of it: bind all that waits for one; what does not fit is removed again.

        A query that is bound already is bound anew. If the version has no place for it, it keeps its plan until its
        engine reports that it has failed. The engine knows better: it remembers the types that removed queries made.
        """
        change = Change()
        texts = {name: query.text for name, query in self.queries.items() if not query.failure}
        for query in [self.queries[name] for name in makers_first(self._compile, texts)]:
            reported, bound = query.reported, query.bound
            if not self._bind(query, schema, position, Change() if bound else change) and not bound:
                change.bodies += self._removed(query, position).bodies
            elif query.reported != reported:
                change.notices.append(self._notice(query, position))
        return change

    def changed(self, schema: Schema) -> dict[str, tuple[int, Plan]]:
        """The queries that `bind` would give another plan: name -> (version, that plan)."""
        found = {}
        for query in self.queries.values():
            try:
                plan = None if query.failure else self.plan(query.name, query.text, schema)
            except Exception as error:  # it is rejected, or fails, when it is bound
                if not is_of_query(error):
                    raise
                continue
            if plan is not None and not (query.bound and plan == query.plan):
                found[query.name] = (query.version, plan)
        return found

    def restore(self, records: Mapping[str, Mapping[str, Any]], schema: Schema | None) -> None:
        """Restore the queries in force in the log (records as in a checkpoint)."""
        known = self.queries
        self.queries = {}
        for name in makers_first(self._compile, {name: record["text"] for name, record in records.items()}):
            record = records[name]
            query = Query(
                name, record["version"], record["text"], record["slot"], shedder_of(record), record["paused"],
                start=record.get("from", NOW), added=record.get("added", record["version"]),
            )  # fmt: skip
            query.failure = str(record.get("failure") or "")
            before = known.get(name)
            if before is not None and before.text == query.text and before.bound:
                query.plan, query.bound, query.later = before.plan, True, before.later
                query.schema, query.unseen = before.schema, before.unseen
                if schema is not None and schema != before.schema and not query.failure:
                    self._bind(query, schema, 0, Change())  # it keeps its plan where that fails, as in `bind`
            elif self._bind(query, None, 0, Change()) and schema is not None:
                # A query that reads a type which no query makes any more stays as it was bound.
                query.bound = self._bind(query, schema, 0, Change()) or isinstance(query.plan, MatchPlan)
            self.queries[name] = query
        self.queries = {name: self.queries[name] for name in records}

    def _removed(self, query: Query, position: int) -> Change:
        del self.queries[query.name]
        body = {"op": "remove", "name": query.name, "version": query.version, "slot": query.slot}
        return Change([body], [Notice(query.name, query.version, "removed", None, position)])

    @staticmethod
    def _switched(query: Query, version: int, position: int, *, paused: bool) -> Change:
        """Paused or resumed; nothing for the log where it is so already."""
        query.version, before, query.paused = version, query.paused, paused
        change = Change([], [QueriesInForce._notice(query, position)])
        if before != paused:
            op = "pause" if paused else "resume"
            change.bodies.append({"op": op, "name": query.name, "version": version, "slot": query.slot})
        return change

    def _put(self, current: Query | None, query: Query, schema: Schema | None, position: int) -> Change:
        """Add a query, in place of the current one of its name."""
        change = Change()
        if self._is_foreign(query):
            return change if current is None else self._removed(current, position)
        if not self._bind(query, None, position, change):
            return change
        if schema is not None and not self._bind(query, schema, position, change):
            return change
        if current is not None:
            change.bodies += self._removed(current, position).bodies
        query.slot = self._free_slot()
        self.queries[query.name] = query
        shared = {"name": query.name, "version": query.version}
        own = {"text": query.text, "slot": query.slot, "from": query.start, "shed": query.shed}
        change.bodies.append({"op": "add", **shared, **own})
        if query.paused:
            change.bodies.append({"op": "pause", **shared, "slot": query.slot})
        change.notices.append(self._notice(query, position))
        return change

    def _is_foreign(self, query: Query) -> bool:
        """True if the query reads another stream. What this stream's queries make does not concern it then."""
        try:
            return self._compile(query.text, None, query.name).stream != self.stream
        except Exception as error:  # `_bind` reports it
            if not is_of_query(error):
                raise
            return False

    @staticmethod
    def _notice(query: Query, position: int) -> Notice:
        return Notice(query.name, query.version, query.state, query.reported, position)

    def plan(self, name: str, text: str, schema: Schema | None) -> Plan:
        """The plan of a query beside those in force; SaffronError where it is wrong, or would read its own results."""
        others = {
            other: query.plan
            for other, query in self.queries.items()
            if query.plan is not None and other != name and not query.failure
        }
        found = bound(self._compile, text, schema, name, others)
        made = found.into if isinstance(found, MatchPlan) else None
        for other, query in self.queries.items():
            if made in query.unseen and other != name:
                raise SaffronError(
                    f"query {name} makes events of type {made}, which query {other} has been reading from the stream: "
                    f"remove {other} and add it again behind this one"
                )
        return found

    def _bind(self, query: Query, schema: Schema | None, position: int, change: Change) -> bool:
        """Give it its plan, for the schema if there is one; if its text is wrong, a notice says so."""
        try:
            query.plan = self.plan(query.name, query.text, schema)
        except Exception as error:
            if not is_of_query(error):
                raise
            state, reason = refused(error)
            change.notices.append(Notice(query.name, query.version, state, reason, position))
            return False
        query.bound, query.schema = schema is not None, schema
        if schema is not None and not schema.given:
            known = made_by(other.plan for other in self.queries.values() if other.plan is not None)
            query.unseen = types_of(query.plan) - schema.types.keys() - known.keys()
        query.later = self._later(query, schema)
        return True

    def _later(self, query: Query, schema: Schema | None) -> str:
        """The names of a query that came with later versions, as a sentence, where it sees events from before them."""
        if schema is None or query.start == NOW or self.since == KnownSince():
            return ""
        try:
            return self.since.report(self.plan(query.name, query.text, self.since.first_version(schema)))
        except Exception as error:  # the first version had no room for it
            if not is_of_query(error):
                raise
            return ""

    def _free_slot(self) -> int:
        taken = {query.slot for query in self.queries.values()}
        return next((slot for slot in range(SLOTS) if slot not in taken), NO_SLOT)


def refused(error: Exception) -> tuple[str, str]:
    """(state, reason) of a query that cannot be bound: "rejected" if its text is wrong, "failed" if binding it is."""
    if isinstance(error, SaffronError):
        return "rejected", str(error)
    return "failed", failure_text(BINDING, 0, error)
