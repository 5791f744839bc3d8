"""Versions of a partition's schema: each is put in force before the records that need it.

A version is inferred from the first events, given with the stream, or grown: it knows events that the one before does
not know all of. A "schema" control that begins a block says so. The values of events do not depend on how many
versions it takes.
"""

from __future__ import annotations

from saffron.engine.events.block import Block
from saffron.engine.events.decoding.growth import given_anew, joined_in_force
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.windows.cutting import Cutter
from saffron.engine.windows.intake import Intake
from saffron.engine.windows.marks import Mark
from saffron.engine.windows.query_controls import QueryControls
from saffron.engine.windows.read_progress import Progress
from saffron.errors import SchemaError
from saffron.schema.schema import Schema


class Versions:
    """The schema in force in one partition, and the version that waiting events lack.

    `infer_events`: how many records wait for a first version. `asks`: the shell brings versions (see `lacking`).
    """

    def __init__(
        self,
        intake: Intake,
        queries: QueryControls,
        cutter: Cutter,
        progress: Progress,
        *,
        infer_events: int,
        asks: bool,
    ) -> None:
        self.lacking: Schema | None = None
        self._intake = intake
        self._queries = queries
        self._cutter = cutter
        self._progress = progress
        self._infer_events = infer_events
        self._asks = asks
        self._ready: list[Block] = []

    def go_on(self) -> None:
        """Take the records that wait, if there is a schema or there are enough of them to infer one."""
        if self._intake.schema is not None:
            self._take_waiting()
        elif self._intake.waiting >= self._infer_events:
            self.settle()

    def ask_again(self) -> None:
        """Find out anew which version the events that wait lack."""
        if self.lacking is not None:
            self.lacking = None
            self.go_on()

    def settle(self) -> None:
        """Take all records that wait, by a schema inferred from them if there is none; repeat marks that are due."""
        self._take_waiting()
        if self.lacking is None:
            self._intake.repeat(self._progress.read)

    def adopt(self, schema: Schema) -> None:
        """Put a version in force that the shell brings, before all that waits."""
        self._grow(schema)
        self.lacking = None
        self.settle()

    def give(self, given: Schema, known: Schema | None) -> None:
        """Put a given schema in force, with what the one in force says and what is known of other partitions' events.

        SchemaError: it does not go together with the one in force.
        """
        schema = self._intake.schema
        before = known if schema is None else joined_in_force(schema, known or schema)
        try:
            version = given if before is None else given_anew(before, given)
        except SchemaError as error:
            raise SchemaError(f"{error}; add a stream with the new schema under another name") from None
        if version is not schema:
            self._intake.losses.schema_given()
            if schema is not None:
                self._progress.marks.add(Mark(self._progress.read, before=schema_to_record(schema)))
            self.adopt(version)

    def put(self, schema: Schema) -> None:
        """Put a schema in force here, and bind queries that wait for it."""
        self._intake.use(schema)
        self._queries.bind(schema)

    def take_ready(self) -> list[Block]:
        """The blocks that ended where a version changed, since the last call."""
        ready, self._ready = self._ready, []
        return ready

    def _take_waiting(self) -> None:
        """Take waiting records, unless they lack a version that the shell is to bring."""
        if self.lacking is not None:
            return
        if self._intake.schema is None and self._intake.waiting:
            schema = self._intake.inferred(self._infer_events)
            if schema.types:
                self.put(schema)
        while (version := self._intake.go_on()) is not None:
            if self._asks:
                self.lacking = version
                return
            self._grow(version)

    def _grow(self, version: Schema) -> None:
        """Put the next version in force: events released before keep the one before."""
        if self._intake.schema is not None:
            self._ready += self._cutter.cut(self._intake.schema)
        self.put(version)
