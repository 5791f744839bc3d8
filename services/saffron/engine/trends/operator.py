"""`greta`'s operator: any number of trend queries over the blocks of one partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.block import Block, Control
from saffron.engine.events.schema import Schema
from saffron.engine.events.schema_record import schema_from_record, schema_to_record
from saffron.engine.operator import History, State
from saffron.engine.standing import Status
from saffron.engine.trends.history import replay_past
from saffron.engine.trends.layout import Batch
from saffron.engine.trends.query import TrendQuery
from saffron.engine.trends.results import DUE, FULL, PAST, Fired, TrendResults
from saffron.engine.trends.standing import Standing
from saffron.errors import SaffronError
from saffron.language.plan import Plan, TrendPlan

Compiler = Callable[[str, Schema, str], Plan]


def _compile(text: str, schema: Schema, name: str) -> Plan:
    from saffron.language import compile_query

    return compile_query(text, schema, name=name)


class TrendOperator:
    """A `ResultOperator` for aggregate queries (requirements T1-T7), driven by the control records of its blocks.

    It takes the queries of `stream` that the compiler binds to a `TrendPlan` and leaves all others alone. A query sees
    the events from its position on; pausing or removing it drops its open windows.
    `compiled`: False runs the kernels as Python. `compiler`: from text, schema and name to a plan.
    """

    def __init__(
        self, *, partition: int, stream: str = "events", compiled: bool = True, compiler: Compiler = _compile
    ) -> None:
        self.partition = partition
        self.stream = stream
        self._compiled = compiled
        self._compiler = compiler
        self._schema: Schema | None = None
        self._standing: dict[str, Standing] = {}
        self._events = 0
        self._last_ts: int | None = None
        self._fired: list[Fired] = []
        self._batches: dict[str, Batch] = {}

    def apply(self, block: Block, history: History | None = None) -> TrendResults:
        """Advance by one block; see `ResultOperator.apply`. A query that does not bind is a status, never an error."""
        for query in self._active().values():
            query.tidy()
        self._fired, self._batches = [], {}
        seq = block.columns.seq
        begin = 0
        for control in block.controls:
            stop = int(np.searchsorted(seq, control.position))
            self._run(block, begin, stop, control.position)
            begin = stop
            self._control(control, history)
        self._run(block, begin, len(seq), block.next_seq)
        if len(seq):
            self._last_ts = int(block.columns.ts[-1])
        self._events += len(seq)
        for query in self._active().values():
            query.pass_time(block.watermark, block.next_seq)
            if block.end:
                query.end(self._last_ts, block.watermark, block.next_seq)
            self._collect(query)
        self._batches = {}
        return TrendResults(self.partition, self._fired)

    def statuses(self) -> Mapping[str, Status]:
        """The state of every query that may be ours, by name: active, paused, waiting (for a schema) or rejected."""
        return {name: standing.status() for name, standing in self._standing.items() if not standing.foreign}

    def statistics(self) -> Mapping[str, Any]:
        """Counts for metrics and `load`; those of queries are by name, `partial_matches` being stored vertices."""
        by_query = {name: query.statistics() for name, query in self._active().items()}

        def column(key: str) -> dict[str, int]:
            return {name: numbers[key] for name, numbers in by_query.items()}

        return {
            "events": self._events,
            "results": column("results"),
            "partial_matches": column("vertices"),
            "vertices": column("vertices"),
            "open_windows": column("open_windows"),
            "keys": column("keys"),
            "state_bytes": sum(column("state_bytes").values()),
        }

    def observations(self) -> Mapping[str, list[Mapping[str, Any]]]:
        """None: trend queries build no partial matches that a model could rate."""
        return {}

    def snapshot(self) -> State:
        """All state as flat arrays; `operator` holds the rest as JSON."""
        body = {
            "schema": None if self._schema is None else schema_to_record(self._schema),
            "events": self._events,
            "last_ts": self._last_ts,
            "queries": [standing.record() for standing in self._standing.values()],
        }
        state: dict[str, NDArray[np.generic]] = {"operator": np.frombuffer(orjson.dumps(body), dtype=np.uint8).copy()}
        for number, standing in enumerate(self._standing.values()):
            if standing.query is not None:
                state |= {f"{number}.{name}": array for name, array in standing.query.snapshot().items()}
        return state

    def restore(self, state: State) -> None:
        """Take over a snapshot; all earlier state is forgotten."""
        body = orjson.loads(state["operator"].tobytes())
        self._schema = None if body["schema"] is None else schema_from_record(body["schema"])
        self._events, self._last_ts = body["events"], body["last_ts"]
        self._standing = {}
        for number, record in enumerate(body["queries"]):
            standing = Standing.from_record(record)
            self._standing[standing.name] = standing
            if record["bound"]:
                self._bind(standing)
                prefix = f"{number}."
                own = {name[len(prefix) :]: array for name, array in state.items() if name.startswith(prefix)}
                if standing.query is not None:
                    standing.query.restore(own)

    # ---------------------------------------------------------------- events

    def _active(self) -> dict[str, TrendQuery]:
        return {name: standing.active for name, standing in self._standing.items() if standing.active is not None}

    def _run(self, block: Block, begin: int, stop: int, position: int) -> None:
        """Apply events begin..stop-1 to every active query; `position` is that of the next event."""
        for name, query in self._active().items():
            if stop > begin:
                if name not in self._batches:
                    self._batches[name] = query.batch(block.columns, block.opened.get(name, ()))
                query.apply(self._batches[name], begin, stop)
            query.pass_position(position)
            self._collect(query)

    def _collect(self, query: TrendQuery) -> None:
        rows = query.take_results()
        if len(rows):
            self._fired.append(Fired(query, query.strings, rows, FULL if query.plan.window.events else DUE))

    # ---------------------------------------------------------------- controls

    def _control(self, control: Control, history: History | None) -> None:
        body = control.body
        if control.kind == "schema":
            self._use_schema(schema_from_record(body["schema"]))
            self._bind_waiting(history, control.position)
        elif control.kind == "query":
            self._change(body, history, control.position)
        elif control.kind == "checkpoint" and self._schema is None and not self._standing:
            self._begin_at(body, control.position)

    def _change(self, body: Mapping[str, Any], history: History | None, position: int) -> None:
        name, op = str(body["name"]), body["op"]
        if op == "add":
            self._batches.pop(name, None)
            self._standing[name] = Standing.from_record(dict(body))
            self._bind_waiting(history, position)
        elif op == "remove":
            self._standing.pop(name, None)
        elif op in ("pause", "resume") and name in self._standing:
            standing = self._standing[name]
            standing.paused = op == "pause"
            if standing.paused and standing.query is not None:
                standing.query.reset()

    def _use_schema(self, schema: Schema) -> None:
        """A new schema: queries that it leaves as they are go on, others start afresh on it."""
        self._schema = schema
        self._batches.clear()
        for standing in self._standing.values():
            before = standing.query
            if before is not None:
                standing.query = None
                self._bind(standing)
                if standing.query is not None and standing.query.is_like(before):
                    standing.query = before

    def _bind_waiting(self, history: History | None, position: int) -> None:
        """Bind what waits for a schema, if there is one; a query added `--from earliest` then sees the past."""
        for standing in self._standing.values():
            if not standing.is_waiting or self._schema is None:
                continue
            self._bind(standing)
            query = standing.active
            if query is not None and standing.earliest and history is not None:
                standing.earliest = False
                replay_past(query, history(), position)
                self._fired.append(Fired(query, query.strings, query.take_results(), PAST, position))

    def _bind(self, standing: Standing) -> None:
        assert self._schema is not None
        try:
            plan = self._compiler(standing.text, self._schema, standing.name)
            if not isinstance(plan, TrendPlan) or plan.stream != self.stream:
                standing.foreign = True
                return
            plan = replace(plan, name=standing.name)
            standing.query = TrendQuery(plan, self._schema.kinds, standing.slot, compiled=self._compiled)
        except SaffronError as error:
            standing.refusal = str(error)

    def _begin_at(self, body: Mapping[str, Any], position: int) -> None:
        """Start in the middle of the topic: all that is in force is in the record, open windows included."""
        if body.get("schema") is not None:
            self._schema = schema_from_record(body["schema"])
        for record in body.get("queries", ()):
            standing = Standing.from_record({**record, "from": "now"})
            self._standing[standing.name] = standing
        self._bind_waiting(None, position)
        for name, openings in body.get("windows", {}).items():
            query = self._standing[name].active if name in self._standing else None
            if query is not None:
                query.reopen(openings)
