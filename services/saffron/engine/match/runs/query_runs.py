"""One match query over one partition: its stored events, its runs, and the matches found in the block at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.key_words import key_names
from saffron.engine.events.strings import Pinned, Strings
from saffron.engine.match.core import chains
from saffron.engine.match.core.classify import OPENS
from saffron.engine.match.core.held import column_name, held_kinds
from saffron.engine.match.core.kernel_layout import (
    AT,
    AT_ONCE,
    DEADLINE_OF,
    DONE,
    FIRST_ROW,
    FOUND,
    FOUND_ROWS,
    GROW_FOUND,
    GROW_NODES,
    GROW_POOL,
    LEAD,
    LIVE,
    LONGEST_LIFE,
    LOW,
    NODE,
    NODE_TAIL,
    PART,
    ROW_MASK,
    ROW_TAIL,
    UNCOUNTED,
    counters,
    place,
)
from saffron.engine.match.core.keys import Keys
from saffron.engine.match.core.nodes import Nodes
from saffron.engine.match.core.pools import pools
from saffron.engine.match.core.rows import LINKS, NODE_AT, RESULTS, SEQ, SLOT, TIME, TS, TYPE, UNTIL, Rows
from saffron.engine.match.core.runs import LENGTH
from saffron.engine.match.core.stream import Range, interned, key_matrix, slots_by_code, taken, type_bits
from saffron.engine.match.core.windows import NEVER, Windows
from saffron.engine.match.general.expired import Expired
from saffron.engine.match.general.found import settle
from saffron.engine.match.general.passing import Passing
from saffron.engine.match.general.sweep import sweep, sweep_all
from saffron.engine.match.general.watch import UNWATCHED, Watch
from saffron.engine.match.runs.adopting import adopt_keys, adopt_pool, adopt_rows
from saffron.engine.match.runs.derived import composition, results_of
from saffron.engine.match.runs.feature_keys import keep_keys
from saffron.engine.match.runs.matched import mark, may_match_again
from saffron.engine.match.runs.program import Program
from saffron.engine.match.selection.choice import Choice
from saffron.engine.match.selection.entries import Entries
from saffron.engine.match.selection.stored import Stored
from saffron.engine.match.selection.timeouts import Timeouts
from saffron.schema.schema import Kind, Schema

Array = NDArray[np.generic]
Chosen = slice | NDArray[np.intp]

AFTER_ALL = 2**62
_LARGE = 1 << 20  # matches; a longer list is given back after its block


class QueryRuns:
    """The state of one query. `advance` takes the next events; `found` then holds matches (see `layout`)."""

    def __init__(self, program: Program, schema: Schema, strings: Strings, *, slot: int = 0) -> None:
        self.slot = slot  # the bit of `Columns.dropped` that is this query's
        self.program = program
        self.plan = program.plan
        self.schema = schema
        self.strings = strings
        self.windows = Windows(self.plan.window)
        held = {column_name(name): np.dtype(kind.dtype) for name, kind in held_kinds(schema).items()}
        self.composed = bool(schema.derived)  # results of other queries may be among its events
        more = (*(LINKS if self.plan.absences else ()), *(RESULTS if self.composed else ()))
        self.rows = Rows(held | dict.fromkeys(more, np.dtype(np.int64)))
        self.nodes = Nodes()
        self.pools = pools(program.states, program.merging)
        self.keys = Keys(len(key_names(self.plan.key, schema.kinds)))
        self.counters = np.zeros(counters(len(self.pools)), np.int64)
        self.counters[LONGEST_LIFE] = max(1, self.plan.window.size // 2)
        self.touched = np.full(8, -1, np.int64)
        self.reached = np.full(8, -1, np.int64)
        self.ordinal = 0  # events delivered to this query so far
        self.clock = 0  # instant of the last event of the stream
        self.swept = NEVER  # up to when waiting matches have been reported
        self._again = not self.composed and (not program.flat or may_match_again(self.plan))
        self.choice = Choice(self.plan, late=program.late)
        self.expired = Expired()
        self.watch = None if program.flat or self.composed else Watch(program.tables, program.trailing)
        self.timeouts = Timeouts(*program.tables[:2], windows=self.windows.own) if self.plan.timeouts else None
        self.decided: list[Entries] = []  # of the block at hand, before the query was paused in it
        self.buffer = np.zeros((FOUND_ROWS, 256), np.int64)
        self._pinned = Pinned(strings, program.step_names.constants, program.classify_names.constants)
        self.step_constants, self.classify_constants = self._pinned.codes

    def close(self) -> None:
        """Let go of what the operator's strings hold for this query."""
        self._pinned.release()

    @property
    def found(self) -> NDArray[np.int64]:
        """int64 [FOUND_ROWS, n]: see `layout`; those of one call of `advance` in the order of results."""
        return self.buffer[:, : self.counters[FOUND]]

    @property
    def stored(self) -> Stored:
        """What a choice among matches reads."""
        return Stored(self.rows, self.nodes, self.plan.positive)

    @property
    def live(self) -> int:
        """Runs alive, some of which may have expired since their key was last met."""
        return sum(int(self.counters[place(state, LIVE)]) for state in range(len(self.pools)))

    @property
    def size(self) -> int:
        """Bytes of state."""
        chosen = self.choice.size + (0 if self.timeouts is None else self.timeouts.marks.table.nbytes)
        return self.rows.size + self.nodes.size + sum(pool.size for pool in self.pools) + self.buffer.nbytes + chosen

    def string_codes(self) -> Iterator[NDArray[np.int32]]:
        """The codes of all strings that the rows hold."""
        for name, column in self.rows.columns.items():
            if column.dtype == np.int32:
                yield self.rows.live(name).astype(np.int32)

    def forget_matches(self) -> None:
        """The matches of the last block have been published."""
        self.counters[FOUND] = 0
        self.decided = []
        self.expired.forget(self.ordinal)
        if self.buffer.shape[1] > _LARGE:
            self.buffer = np.zeros((FOUND_ROWS, 256), np.int64)

    def begin_block(self, now: int) -> None:
        """Forget the last block's matches, and what no window holds at `now`, the instant of the next event."""
        self.forget_matches()
        if self.watch is not None:
            self.watch.begin_block(self.pools[0], self.clock, now)
        if self.program.waits:
            # A match that waits has its events until it has been reported, at the end of a block.
            now = min(now, self.swept)
        if self.composed:
            now = min(now, self.clock)  # results that stand before the block's first event are still to come
        self.windows.expire(now)
        freed = self.rows.expire(now - self.program.lag, self.touched)
        if len(freed):
            for index, pool in enumerate(self.pools):
                self.counters[place(index, LIVE)] -= pool.release(freed)
            self.reached[freed] = -1
            self.keys.forget(freed)
        self.counters[NODE_TAIL] = self.rows.first_node(int(self.counters[NODE]))

    def end_block(self, watermark: int, next_seq: int, *, end: bool) -> None:
        """All events before position `next_seq` were given: matches whose windows have closed by now are found."""
        now = next_seq if self.plan.window.events else max(self.clock, watermark)
        self.close_windows(AFTER_ALL if end else now)

    def close_windows(self, now: int) -> None:
        """All events before instant `now` were given."""
        self.swept = now
        if self.program.pending is not None:
            self._sweep(self.swept, self.program.pending)

    def _sweep(self, now: int, pending: int) -> None:
        pool = self.pools[0]
        if self.watch is not None:
            self.watch.pass_time(pool, self.clock, now)
        room = int(pool.segments[:, LENGTH].sum()) * (1 if self.program.closing is None else self.windows.most)
        start = int(self.counters[FOUND])
        while start + room > self.buffer.shape[1]:
            self._widen_found()
        if self.program.closing is None:
            matches = sweep(pool, now, pending, self.buffer, start)
        else:
            columns = self.rows.columns
            clock = np.asarray(columns[SEQ if self.plan.window.events else TS], np.int64)
            rows = clock, np.asarray(columns[SEQ], np.int64), self.rows.mask
            openers = np.ascontiguousarray(self.windows.openers)
            matches = sweep_all(pool, now, pending, self.buffer, start, self.nodes, rows, openers, self.program.closing)
        self.counters[FOUND] = matches
        self.counters[place(0, LIVE)] = int(pool.segments[:, LENGTH].sum())
        self._sort(0, start)  # together with those that their keys' next events have shown to be over

    def _widen_found(self) -> None:
        self.buffer = np.ascontiguousarray(np.pad(self.buffer, ((0, 0), (0, self.buffer.shape[1]))))

    def advance(self, part: Range, opened: Iterable[int] | None) -> None:
        """Take the next events. `opened`: positions at which OPEN ON windows open (None: find them out here)."""
        instants = part.seq if self.plan.window.events else part.ts
        masks = self._classify(part)
        dropped = part.dropped(self.slot)
        results = results_of(part) if self.composed else None
        if results is not None:
            masks[results] &= ~OPENS
        self._open(part, instants, masks, opened)
        before, self.clock = self.clock, int(instants[-1])
        if self.plan.window.opens is not None:
            masks &= ~OPENS
        if dropped is None:
            ordinals = np.arange(self.ordinal + 1, self.ordinal + len(part) + 1)
        else:
            masks[dropped] = 0
            ordinals = np.cumsum(~dropped) + self.ordinal
        if results is not None:
            ordinals = self._uncounted(results, dropped, masks)
        passing = Passing(instants, ordinals, before, self.ordinal)
        if self.watch is not None:
            self.watch.begin(self.pools[0], passing, first=part.low == 0)
        self.ordinal = int(ordinals[-1]) - int(results is not None and results[-1])
        if self.program.closing is not None:
            counted = slice(None) if results is None else ~results
            self.expired.passed.append((instants[counted], ordinals[counted]))
        wanted = masks != 0
        if self.program.every:
            wanted = np.ones(len(part), np.bool_) if dropped is None else ~dropped
            if results is not None:
                wanted &= ~results | (masks != 0)
        chosen: Chosen = slice(None) if wanted.all() else np.flatnonzero(wanted)
        self._take(part, chosen, masks[chosen], ordinals[chosen], instants[chosen])
        if self.watch is not None:
            self.watch.end(passing)

    def _uncounted(
        self, results: NDArray[np.bool_], dropped: NDArray[np.bool_] | None, masks: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """[n] the ordinals where results of other queries have none: theirs is that of the next event."""
        counted = ~results if dropped is None else ~(results | dropped)
        if self.program.uncounted:
            masks[results & (masks != 0)] |= UNCOUNTED
        ordinals: NDArray[np.int64] = np.cumsum(counted) + self.ordinal + results
        return ordinals

    def _classify(self, part: Range) -> NDArray[np.int64]:
        column = part.columns.type
        codes = part.data("type")
        bits = type_bits(column, self.program.type_masks)
        if self.program.classify is None or not bits.any():
            return taken(bits, codes)
        arrays: list[Array] = []
        for name, kind in self.program.classify_names.attributes.items():
            arrays.append(part.data(name))
            if kind is Kind.STRING:
                arrays.append(self.strings.mapping(name, part.column(name)))
        masks = np.empty(len(part), np.int64)
        with np.errstate(all="ignore"):
            self.program.classify(codes, bits, self.classify_constants, self.strings.ranks(), masks, *arrays)
        return masks

    def _open(
        self, part: Range, instants: NDArray[np.int64], masks: NDArray[np.int64], opened: Iterable[int] | None
    ) -> None:
        if self.plan.window.opens is None:
            return
        if opened is None:
            at = np.flatnonzero(masks & OPENS)
            self.windows.open(part.seq[at], instants[at])
            return
        positions = np.fromiter(opened, np.int64)
        if len(positions):
            # An opener that was dropped whole opens at the instant of the next event that is there.
            at = np.minimum(np.searchsorted(part.seq, positions), len(part) - 1)
            self.windows.open(positions, positions if self.plan.window.events else instants[at])

    def _take(
        self,
        part: Range,
        chosen: Chosen,
        masks: NDArray[np.int64],
        ordinals: NDArray[np.int64],
        instants: NDArray[np.int64],
    ) -> None:
        until = self.windows.until(part.seq[chosen], instants)
        begins = self.program.begins
        if self.plan.window.slide is not None or self.plan.window.opens is not None:
            masks = np.where(until < instants, masks & ~begins, masks)
        slots = self._slots(part, chosen, masks & self.program.founds != 0)
        known = slots >= 0
        if not known.all():
            kept = np.flatnonzero(known)
            chosen = kept if isinstance(chosen, slice) else chosen[kept]
            masks, ordinals, slots, until = masks[kept], ordinals[kept], slots[kept], until[kept]
        if len(slots):
            self._widen()
            self._run(self._store(part, chosen, masks, slots, until), slots, masks, ordinals)

    def _slots(self, part: Range, chosen: Chosen, create: NDArray[np.bool_]) -> NDArray[np.int64]:
        """[n] the slot of each chosen event's key, -1 for one that has none (made for those that may begin a run)."""
        if len(self.plan.key) == 1:
            slots = slots_by_code(part, self.plan.key[0], self.strings, chosen, create, self.keys)
            if slots is not None:
                return slots
        keys, present = key_matrix(part, key_names(self.plan.key, self.schema.kinds), self.strings, chosen, len(create))
        if present is None:
            return self.keys.slots(keys, create)
        # A key that lacks a part is no key, whatever value stands for the part.
        return np.where(present, self.keys.slots(keys, create & present), -1)

    def _widen(self) -> None:
        slots = self.keys.capacity
        if slots > len(self.touched):
            more = slots - len(self.touched)
            self.touched = np.pad(self.touched, (0, more), constant_values=-1)
            self.reached = np.pad(self.reached, (0, more), constant_values=-1)
        for pool in self.pools:
            pool.widen(slots)

    def _store(
        self, part: Range, chosen: Chosen, masks: NDArray[np.int64], slots: NDArray[np.int64], until: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Keep the chosen events; their row numbers, -1 for those that only end contiguity."""
        useful = masks != 0 if self.program.every and self.program.closing is None else None
        if useful is None or useful.all():
            numbers = np.arange(self.rows.head, self.rows.head + len(masks))
        else:
            kept = np.flatnonzero(useful)
            numbers = np.where(useful, np.cumsum(useful) - 1 + self.rows.head, -1)
            chosen = kept if isinstance(chosen, slice) else chosen[kept]
            slots, until = slots[kept], until[kept]
        places = self.rows.append(len(slots))
        write = self.rows.write
        write(SEQ, places, part.seq[chosen])
        write(TS, places, part.ts[chosen])
        write(TIME, places, part.time[chosen])
        write(TYPE, places, interned(part, "type", self.strings, chosen))
        write(UNTIL, places, until)
        write(SLOT, places, slots)
        keep_keys(self.rows, part, places, chosen)
        for name in held_kinds(self.schema):
            write(column_name(name), places, interned(part, name, self.strings, chosen))
        if self.composed:
            for name, values in composition(part).items():
                write(name, places, values[chosen])
        return numbers

    def _run(
        self,
        numbers: NDArray[np.int64],
        slots: NDArray[np.int64],
        masks: NDArray[np.int64],
        ordinals: NDArray[np.int64],
    ) -> None:
        start = int(self.counters[FOUND])
        self.counters[AT] = 0
        status = -1
        while status != DONE:
            if status == GROW_NODES:
                self.nodes.grow(int(self.counters[NODE_TAIL]), int(self.counters[NODE]))
            elif status == GROW_FOUND:
                self._widen_found()
            elif status >= GROW_POOL:
                self.pools[status - GROW_POOL].grow()
            with np.errstate(all="ignore"):
                status = self.program.step(
                    int(self.counters[AT]), len(slots), *self._arguments(numbers, slots, masks, ordinals)
                )
        self._mark(start)
        self._sort(start)

    def _mark(self, start: int) -> None:
        """Runs that begin as these matches do are told apart from others (see `shedding.matched`)."""
        if self._again:
            mark(self.rows, self.found[FIRST_ROW, start:])

    def _arguments(
        self,
        numbers: NDArray[np.int64],
        slots: NDArray[np.int64],
        masks: NDArray[np.int64],
        ordinals: NDArray[np.int64],
    ) -> Iterator[Any]:
        self.counters[ROW_MASK], self.counters[ROW_TAIL] = self.rows.mask, self.rows.tail
        columns = self.rows.columns
        yield from (numbers, slots, masks, ordinals)
        yield from (columns[SEQ if self.plan.window.events else TS], columns[UNTIL], self.counters)
        yield from (self.step_constants, self.strings.ranks(), *self.nodes.arrays)
        yield from (columns[NODE_AT], self.touched, self.reached, self.buffer)
        for name in self.program.step_names.attributes:
            yield columns[column_name(name)]
        for pool in self.pools:
            yield from pool.arrays
        if not self.program.flat:
            yield from self.program.tables
            yield from (columns[name if self.plan.absences else SEQ] for name in LINKS)
            yield from (columns[SEQ], np.ascontiguousarray(self.windows.openers))
            yield UNWATCHED if self.watch is None else self.watch.log

    def _sort(self, start: int, since: int | None = None) -> None:
        """Put the matches from `start` on in order; `since`: from where on they are new (None: all)."""
        if self.program.closing is not None:
            self.counters[FOUND] = self.expired.split(self.buffer, start, int(self.counters[FOUND]))
        stop = int(self.counters[FOUND])
        if self.watch is not None and self.program.late:
            known = self.buffer[DEADLINE_OF, start if since is None else since : stop]
            self.watch.complete(int(np.count_nonzero(known != AT_ONCE)))
        if not self.program.flat:
            new = self.buffer[:, start:stop]
            self.counters[FOUND] = start + settle(new, self.plan.positive, self.rows.tail, self.nodes)
            return
        self.buffer[PART, start:stop] = len(self.plan.components) - 1
        self.buffer[LEAD, start:stop] = -1
        self.buffer[DEADLINE_OF : LOW + 1, start:stop] = AT_ONCE
        if stop - start > 1:
            chains.sort(self.buffer, start, stop, int(self.counters[NODE_TAIL]), self.rows.tail, *self.nodes.arrays)

    def forget_runs(self) -> None:
        """Start afresh, as when paused: no run survives; matches of the block at hand stay readable."""
        for index, pool in enumerate(self.pools):
            self.counters[place(index, LIVE)] -= pool.release(np.arange(len(pool.segments)))

    def adopt(self, fresh: Self) -> bool:
        """Go on as `fresh`, which was started for the same text under a wider schema; False if it is made otherwise."""
        if not self._is_like(fresh):
            return False
        adopt_rows(self.rows, self.schema, fresh.schema)
        self.keys = adopt_keys(self.keys, self.plan.key, self.schema, fresh.schema)
        for pool, old, new in zip(self.pools, self.program.states, fresh.program.states, strict=False):
            adopt_pool(pool, old, new)
        self._pinned.release()
        self._pinned, (self.step_constants, self.classify_constants) = fresh._pinned, fresh._pinned.codes
        self.program, self.plan, self.schema = fresh.program, fresh.plan, fresh.schema
        return True

    def _is_like(self, fresh: Self) -> bool:
        own, its = self.program, fresh.program
        places = [[(one.index, one.closure) for one in program.states] for program in (own, its)]
        tables = len(own.tables) == len(its.tables) and all(map(np.array_equal, own.tables, its.tables))
        return type(self) is type(fresh) and own.merging == its.merging and places[0] == places[1] and tables
