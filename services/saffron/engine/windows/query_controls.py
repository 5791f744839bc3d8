"""The standing queries of a partition, and the control records that a change of them puts into the outbox."""

from __future__ import annotations

from collections.abc import Mapping

from saffron.engine.events.block import Block
from saffron.engine.events.columns import Columns
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.operators.containment import is_of_query
from saffron.engine.operators.standing import Compiler
from saffron.engine.windows.outbox import Outbox
from saffron.engine.windows.registered import Change, Notice, QueriesInForce
from saffron.errors import one_line
from saffron.language.plan.match_plan import MatchPlan
from saffron.records.query import QueryRecord
from saffron.schema.schema import Schema


class QueryControls:
    """Changes of queries and of the schema that they are bound to, each at the position of the next event.

    `standing`: the queries in force. Notices of what changed wait for `take_notices`.
    """

    def __init__(self, stream: str, compiler: Compiler, outbox: Outbox) -> None:
        self.standing = QueriesInForce(stream, compiler)
        self._outbox = outbox
        self._notices: list[Notice] = []
        self._expected: Mapping[str, str] = {}

    def change(self, name: str, wanted: QueryRecord | None, schema: Schema | None) -> None:
        """Apply a record of the `queries` topic; None: its tombstone."""
        self._put(self.standing.change(name, wanted, schema, self._outbox.next_seq))

    def fail(self, name: str, added: int, reason: str) -> None:
        """Stop a failed query. `added`: the version by which it was added."""
        self._put(self.standing.fail(name, added, reason, self._outbox.next_seq))

    def bind(self, schema: Schema) -> None:
        """Write a version of the schema, and bind to it the queries that wait for one or change by it."""
        self._outbox.add_control("schema", {"schema": schema_to_record(schema)})
        self.standing.since = self._outbox.since
        self._put(self.standing.bind(schema, self._outbox.next_seq))

    def expect(self, made: Mapping[str, str]) -> bool:
        """Take the types that queries make which are not in force here yet; True if any is new."""
        new = made.keys() - self.made.keys()
        self._expected = made
        return bool(new)

    @property
    def made(self) -> Mapping[str, str]:
        """Event type -> the query that makes it (INTO), in force or expected."""
        plans = ((name, query.plan) for name, query in self.standing.queries.items())
        made = {plan.into: name for name, plan in plans if isinstance(plan, MatchPlan) and plan.into is not None}
        return {**self._expected, **made}

    def resume(self, block: Block, schema: Schema | None) -> None:
        """Take the state in force behind a block that the outbox has resumed from."""
        self.standing.since = self._outbox.since
        if any(control.kind in ("schema", "query", "checkpoint") for control in block.controls):
            self.standing.restore(self._outbox.in_force.queries, schema)
            self._know_windows()
        self._notices = []

    def opened(self, columns: Columns) -> dict[str, list[int]]:
        """The numbers of the events at which windows open (OPEN ON), by query. A query whose condition raises fails."""
        found = {}
        for query in list(self.standing.queries.values()):
            try:
                found[query.name] = query.opens_at(columns)
            except Exception as error:
                if not is_of_query(error):
                    raise
                self.fail(query.name, query.added, f"OPEN ON: {type(error).__name__}: {one_line(error)}")
        return found

    def take_notices(self) -> list[Notice]:
        """The notices since the last call."""
        notices, self._notices = self._notices, []
        return notices

    def _put(self, change: Change) -> None:
        for body in change.bodies:
            self._outbox.add_control("query", body)
        self._notices += change.notices
        self._know_windows()

    def _know_windows(self) -> None:
        """Tell the outbox the windows of queries: it forgets openings once their windows are closed."""
        for query in self.standing.queries.values():
            if query.window is not None:
                self._outbox.in_force.windows[query.name, query.version] = query.window
