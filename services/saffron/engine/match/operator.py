"""`matcher`'s operator: any number of match queries over the blocks of one partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.block import Block, Control
from saffron.engine.events.schema import Schema
from saffron.engine.events.schema_record import schema_from_record, schema_to_record
from saffron.engine.match import snapshot
from saffron.engine.match.drops import Drops, Stopwatch, no_time
from saffron.engine.match.history import replay_past
from saffron.engine.match.observe import transition_rows
from saffron.engine.match.program import compile_program
from saffron.engine.match.query import QueryRuns
from saffron.engine.match.render import Matches
from saffron.engine.match.results import MatchResults, Part
from saffron.engine.match.standing import Standing
from saffron.engine.match.stream import Range
from saffron.engine.operator import History, State
from saffron.engine.standing import Status
from saffron.engine.strings import Strings
from saffron.errors import SaffronError
from saffron.language.plan import MatchPlan, Plan

Compiler = Callable[[str, Schema, str], Plan]


def _compile(text: str, schema: Schema, name: str) -> Plan:
    from saffron.language import compile_query

    return compile_query(text, schema, name=name)


class MatchOperator:
    """A `ResultOperator` for match queries (requirements N1-N9), driven by the control records of its blocks.

    It takes the queries of `stream` that the compiler binds to a `MatchPlan` and leaves all others alone. A query sees
    the events from its position on; pausing or removing it drops its runs.
    `compiled`: False runs the kernels as Python. `compiler`: from text, schema and name to a plan. `stopwatch`
    measures drop orders.
    """

    def __init__(
        self,
        *,
        partition: int,
        stream: str = "events",
        compiled: bool = True,
        compiler: Compiler = _compile,
        stopwatch: Stopwatch = no_time,
    ) -> None:
        self.partition = partition
        self.stream = stream
        self._compiled = compiled
        self._compiler = compiler
        self._schema: Schema | None = None
        self._strings = Strings()
        self._standing: dict[str, Standing] = {}
        self._events = 0
        self._stopwatch = stopwatch
        self._drops = Drops(stopwatch)
        self._parts: list[tuple[str, Part]] = []

    def apply(self, block: Block, history: History | None = None) -> MatchResults:
        """Advance by one block; see `ResultOperator.apply`. A query that does not bind is a status, never an error."""
        columns = block.columns
        self._begin(block)
        begin = 0
        for control in block.controls:
            stop = int(np.searchsorted(columns.seq, control.position))
            self._advance(block, begin, stop)
            begin = stop
            self._control(control, history)
        self._advance(block, begin, len(columns))
        self._events += len(columns)
        for standing in self._standing.values():
            self._collect(standing)
        parts, self._parts = self._parts, []
        return MatchResults(parts)

    def statuses(self) -> Mapping[str, Status]:
        """The state of every query that may be ours, by name: active, paused, waiting (for a schema) or rejected."""
        return {name: standing.status() for name, standing in self._standing.items() if not standing.foreign}

    def statistics(self) -> Mapping[str, Any]:
        """Counts for metrics and `load`; `partial_matches` and `results` are by query name."""
        bound = {name: standing for name, standing in self._standing.items() if standing.runs is not None}
        return {
            "events": self._events,
            "results": {name: standing.results for name, standing in bound.items()},
            "partial_matches": {name: standing.runs.live for name, standing in bound.items() if standing.runs},
            "keys": {name: standing.runs.keys.used for name, standing in bound.items() if standing.runs},
            **self._drops.statistics(),
            "state_bytes": sum(standing.runs.size for standing in bound.values() if standing.runs),
        }

    def observations(self) -> Mapping[str, list[Mapping[str, Any]]]:
        """Since the last call: transitions of runs (P2) by query and pair of states, and what drop orders took (P7)."""
        rows = [row for standing in self._standing.values() for row in transition_rows(standing)]
        found = {"observations.transitions": rows, "observations.latency": self._drops.rows()}
        return {topic: rows for topic, rows in found.items() if rows}

    def snapshot(self) -> State:
        """All state as flat arrays; `operator` holds the rest as JSON."""
        body = {
            "schema": None if self._schema is None else schema_to_record(self._schema),
            "events": self._events,
            "dropped": self._drops.total,
            "strings": self._strings.values,
            "queries": [standing.record() for standing in self._standing.values()],
        }
        state: dict[str, NDArray[np.generic]] = {"operator": np.frombuffer(orjson.dumps(body), np.uint8).copy()}
        for number, standing in enumerate(self._standing.values()):
            if standing.runs is not None:
                state |= {f"{number}.{name}": array for name, array in snapshot.save(standing.runs).items()}
        return state

    def restore(self, state: State) -> None:
        """Take over a snapshot; all earlier state is forgotten."""
        body = orjson.loads(state["operator"].tobytes())
        self._schema = None if body["schema"] is None else schema_from_record(body["schema"])
        self._events, self._drops = body["events"], Drops(self._stopwatch, body["dropped"])
        self._strings = Strings(body["strings"])
        self._standing, self._parts = {}, []
        for number, record in enumerate(body["queries"]):
            standing = Standing.from_record(record)
            self._standing[standing.name] = standing
            if record["bound"]:
                self._bind(standing)
                prefix = f"{number}."
                own = {name[len(prefix) :]: array for name, array in state.items() if name.startswith(prefix)}
                if standing.runs is not None:
                    snapshot.restore(standing.runs, own)

    # ---------------------------------------------------------------- events

    def _begin(self, block: Block) -> None:
        if not len(block.columns):
            for standing in self._standing.values():
                if standing.runs is not None:
                    standing.runs.forget_matches()
            return
        seq, ts = int(block.columns.seq[0]), int(block.columns.ts[0])
        for standing in self._standing.values():
            if standing.runs is not None:
                standing.runs.begin_block(seq if standing.runs.plan.window.events else ts)
        if self._strings.wants_collection:
            held = (runs.string_codes() for s in self._standing.values() if (runs := s.runs) is not None)
            self._strings.collect(codes for codes_of_one in held for codes in codes_of_one)

    def _advance(self, block: Block, begin: int, stop: int) -> None:
        """Give events begin..stop-1 to every active query."""
        if begin == stop:
            return
        part = Range(block.columns, begin, stop)
        for name, standing in self._standing.items():
            if standing.active is not None:
                standing.active.advance(part, _opened(block, name, part))

    def _collect(self, standing: Standing) -> None:
        """Take what a query has found in this block."""
        runs = standing.runs
        if runs is not None and runs.found.shape[1]:
            matches = Matches(runs, standing.name, self.partition)
            standing.results += len(matches)
            self._parts.append((standing.name, matches))

    # ---------------------------------------------------------------- controls

    def _control(self, control: Control, history: History | None) -> None:
        body = control.body
        if control.kind == "schema":
            self._use_schema(schema_from_record(body["schema"]))
            self._bind_waiting(history, control.position)
        elif control.kind == "query":
            self._change(body, history, control.position)
        elif control.kind == "keep" and str(body["query"]) in self._standing:
            runs = self._standing[str(body["query"])].active
            if runs is not None:
                self._drops.carry_out(runs, body)
        elif control.kind == "checkpoint" and self._schema is None and not self._standing:
            self._begin_at(body, history, control.position)

    def _change(self, body: Mapping[str, Any], history: History | None, position: int) -> None:
        name, op = str(body["name"]), body["op"]
        if op in ("add", "remove"):
            self._drop(name)
        if op == "add":
            self._standing[name] = Standing.from_record(dict(body))
            self._bind_waiting(history, position)
        elif op in ("pause", "resume") and name in self._standing:
            standing = self._standing[name]
            standing.paused = op == "pause"
            if standing.paused and standing.runs is not None:
                standing.runs.forget_runs()

    def _drop(self, name: str) -> None:
        standing = self._standing.pop(name, None)
        if standing is not None and standing.runs is not None:
            self._collect(standing)
            standing.runs.close()

    def _begin_at(self, body: Mapping[str, Any], history: History | None, position: int) -> None:
        """Start in the middle of a topic: all that is in force is in the record."""
        if body.get("schema") is not None:
            self._schema = schema_from_record(body["schema"])
        for record in body.get("queries", ()):
            standing = Standing.from_record({**record, "from": "now"})
            self._standing[standing.name] = standing
        self._bind_waiting(history, position)

    def _use_schema(self, schema: Schema) -> None:
        """A new schema: queries that it leaves as they are go on, others start afresh on it."""
        self._schema = schema
        for standing in self._standing.values():
            runs = standing.runs
            if runs is None or runs.adopt(schema):
                continue
            self._collect(standing)
            runs.close()
            standing.runs = None

    def _bind_waiting(self, history: History | None, position: int) -> None:
        """Bind what waits for a schema, if there is one; a query added `--from earliest` then sees the past."""
        for standing in self._standing.values():
            if not standing.is_waiting or self._schema is None:
                continue
            self._bind(standing)
            runs = standing.active
            if runs is not None and standing.earliest and history is not None:
                standing.earliest = False
                past = replay_past(runs, standing.name, self.partition, history(), position)
                standing.results += len(past)
                self._parts.append((standing.name, past))

    def _bind(self, standing: Standing) -> None:
        assert self._schema is not None
        try:
            plan = self._compiler(standing.text, self._schema, standing.name)
            if not isinstance(plan, MatchPlan) or plan.stream != self.stream:
                standing.foreign = True
                return
            program = compile_program(plan, compiled=self._compiled)
            standing.runs = QueryRuns(program, self._schema, self._strings, slot=standing.slot)
        except SaffronError as error:
            standing.refusal = str(error)


def _opened(block: Block, name: str, part: Range) -> list[int]:
    """Positions in the range at which windows of a query open."""
    low = block.first_seq if part.low == 0 else int(part.columns.seq[part.low])
    high = block.next_seq if part.high == len(part.columns) else int(part.columns.seq[part.high])
    return [position for position in block.opened.get(name, ()) if low <= position < high]
