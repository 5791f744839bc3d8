"""`greta`'s operator: any number of trend queries over the blocks of one partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.operator import History, State
from saffron.engine.queries import QueryOperator
from saffron.engine.results import DUE, FULL, PAST, Fired
from saffron.engine.standing import StandingQuery
from saffron.engine.trends.history import replay_past
from saffron.engine.trends.layout import Batch
from saffron.engine.trends.query import TrendQuery
from saffron.engine.trends.results import Trends
from saffron.language.plan import TrendPlan

Standing = StandingQuery[TrendQuery]


class TrendOperator(QueryOperator[Standing, TrendQuery]):
    """A `ResultOperator` for aggregate queries (requirements T1-T7)."""

    _plans = TrendPlan
    _queries = StandingQuery

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

    # ---------------------------------------------------------------- state

    def _reset(self, record: Mapping[str, Any] | None = None) -> None:
        self._last_ts: int | None = None if record is None else record["last_ts"]
        self._batches: dict[str, Batch] = {}

    def _record(self) -> Mapping[str, Any]:
        return {"last_ts": self._last_ts}

    def _saved(self, runs: TrendQuery) -> State:
        return runs.snapshot()

    def _restore(self, runs: TrendQuery, arrays: State) -> None:
        runs.restore(arrays)

    # ---------------------------------------------------------------- events

    def _active(self) -> dict[str, TrendQuery]:
        return {name: standing.active for name, standing in self._standing.items() if standing.active is not None}

    def _begin(self, block: Block) -> None:
        for query in self._active().values():
            query.tidy()

    def _advance(self, block: Block, begin: int, stop: int, position: int) -> None:
        for name, query in self._active().items():
            if stop > begin:
                if name not in self._batches:
                    self._batches[name] = query.batch(block.columns, block.opened.get(name, ()))
                query.apply(self._batches[name], begin, stop)
            query.pass_position(position)
            self._collect(name, query)

    def _finish(self, block: Block) -> None:
        if len(block.columns):
            self._last_ts = int(block.columns.ts[-1])
        for name, query in self._active().items():
            query.pass_time(block.watermark, block.next_seq)
            if block.end:
                query.end(self._last_ts, block.watermark, block.next_seq)
            self._collect(name, query)
        self._batches = {}

    def _collect(self, name: str, query: TrendQuery) -> None:
        """Take what has fired."""
        rows = query.take_results()
        if len(rows.out):
            trends = Trends(query, self.partition, rows)
            self._fired.append(Fired(name, trends, FULL if query.plan.window.events else DUE, trends.deadline))

    # ---------------------------------------------------------------- controls

    def _start(self, standing: Standing, plan: TrendPlan) -> TrendQuery:
        assert self._schema is not None
        plan = replace(plan, name=standing.name)
        return TrendQuery(plan, self._schema.kinds, standing.slot, compiled=self._compiled)

    def _pause(self, runs: TrendQuery) -> None:
        runs.reset()

    def _drop(self, standing: Standing, runs: TrendQuery) -> None:
        self._batches.pop(standing.name, None)

    def _adopt(self, standing: Standing, runs: TrendQuery) -> None:
        self._drop(standing, runs)
        standing.runs = None
        self._bind(standing)
        if standing.runs is not None and standing.runs.is_like(runs):
            standing.runs = runs

    def _replay(self, standing: Standing, runs: TrendQuery, history: History, position: int) -> None:
        replay_past(runs, history(), position)
        self._fired.append(Fired(standing.name, Trends(runs, self.partition, runs.take_results(), position), PAST))

    def _begin_at(self, body: Mapping[str, Any], position: int) -> None:
        """Open windows are in the record too."""
        super()._begin_at(body, position)
        for name, openings in body.get("windows", {}).items():
            query = self._standing[name].active if name in self._standing else None
            if query is not None:
                query.reopen(openings)
