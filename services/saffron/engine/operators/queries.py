"""The common operator of `matcher` and `greta`: control records of the stream, and the standing queries they change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.block import Block, Control
from saffron.engine.events.schema_record import schema_from_record, schema_to_record
from saffron.engine.operators.composition import makers_first, require_timestamps
from saffron.engine.operators.containment import (
    ADVANCING,
    BINDING,
    REPORTING,
    RESTORING,
    SAVING,
    Failure,
    Note,
    QueryStep,
    unnoted,
)
from saffron.engine.operators.engine_hooks import EngineHooks
from saffron.engine.operators.failures import Ending, Failures
from saffron.engine.operators.operator import History, State
from saffron.engine.operators.read_columns import ReadColumns
from saffron.engine.operators.results import OrderedResults
from saffron.engine.operators.standing import Compiler, StandingQuery, Status, compile_text
from saffron.errors import SaffronError, SchemaError
from saffron.language.plan.plan import Plan
from saffron.schema.schema import Schema

S = TypeVar("S", bound=StandingQuery[Any])
R = TypeVar("R")


class QueryOperator(EngineHooks[S, R]):
    """A `ResultOperator` driven by the control records of its blocks; each engine adds the way to run a plan.

    It takes the queries of `stream` that the compiler binds to a plan of its kind, and ignores others. A query sees the
    events from its position on. Pausing or removing a query drops its partial state. A query that raises an exception
    fails by itself (`containment`), and has no results from the block at hand on. `compiled`: False runs the kernels as
    Python. `compiler`: (text, schema, name) -> plan. `note`: called before each step of a query.
    """

    def __init__(
        self,
        *,
        partition: int,
        stream: str = "events",
        compiled: bool = True,
        compiler: Compiler = compile_text,
        note: Note = unnoted,
    ) -> None:
        self.partition = partition
        self.stream = stream
        self._compiled = compiled
        self._compiler = compiler
        self._read = ReadColumns(note, self._cannot_compute)
        self._standing: dict[str, S] = {}
        self._events = 0
        self._note = note
        ending = Ending(
            readers=self._readers_of,
            has_touched_others=self._has_touched_others,
            close=self._close,
            leave=self._leave,
            forget=self._forget_all_of,
            settled=self._settled,
        )
        self._failures: Failures[S] = Failures(ending, note)
        self._reset()

    def apply(self, block: Block, history: History | None = None) -> OrderedResults:
        """Advance by one block; see `ResultOperator.apply`. A query that does not bind is a status, never an error."""
        failures = self._failures
        failures.settle()  # failures of rendering the last block's results
        failures.results.clear()
        failures.position = block.first_seq
        self._begin(block)
        seq = block.columns.seq
        begin = 0
        for control in block.controls:
            stop = int(np.searchsorted(seq, control.position))
            self._advance(self._read.fitted(block, begin, stop), begin, stop, control.position)
            begin, failures.position = stop, control.position
            self._control(control, history)
        self._advance(self._read.fitted(block, begin, len(seq)), begin, len(seq), block.next_seq)
        self._events += len(seq)
        failures.position = block.next_seq
        self._finish(block)
        failures.settle()
        return failures.results.ordered()

    @property
    def has_queries(self) -> bool:
        return any(not standing.foreign for standing in self._standing.values())

    @property
    def failed(self) -> frozenset[str]:
        """The queries that have failed and are still standing."""
        return frozenset(name for name, standing in self._standing.items() if standing.failure)

    def failures(self) -> list[Failure]:
        """The failures since the last call, in any step of any query.

        If rendering fails, the rest of the query's results is left out, from the failed slice of the block on.
        """
        return self._failures.take()

    def stop(self, name: str, version: int, reason: str) -> None:
        """Let a query fail that has failed here before, now or, being still to come, when it is added."""
        self._failures.stop(name, version, reason, self._standing.get(name))

    def part(self, names: frozenset[str]) -> None:
        """Separate these queries from all others: of queries that share, it is not known which one is at fault."""

    @property
    def _schema(self) -> Schema | None:
        """The schema in force."""
        return self._read.schema

    def statuses(self) -> Mapping[str, Status]:
        """The state of every query that may be ours, by name: see `Status`."""
        return {name: standing.status() for name, standing in self._standing.items() if not standing.foreign}

    def snapshot(self) -> State:
        """All state as flat arrays; `operator` holds the rest as JSON."""
        state: dict[str, NDArray[np.generic]] = {}
        for number, standing in enumerate(self._standing.values()):
            if standing.runs is not None:
                with self._step(standing, SAVING):
                    state |= {f"{number}.{name}": array for name, array in self._saved(standing.runs).items()}
        self._failures.settle()
        body = {
            "schema": None if self._schema is None else schema_to_record(self._schema),
            "events": self._events,
            "position": self._failures.position,
            **self._record(),
            "queries": [standing.record() for standing in self._standing.values()],
        }
        return {"operator": np.frombuffer(orjson.dumps(body), np.uint8).copy(), **state}

    def restore(self, state: State) -> None:
        """Take over a snapshot; all earlier state is forgotten."""
        body = orjson.loads(state["operator"].tobytes())
        self._read.schema = None if body["schema"] is None else schema_from_record(body["schema"])
        self._events, self._failures.position = body["events"], body.get("position", 0)
        self._standing = {}
        self._reset(body)
        for number, record in enumerate(body["queries"]):
            standing = self._add(record)
            if record["bound"]:
                prefix = f"{number}."
                own = {name[len(prefix) :]: array for name, array in state.items() if name.startswith(prefix)}
                if not standing.failure:
                    self._bind(standing)
                with self._step(standing, RESTORING):
                    self._raise_refusal(standing)
                    self._restore(standing.name, standing.runs, own)
        self._settled()

    # ---------------------------------------------------------------- failures

    def _step(self, standing: S, step: str) -> QueryStep:
        """A step of one query; an exception in it is the query's."""
        return self._failures.step(standing, step)

    def _cannot_compute(self, standing: StandingQuery[Any], error: Exception) -> None:
        """Fail a query that reads a computed value, such as a user's function that failed on an event."""
        self._failures.fail(cast("S", standing), ADVANCING, error)

    # ---------------------------------------------------------------- controls

    def _control(self, control: Control, history: History | None) -> None:
        """Put a control record in force: a schema, a change of a query, or the checkpoint that a chain begins with.

        Any later checkpoint, and every other kind, changes nothing here.
        """
        body = control.body
        if control.kind == "schema":
            self._read.schema = schema_from_record(body["schema"])
            bound = {name: one.text for name, one in self._standing.items() if one.runs is not None}
            for name in makers_first(self._compiler, bound):
                standing = self._standing[name]
                if standing.runs is not None:
                    with self._step(standing, BINDING):
                        self._adopt(standing, standing.runs)
            self._adopted()
            self._bind_waiting(history, control.position)
        elif control.kind == "query":
            self._change(body, history, control.position)
        elif control.kind == "checkpoint" and self._schema is None and not self._standing:
            self._begin_at(body, control.position)

    def _change(self, body: Mapping[str, Any], history: History | None, position: int) -> None:
        """Add, remove, pause, resume or end a query, by the body of its record.

        A standing query of that name is taken out of force before another one is added. Changes of queries that are not
        standing are ignored, and a foreign or failed query does not end again.
        """
        name, op = str(body["name"]), body["op"]
        standing = self._standing.get(name)
        if op in ("add", "remove") and standing is not None:
            self._leave(standing)
            self._read.remove(name)
            del self._standing[name]
        if op == "add":
            self._add(body)
            self._bind_waiting(history, position)
        elif op in ("pause", "resume") and standing is not None:
            standing.paused = op == "pause"
            if standing.paused and standing.runs is not None:
                with self._step(standing, REPORTING):
                    self._pause(standing.runs)
        elif op == "fail" and standing is not None and not (standing.foreign or standing.failure):
            self._failures.end_here(standing, str(body["reason"]))

    def _leave(self, standing: S) -> None:
        """Take a query out of force. Its results so far are reported."""
        if standing.runs is not None:
            with self._step(standing, REPORTING):
                self._drop(standing, standing.runs)
            standing.runs = None

    def _begin_at(self, body: Mapping[str, Any], position: int) -> None:
        """Start in the middle of a topic: all that is in force is in the record."""
        if body.get("schema") is not None:
            self._read.schema = schema_from_record(body["schema"])
        for record in body.get("queries", ()):
            self._add({**record, "version": record.get("added", record["version"]), "from": "now"})
        self._bind_waiting(None, position)

    def _add(self, record: Mapping[str, Any]) -> S:
        standing = cast("S", self._queries.from_record(record))
        self._failures.added(standing)
        self._standing[standing.name] = standing
        return standing

    def _bind_waiting(self, history: History | None, position: int) -> None:
        """Bind the queries that wait for a schema, if there is one; one added `--from earliest` then sees the past."""
        if self._schema is None:
            return
        waiting = {name: standing.text for name, standing in self._standing.items() if standing.is_waiting}
        for name in makers_first(self._compiler, waiting):
            standing = self._standing[name]
            self._bind(standing)
            if standing.active is not None and standing.earliest and history is not None:
                standing.earliest = False
                with self._step(standing, ADVANCING):
                    self._replay(standing, standing.active, partial(self._past, standing, history), position)

    def _past(self, standing: S, history: History) -> Iterator[Block]:
        """The blocks before this one, as a query reads them."""
        return (self._read.fitted_for(block, standing) for block in history())

    def _compile(self, standing: S) -> Plan:
        """The plan of its text, for the schema in force."""
        return self._compiler(standing.text, self._schema, standing.name)

    def _bind(self, standing: S) -> None:
        """Bind a query to the schema in force, and start its runs.

        A query of another engine or stream becomes `foreign`. A SaffronError becomes the query's `refusal`; any other
        exception makes the query fail.
        """
        with self._step(standing, BINDING):
            try:
                plan = self._compile(standing)
                if not isinstance(plan, self._plans) or plan.stream != self.stream:
                    standing.foreign = True
                    return
                require_timestamps(standing.timestamps, plan)
                standing.timestamps = plan.timestamps
                self._read.add(standing, plan)
                standing.runs = self._start(standing, plan)
            except SaffronError as error:
                standing.foreign = self._is_foreign(standing)
                standing.refusal = "" if standing.foreign else str(error)

    @staticmethod
    def _raise_refusal(standing: S) -> None:
        """Raise the refusal that `_bind` left of a query that was in force, so that the query fails (SchemaError).

        The schema has another kind of an attribute than its runs were made for, or a function of the user's is gone.
        """
        if standing.refusal:
            why, standing.refusal = standing.refusal, ""
            message = why.partition("\n")[0].removeprefix("query error: ")
            raise SchemaError(f"it cannot be bound any more: {message}")

    def _is_foreign(self, standing: S) -> bool:
        """True if a query that does not bind is another engine's, which may know types that this one does not."""
        try:
            plan = self._compiler(standing.text, None, standing.name)
        except SaffronError:
            return False
        return not isinstance(plan, self._plans)
