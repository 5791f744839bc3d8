"""The common operator of `matcher` and `greta`: control records of the stream, and the standing queries they change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.block import Block, Control
from saffron.engine.events.computed_columns import ComputedColumns
from saffron.engine.events.schema_record import schema_from_record, schema_to_record
from saffron.engine.events.tables import conformed
from saffron.engine.operators.addresses import Address
from saffron.engine.operators.composition import makers_first
from saffron.engine.operators.containment import (
    ADVANCING,
    BINDING,
    READING,
    REPORTING,
    RESTORING,
    SAVING,
    Containment,
    Failure,
    Note,
    Step,
    failure_text,
    unnoted,
)
from saffron.engine.operators.operator import History, State
from saffron.engine.operators.results import Fired, Ints, OrderedResults, Part
from saffron.engine.operators.standing import Compiler, StandingQuery, Status, compile_text
from saffron.errors import FunctionError, SaffronError
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.language.plan.trend_plan import TrendPlan
from saffron.schema.computed import Computed
from saffron.schema.schema import Kind, Schema

S = TypeVar("S", bound=StandingQuery[Any])
R = TypeVar("R")


class QueryOperator(ABC, Generic[S, R]):
    """A `ResultOperator` driven by the control records of its blocks; each engine adds how it runs a plan.

    It takes the queries of `stream` that the compiler binds to a plan of its kind and leaves all others alone. A query
    sees the events from its position on; pausing or removing it drops what it has under way. A query that raises an
    exception fails by itself (`containment`): it is without results in the block at hand, and has none after it.
    `compiled`: False runs the kernels as Python. `compiler`: from text, schema and name to a plan. `note`: is told each
    step of a query.
    """

    _plans: ClassVar[type[MatchPlan | TrendPlan]]
    _queries: ClassVar[type[StandingQuery[Any]]]

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
        self._schema: Schema | None = None
        self._unseen: set[str] = set()
        self._computed: dict[str, dict[str, None]] = {}
        self._computing = ComputedColumns()
        self._standing: dict[str, S] = {}
        self._events = 0
        self._fired: list[tuple[S, Fired]] = []
        self._note = note
        self._contained = Containment(note, lambda standing, step, error: self._fail(cast("S", standing), step, error))
        self._failures: list[Failure] = []
        self._stops: dict[str, tuple[int, str]] = {}
        self._unsettled = False
        self._position = 0
        self._reset()

    def apply(self, block: Block, history: History | None = None) -> OrderedResults:
        """Advance by one block; see `ResultOperator.apply`. A query that does not bind is a status, never an error."""
        self._settle_failures()  # of rendering what the last block gave
        self._fired = []
        self._position = block.first_seq
        self._begin(block)
        seq = block.columns.seq
        begin = 0
        for control in block.controls:
            stop = int(np.searchsorted(seq, control.position))
            self._advance(self._fitted(block), begin, stop, control.position)
            begin, self._position = stop, control.position
            self._control(control, history)
        self._advance(self._fitted(block), begin, len(seq), block.next_seq)
        self._events += len(seq)
        self._position = block.next_seq
        self._finish(block)
        self._settle_failures()
        return OrderedResults([fired for _, fired in self._fired])

    @property
    def failed(self) -> frozenset[str]:
        """The queries that have failed and are still standing."""
        return frozenset(name for name, standing in self._standing.items() if standing.failure)

    def failures(self) -> list[Failure]:
        """The failures since the last call, in any step of any query.

        If rendering fails, the rest of the query's results is left out, from the failed slice of the block on.
        """
        failures, self._failures = self._failures, []
        return failures

    def stop(self, name: str, version: int, reason: str) -> None:
        """Let a query fail that has failed here before, now or, being still to come, when it is added."""
        standing = self._standing.get(name)
        if standing is not None and standing.version == version:
            self._end(standing, reason)
            self._settle_failures()
        else:
            self._stops[name] = version, reason

    def part(self, names: frozenset[str]) -> None:
        """From now on these queries share nothing with each other: of one of them it is not known which is at fault."""

    def _fitted(self, block: Block) -> Block:
        """The block with all attributes of the schema in force, each of its kind there, and those that queries read:
        of which no event has had any yet, or which are computed."""
        columns = block.columns
        if self._schema is not None:
            columns = self._computing.added(conformed(columns, self._known), self._computed, self._cannot_compute)
        return block if columns is block.columns else replace(block, columns=columns)

    def _cannot_compute(self, name: str, error: FunctionError) -> None:
        """Fail the queries that read the value of a user's function, which failed on an event."""
        for query in self._computed[name]:
            standing = self._standing.get(query)
            if standing is not None and standing.runs is not None:
                self._fail(standing, ADVANCING, error)

    @property
    def _known(self) -> Schema:
        """The schema in force, with the attributes that queries read and no event has had yet, all null, and with the
        computed ones."""
        assert self._schema is not None
        more = dict.fromkeys(self._unseen - self._schema.kinds.keys(), Kind.NULL)
        more |= {name: one.kind for name in self._computed if (one := Computed.of_name(name)) is not None}
        return replace(self._schema, kinds={**self._schema.kinds, **more}) if more else self._schema

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
        self._settle_failures()
        body = {
            "schema": None if self._schema is None else schema_to_record(self._schema),
            "events": self._events,
            "position": self._position,
            **self._record(),
            "queries": [standing.record() for standing in self._standing.values()],
        }
        return {"operator": np.frombuffer(orjson.dumps(body), np.uint8).copy(), **state}

    def restore(self, state: State) -> None:
        """Take over a snapshot; all earlier state is forgotten."""
        body = orjson.loads(state["operator"].tobytes())
        self._schema = None if body["schema"] is None else schema_from_record(body["schema"])
        self._events, self._position = body["events"], body.get("position", 0)
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
                    self._restore(standing.name, standing.runs, own)
        self._settled()

    # ---------------------------------------------------------------- what an engine adds

    @abstractmethod
    def _reset(self, record: Mapping[str, Any] | None = None) -> None:
        """Set the operator's own state to that of the beginning, or to that of a `_record`."""

    @abstractmethod
    def _record(self) -> Mapping[str, Any]:
        """The part of a snapshot that is JSON."""

    @abstractmethod
    def _saved(self, runs: R) -> State:
        """The arrays of a query's runs, for a snapshot."""

    @abstractmethod
    def _restore(self, name: str, runs: R | None, arrays: State) -> None:
        """Take over what `_saved` gave; without runs the query could not be bound again."""

    @abstractmethod
    def _begin(self, block: Block) -> None:
        """Release the results of the last block, before a block is applied."""

    @abstractmethod
    def _advance(self, block: Block, begin: int, stop: int, position: int) -> None:
        """Give events begin..stop-1 to every active query; `position` is that of the next event."""

    @abstractmethod
    def _finish(self, block: Block) -> None:
        """Finish a block: all its events and controls have been applied."""

    @abstractmethod
    def _start(self, standing: S, plan: Any) -> R:
        """The runs of a plan. SaffronError: the plan cannot be run."""

    @abstractmethod
    def _pause(self, runs: R) -> None:
        """Forget what is under way."""

    @abstractmethod
    def _drop(self, standing: S, runs: R) -> None:
        """Release the runs of a bound query that is removed, or added again."""

    @abstractmethod
    def _adopt(self, standing: S, runs: R) -> None:
        """Give a bound query a new schema. It keeps its runs if the schema is wider; else it starts again."""

    def _adopted(self) -> None:
        """Finish a change of schema: all bound queries have adopted it."""

    @abstractmethod
    def _close(self, runs: R) -> None:
        """Release what the runs of a failed query hold of the operator."""

    @abstractmethod
    def _forget_all_of(self, standing: S) -> None:
        """Drop what is kept beside the runs of a failed query."""

    @abstractmethod
    def _settled(self) -> None:
        """Behind a change of the queries in force, failures included: who has to do with whom now."""

    @abstractmethod
    def _replay(self, standing: S, runs: R, history: History, position: int) -> None:
        """Let the query see the past; its results stand at `position`."""

    # ---------------------------------------------------------------- failures

    def _step(self, standing: S, step: str) -> Step:
        """A step of one query; an exception in it is the query's."""
        return self._contained.step(standing, step)

    def _fires(self, standing: S, fired: Fired) -> None:
        """Add a part to the block's results; it counts as long as its query has not failed."""
        part = Contained(fired.results, standing, self._contained)
        self._fired.append((standing, replace(fired, results=part, fail=part.fail)))

    def _fail(self, standing: S, step: str, error: Exception, apart: frozenset[str] = frozenset()) -> None:
        """Fail a query after an exception in one of its steps. `apart`: names of queries that may have caused it."""
        if standing.failure:
            return
        reason = failure_text(step, self._position, error)
        self._failed(standing, step, reason, error=error, apart=apart, anew=self._has_touched_others(standing))
        self._end(standing, reason)

    def _failed(self, standing: S, step: str, reason: str, **more: Any) -> None:
        self._failures.append(Failure(standing.name, standing.version, step, self._position, reason, **more))

    def _end(self, standing: S, reason: str) -> None:
        """End a query that failed here, and those that read its results. Their results of the block are left out."""
        readers = list(self._readers_of(standing))
        standing.failure, self._unsettled = reason, True
        runs, standing.runs = standing.runs, None
        self._fired = [(owner, fired) for owner, fired in self._fired if owner is not standing]
        with suppress(Exception):  # what is left of it is no more than memory
            if runs is not None:
                self._close(runs)
        self._forget_all_of(standing)
        for reader in readers:
            if not reader.failure:
                why = _with(standing)
                self._failed(reader, READING, why, anew=self._has_touched_others(reader))
                self._end(reader, why)

    def _end_here(self, standing: S, reason: str) -> None:
        """End a query that failed by the log, and those that read its results. Their results so far are reported."""
        readers = list(self._readers_of(standing))
        self._leave(standing)
        standing.failure, self._unsettled = standing.failure or reason, True
        self._forget_all_of(standing)
        for reader in readers:
            if not reader.failure:
                self._failed(reader, READING, _with(standing), logged=True)
                self._end_here(reader, _with(standing))

    def _settle_failures(self) -> None:
        if self._unsettled:
            self._unsettled = False
            self._settled()

    def _readers_of(self, standing: S) -> Iterator[S]:
        """The queries that read its results."""
        yield from ()

    def _has_touched_others(self, standing: S) -> bool:
        """Whether others would be otherwise had it not been there in the block at hand."""
        return False

    # ---------------------------------------------------------------- controls

    def _control(self, control: Control, history: History | None) -> None:
        body = control.body
        if control.kind == "schema":
            self._schema = schema_from_record(body["schema"])
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
        name, op = str(body["name"]), body["op"]
        standing = self._standing.get(name)
        if op in ("add", "remove") and standing is not None:
            self._leave(standing)
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
            self._end_here(standing, str(body["reason"]))

    def _leave(self, standing: S) -> None:
        """Take a query out of force. Its results so far are reported."""
        if standing.runs is not None:
            with self._step(standing, REPORTING):
                self._drop(standing, standing.runs)
            standing.runs = None

    def _begin_at(self, body: Mapping[str, Any], position: int) -> None:
        """Start in the middle of a topic: all that is in force is in the record."""
        if body.get("schema") is not None:
            self._schema = schema_from_record(body["schema"])
        for record in body.get("queries", ()):
            self._add({**record, "version": record.get("added", record["version"]), "from": "now"})
        self._bind_waiting(None, position)

    def _add(self, record: Mapping[str, Any]) -> S:
        standing = cast("S", self._queries.from_record(record))
        version, reason = self._stops.get(standing.name, (None, ""))
        if version == standing.version:
            standing.failure = reason
        self._standing[standing.name] = standing
        return standing

    def _bind_waiting(self, history: History | None, position: int) -> None:
        """Bind what waits for a schema, if there is one; a query added `--from earliest` then sees the past."""
        if self._schema is None:
            return
        waiting = {name: standing.text for name, standing in self._standing.items() if standing.is_waiting}
        for name in makers_first(self._compiler, waiting):
            standing = self._standing[name]
            self._bind(standing)
            if standing.active is not None and standing.earliest and history is not None:
                standing.earliest = False
                with self._step(standing, ADVANCING):
                    self._replay(standing, standing.active, lambda: map(self._fitted, history()), position)

    def _compile(self, standing: S) -> Plan:
        """The plan of its text, for the schema in force."""
        return self._compiler(standing.text, self._schema, standing.name)

    def _bind(self, standing: S) -> None:
        with self._step(standing, BINDING):
            try:
                plan = self._compile(standing)
                if not isinstance(plan, self._plans) or plan.stream != self.stream:
                    standing.foreign = True
                    return
                self._unseen |= set(plan.unseen)
                for name in plan.computed:
                    self._computed.setdefault(name, {})[standing.name] = None
                standing.runs = self._start(standing, plan)
            except SaffronError as error:
                standing.foreign = self._is_foreign(standing)
                standing.refusal = "" if standing.foreign else str(error)

    def _is_foreign(self, standing: S) -> bool:
        """Whether a query that does not bind is another engine's, which may know types that this one does not."""
        try:
            plan = self._compiler(standing.text, None, standing.name)
        except SaffronError:
            return False
        return not isinstance(plan, self._plans)


def _with(maker: StandingQuery[Any]) -> str:
    return f"query {maker.name} failed, whose results it reads"


class Contained:
    """A part of a block's results that becomes empty if rendering it for its query fails."""

    def __init__(self, part: Part, standing: StandingQuery[Any], containment: Containment) -> None:
        self.part = part
        self.position, self.last_time = part.position, part.last_time
        self._standing = standing
        self._contained = containment

    def __len__(self) -> int:
        return len(self.part)

    def json(self, chosen: Ints) -> list[bytes]:
        """The results as JSON objects; empty texts if the query has failed."""
        if not self._standing.failure:
            with self._contained.step(self._standing, REPORTING):
                return self.part.json(chosen)
        return [b""] * len(chosen)

    def addresses(self, chosen: Ints) -> Sequence[Address | None] | None:
        """Where the results go; what a query has failed before is not asked."""
        if not self._standing.failure:
            with self._contained.step(self._standing, REPORTING):
                return self.part.addresses(chosen)
        return None

    def fail(self, error: Exception) -> None:
        """Fails the query with an error of writing its results."""
        with self._contained.step(self._standing, REPORTING):
            raise error
