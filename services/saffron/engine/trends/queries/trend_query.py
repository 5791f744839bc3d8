"""A trend query at run time: its plan, its kernels, its state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.columns import Columns
from saffron.engine.events.strings import Strings
from saffron.engine.kernels.kernel_source import KernelSource
from saffron.engine.operators.engine_choice import Engine
from saffron.engine.trends.codegen import conditions, source
from saffron.engine.trends.codegen.prepare import nothing, prepare, ranked
from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Batch, Floats, Store
from saffron.engine.trends.core.engine import engine_of_graphs
from saffron.engine.trends.core.graphs import graphs_of
from saffron.engine.trends.core.measures import measures_of
from saffron.engine.trends.core.sizes import Sizes
from saffron.engine.trends.ordered import tree_pool
from saffron.engine.trends.queries.shed import Shed
from saffron.engine.trends.store import contents, room, store
from saffron.engine.trends.store.extremes import Extremes
from saffron.engine.trends.store.saved import restored, saved
from saffron.engine.trends.store.tree_codes import TreeCodes
from saffron.engine.trends.store.wiring import sizes_of, wiring_of
from saffron.engine.trends.values.returns import Rows, kinds_of
from saffron.language.plan.trend_plan import TrendPlan
from saffron.schema.schema import Kind

_SLACK = 1024  # each query has a table of its own


class TrendQuery:
    """Aggregates the trends of one plan over the blocks of one partition (T1-T10).

    `kinds`: kind of each attribute of the stream's schema. `slot`: the query's bit in `Columns.dropped`. `code_of`:
    of a string literal, where a snapshot or an earlier schema has given it a code (`conditions.reads`).
    Raises SaffronError for what it cannot hold (`core.engine`).
    """

    def __init__(
        self,
        plan: TrendPlan,
        kinds: Mapping[str, Kind],
        slot: int,
        *,
        compiled: bool = True,
        code_of: Callable[[str], int] | None = None,
    ) -> None:
        self.graphs = graphs_of(plan, kinds)
        compiled = compiled and engine_of_graphs(self.graphs).engine is Engine.TRENDS
        self.plan = plan
        self.kinds = kinds
        self.slot = slot
        self.key_kinds = kinds_of(self.graphs.plan.key, kinds)
        self.group_kinds = kinds_of(self.graphs.plan.group, kinds)
        self.strings = Strings()
        self._measures = measures_of(plan)
        self.needs = conditions.reads(self.graphs, self._measures, code_of)
        self.wiring = wiring_of(self.graphs, self._measures, self.needs.attributes, self.needs.stored)
        self._kernels = (
            source.special(self.wiring, self._sizes().lasting, compiled=True)
            if compiled
            else source.core(unlimited=plan.exact)
        )
        self._conditions = conditions.conditions(self.graphs, self.needs, compiled=compiled)
        self._has_local = any(place.local for place in self.graphs.places)
        stored = self.needs.attributes[: self.needs.stored]
        self._extremes = Extremes(self._measures)
        self._codes = TreeCodes(self.graphs)
        self._string_values = [row for row, (_, kind) in enumerate(stored) if kind.has_texts]
        self._nothing = nothing()
        self._store: Store
        self.reset()
        if compiled:
            self._warm()

    def sources(self) -> tuple[KernelSource, ...]:
        """The text of its kernels, to be read; with EXACT that of its conditions alone."""
        asked = conditions.conditions_source(self.graphs, self.needs)
        if self.plan.exact:
            return (asked,)
        return asked, source.loops_source(self.wiring, self._sizes().lasting)

    def machine_sources(self) -> tuple[KernelSource, ...]:
        """The text of its kernels as they are compiled; none with EXACT."""
        if self.plan.exact:
            return ()
        asked = conditions.conditions_source(self.graphs, self.needs)
        return asked, source.machine_source(self.wiring, self._sizes().lasting)

    def reset(self) -> None:
        """Forget all events: as if the query were added now."""
        self.strings = self._table()
        self.shed = Shed(self.plan.window)
        self._store = store.new(self.wiring, self._sizes())
        self._index = self._tree_pool()
        self._extremes.reset()
        self._codes.reset()

    def _tree_pool(self) -> room.Trees:
        """An empty pool of trees; () for a query that never has any."""
        return tree_pool.new_pool(self.graphs, self._measures, len(self._store.slots)) if self.graphs.trees else ()

    def _sizes(self) -> Sizes:
        return sizes_of(self.graphs, self._measures, self.needs.stored)

    def _table(self, *saved: Any) -> Strings:
        """A table of strings; literals of the conditions have the codes with which kernels are written."""
        text_of = {code: text for text, code in self.needs.strings.items()}
        empty = [text_of.get(code) for code in range(1 + max(text_of, default=-1))]
        strings = Strings(*(saved or (empty,)), slack=_SLACK)
        for text, code in self.needs.strings.items():
            assert strings.pin(text) == code, f"{text!r} has another code in the snapshot"
        return strings

    def _warm(self) -> None:
        """Compile the kernels, or load them from the cache, before the first event."""
        batch = self._nothing
        self._advance(batch, 0, 0, -contents.FARTHEST, 0)
        if self._has_local:
            self._conditions.keep(batch.states, batch.attributes, batch.ranks)
        self._rank(batch)
        if self.plan.window.opens is not None:
            self._conditions.choose_openings(batch.opens, batch.attributes, batch.ranks)
        self._kernels.rehash(self._store.table, self._store.keys, 0)

    def batch(self, columns: Columns, opened: Sequence[int]) -> Batch:
        """The block's events as `apply` takes them."""
        self._extremes.enter(columns, self._store, self._index)
        orders = self._extremes.orders
        batch = prepare(self.graphs, self.needs, self.strings, columns, self.slot, opened, orders)
        if self._has_local:
            self._conditions.keep(batch.states, batch.attributes, batch.ranks)
        return self._rank(batch)

    def _rank(self, batch: Batch) -> Batch:
        """The batch with what its events are to the trees."""
        if not self.graphs.trees:
            return batch
        return ranked(batch, self._conditions.rank_events, self._coded if self._codes.needed else None)

    def _coded(self, values: Floats, rests: Floats) -> Floats:
        return self._codes.of(values, rests, self._store, self._index)

    def opened_by(self, columns: Columns) -> list[int]:
        """Seqs at which an OPEN ON window opens, for blocks from before the query was there."""
        opens = self.plan.window.opens
        if opens is None:
            return []
        batch = self.batch(columns, ())
        candidates = np.asarray([name == opens.type for name in columns.type.values], dtype=np.bool_)[columns.type.data]
        self._conditions.choose_openings(candidates, batch.attributes, batch.ranks)
        return [int(position) for position in columns.seq[candidates]]

    @property
    def is_empty(self) -> bool:
        """True if the query's state is that of a new one, except for the windows that it has closed."""
        return contents.is_empty(self._store) and not len(self.shed)

    def low(self) -> int:
        """The beginning of the first window that is not closed."""
        return contents.oldest(self._store, self.wiring)

    def begin_at(self, low: int) -> None:
        """Set the first window, before the first event."""
        self._store.head[layout.KLO] = low // int(self.wiring.params[layout.SLIDE])

    def openings(self) -> tuple[tuple[int, int], ...]:
        """OPEN ON: (where it begins, seq of the event that opened it) of each open window; else none."""
        return contents.openings(self._store) if self.wiring.params[layout.ON_OPEN] else ()

    def reopen(self, openings: Iterable[tuple[int, int]]) -> None:
        """OPEN ON: these windows (`openings`) are open; their earlier content is unknown."""
        for low, seq in openings:
            self._store, self._index = room.reopened(self._store, self._index, low, seq)

    def apply(self, batch: Batch, begin: int, stop: int) -> None:
        """Apply events begin..stop-1 of the batch."""
        states = batch.states[begin:stop]
        lacking = begin + np.flatnonzero((states < 0) & (states != layout.DROPPED))  # others would have changed nothing
        instants = batch.seq if self.plan.window.events else batch.ts
        self.shed.add(instants[lacking], batch.seq[lacking])
        self._advance(batch, begin, stop, -contents.FARTHEST, 0)

    def pass_position(self, position: int) -> None:
        """Every event before `position` has been applied: EVENTS windows that end there are complete."""
        if self.wiring.params[layout.IN_EVENTS]:
            self._close_until(position, position)

    def pass_time(self, watermark: int, position: int) -> None:
        """Close windows in time: no event with ts below `watermark` will come. `position`: of the next event."""
        if not self.wiring.params[layout.IN_EVENTS]:
            self._close_until(max(watermark, -contents.FARTHEST), position)

    def end(self, last_ts: int | None, watermark: int, position: int) -> None:
        """Close all windows; those that begin before the next event (number `position`) take no later one."""
        head, params = self._store.head, self.wiring.params
        self._close_until(2 * contents.FARTHEST, position)
        if params[layout.ON_OPEN]:
            return
        begin = (
            position
            if params[layout.IN_EVENTS]
            else max(watermark, -contents.FARTHEST if last_ts is None else last_ts + 1)
        )
        head[layout.KLO] = -(-begin // int(params[layout.SLIDE]))

    def take_results(self) -> Rows:
        """The results since the last call, in the order in which they fired."""
        found = self._store.head[layout.OUT]
        state = self._store
        rows = Rows(
            state.out[:found].copy(),
            state.out_numbers[:found].copy(),
            state.out_scales[:found].copy(),
            self._extremes.values(state.out_extremes[:found]),
        )
        state.head[layout.OUT] = 0
        return rows

    def tidy(self) -> None:
        """Free keys without an open window, and unused strings; costs O(1) an event (amortised)."""
        swept = room.swept(self._store, self.wiring, self._kernels.rehash)
        if swept is not self._store and swept.head[layout.KEYS] == 0:
            self._index = self._tree_pool()  # without keys there is no tree
        self._store = swept
        self.shed.forget(self.low())
        if self.strings.wants_collection:
            kinds = self.key_kinds, self._string_values, self.group_kinds
            used = contents.strings_in_use(self._store, self.wiring, *kinds)
            ordered = tree_pool.codes(self._index, self._store, self.wiring, len(self.strings.values))
            self.strings.collect([*used, *ordered, self._codes.strings(len(self.strings.values))], shrink=True)

    def statistics(self) -> dict[str, int]:
        """See `room.statistics`."""
        return room.statistics(self._store, self._index, self.wiring)

    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        """The state as arrays by name."""
        return {
            **saved(self._store, self._index),
            "strings": self.strings.saved(),
            **self.shed.saved("shed"),
            **self._extremes.saved(),
            **self._codes.saved(),
        }

    def empty(self, windows: int) -> dict[str, NDArray[np.generic]]:
        """The state without any event, in so many slots, as arrays by name."""
        return saved(store.new(self.wiring, replace(self._sizes(), windows=windows)), ())

    def keeps(self, kinds: Mapping[str, Kind]) -> bool:
        """True if a stream whose attributes have these kinds does not change the columns that the query reads."""
        read = {*self.graphs.plan.key, *(name for name, _ in self.needs.attributes)}
        if any(self.kinds.get(name) is not kinds.get(name) for name in read):
            return False
        self.kinds = kinds
        return True

    def take_over(self, old: TrendQuery, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on with the state of a query that held the same otherwise (`adopting`)."""
        self._hold(state)
        self.strings, self.shed = old.strings, old.shed
        self._extremes.take_over(old._extremes, self._store, self._index)
        self._codes.take_over(old._codes, self._store, self._index)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state of `snapshot` for the same plan."""
        self._hold(state)
        self.strings = self._table(*orjson.loads(state["strings"].tobytes()))
        self.shed.restore(state, "shed")
        self._extremes.restore(state)
        self._codes.restore(state)

    def _hold(self, state: Mapping[str, NDArray[Any]]) -> None:
        empty, exact, trees = store.new(self.wiring, self._sizes()), self.plan.exact, bool(self.graphs.trees)
        rehash = self._kernels.rehash
        self._store, self._index = restored(state, self.wiring, rehash, empty, unlimited=exact, trees=trees)

    def _close_until(self, point: int, position: int) -> None:
        self._advance(self._nothing, 0, 0, point, position)

    def _advance(self, batch: Batch, begin: int, stop: int, point: int, position: int) -> None:
        """Apply events begin..stop-1 of the batch, then close the windows that end at or before `point`."""
        select = self._conditions.select_pointer
        while True:
            state = self.wiring, self._store, batch, self._index
            begin = self._kernels.advance(begin, stop, point, position, select, *state)
            if begin > stop:
                return
            self._store, self._index = room.with_room(self._store, self._index, self.wiring, self._kernels.rehash)
