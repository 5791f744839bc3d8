"""What `matcher` and `greta` have in common: the stream's control records, and the standing queries they change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.composition import makers_first
from saffron.engine.events.block import Block, Control
from saffron.engine.events.schema import Schema
from saffron.engine.events.schema_record import schema_from_record, schema_to_record
from saffron.engine.operator import History, State
from saffron.engine.results import Fired, OrderedResults
from saffron.engine.standing import Compiler, StandingQuery, Status, compile_text
from saffron.errors import SaffronError
from saffron.language.plan import MatchPlan, Plan, TrendPlan

S = TypeVar("S", bound=StandingQuery[Any])
R = TypeVar("R")


class QueryOperator(ABC, Generic[S, R]):
    """A `ResultOperator` driven by the control records of its blocks; each engine adds how it runs a plan.

    It takes the queries of `stream` that the compiler binds to a plan of its kind and leaves all others alone. A query
    sees the events from its position on; pausing or removing it drops what it has under way.
    `compiled`: False runs the kernels as Python. `compiler`: from text, schema and name to a plan.
    """

    _plans: ClassVar[type[MatchPlan | TrendPlan]]
    _queries: ClassVar[type[StandingQuery[Any]]]

    def __init__(
        self, *, partition: int, stream: str = "events", compiled: bool = True, compiler: Compiler = compile_text
    ) -> None:
        self.partition = partition
        self.stream = stream
        self._compiled = compiled
        self._compiler = compiler
        self._schema: Schema | None = None
        self._standing: dict[str, S] = {}
        self._events = 0
        self._fired: list[Fired] = []
        self._reset()

    def apply(self, block: Block, history: History | None = None) -> OrderedResults:
        """Advance by one block; see `ResultOperator.apply`. A query that does not bind is a status, never an error."""
        self._fired = []
        self._begin(block)
        seq = block.columns.seq
        begin = 0
        for control in block.controls:
            stop = int(np.searchsorted(seq, control.position))
            self._advance(block, begin, stop, control.position)
            begin = stop
            self._control(control, history)
        self._advance(block, begin, len(seq), block.next_seq)
        self._events += len(seq)
        self._finish(block)
        return OrderedResults(self._fired)

    def statuses(self) -> Mapping[str, Status]:
        """The state of every query that may be ours, by name: active, paused, waiting (for a schema) or rejected."""
        return {name: standing.status() for name, standing in self._standing.items() if not standing.foreign}

    def snapshot(self) -> State:
        """All state as flat arrays; `operator` holds the rest as JSON."""
        body = {
            "schema": None if self._schema is None else schema_to_record(self._schema),
            "events": self._events,
            **self._record(),
            "queries": [standing.record() for standing in self._standing.values()],
        }
        state: dict[str, NDArray[np.generic]] = {"operator": np.frombuffer(orjson.dumps(body), np.uint8).copy()}
        for number, standing in enumerate(self._standing.values()):
            if standing.runs is not None:
                state |= {f"{number}.{name}": array for name, array in self._saved(standing.runs).items()}
        return state

    def restore(self, state: State) -> None:
        """Take over a snapshot; all earlier state is forgotten."""
        body = orjson.loads(state["operator"].tobytes())
        self._schema = None if body["schema"] is None else schema_from_record(body["schema"])
        self._events = body["events"]
        self._standing = {}
        self._reset(body)
        for number, record in enumerate(body["queries"]):
            standing = self._add(record)
            if record["bound"]:
                self._bind(standing)
                prefix = f"{number}."
                own = {name[len(prefix) :]: array for name, array in state.items() if name.startswith(prefix)}
                if standing.runs is not None:
                    self._restore(standing.runs, own)

    # ---------------------------------------------------------------- what an engine adds

    @abstractmethod
    def _reset(self, record: Mapping[str, Any] | None = None) -> None:
        """Its own state: as at the beginning, or as `_record` gave it."""

    @abstractmethod
    def _record(self) -> Mapping[str, Any]:
        """What a snapshot keeps as JSON."""

    @abstractmethod
    def _saved(self, runs: R) -> State:
        """The arrays of what runs a query."""

    @abstractmethod
    def _restore(self, runs: R, arrays: State) -> None:
        """Take over what `_saved` gave."""

    @abstractmethod
    def _begin(self, block: Block) -> None:
        """A block is about to be applied: let go of the last one's results."""

    @abstractmethod
    def _advance(self, block: Block, begin: int, stop: int, position: int) -> None:
        """Give events begin..stop-1 to every active query; `position` is that of the next event."""

    @abstractmethod
    def _finish(self, block: Block) -> None:
        """All events and controls of the block have been applied."""

    @abstractmethod
    def _start(self, standing: S, plan: Any) -> R:
        """What runs the plan; SaffronError where it cannot be run."""

    @abstractmethod
    def _pause(self, runs: R) -> None:
        """Forget what is under way."""

    @abstractmethod
    def _drop(self, standing: S, runs: R) -> None:
        """A bound query has been removed, or is about to be added anew."""

    @abstractmethod
    def _adopt(self, standing: S, runs: R) -> None:
        """A new schema: a bound query that it leaves as it is goes on, another one starts afresh on it."""

    @abstractmethod
    def _replay(self, standing: S, runs: R, history: History, position: int) -> None:
        """Let the query see the past; its results stand at `position`."""

    # ---------------------------------------------------------------- controls

    def _control(self, control: Control, history: History | None) -> None:
        body = control.body
        if control.kind == "schema":
            self._schema = schema_from_record(body["schema"])
            for standing in self._standing.values():
                if standing.runs is not None:
                    self._adopt(standing, standing.runs)
            self._bind_waiting(history, control.position)
        elif control.kind == "query":
            self._change(body, history, control.position)
        elif control.kind == "checkpoint" and self._schema is None and not self._standing:
            self._begin_at(body, control.position)

    def _change(self, body: Mapping[str, Any], history: History | None, position: int) -> None:
        name, op = str(body["name"]), body["op"]
        standing = self._standing.get(name)
        if op in ("add", "remove") and standing is not None:
            del self._standing[name]
            if standing.runs is not None:
                self._drop(standing, standing.runs)
        if op == "add":
            self._add(body)
            self._bind_waiting(history, position)
        elif op in ("pause", "resume") and standing is not None:
            standing.paused = op == "pause"
            if standing.paused and standing.runs is not None:
                self._pause(standing.runs)

    def _begin_at(self, body: Mapping[str, Any], position: int) -> None:
        """Start in the middle of a topic: all that is in force is in the record."""
        if body.get("schema") is not None:
            self._schema = schema_from_record(body["schema"])
        for record in body.get("queries", ()):
            self._add({**record, "version": record.get("added", record["version"]), "from": "now"})
        self._bind_waiting(None, position)

    def _add(self, record: Mapping[str, Any]) -> S:
        standing = cast("S", self._queries.from_record(record))
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
                self._replay(standing, standing.active, history, position)

    def _compile(self, standing: S) -> Plan:
        """The plan of its text, for the schema in force."""
        return self._compiler(standing.text, self._schema, standing.name)

    def _bind(self, standing: S) -> None:
        try:
            plan = self._compile(standing)
            if not isinstance(plan, self._plans) or plan.stream != self.stream:
                standing.foreign = True
                return
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
