"""One match query over one partition, over exact times: its events, its partial matches, the matches of the block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.events.strings import Strings
from saffron.engine.match.core.kernel_layout import (
    FOUND,
    GROW_FOUND,
    GROW_NODES,
    GROW_POOL,
    LIVE,
    LONGEST_LIFE,
    NODE,
    NODE_TAIL,
    counters,
    place,
)
from saffron.engine.match.core.nodes import Nodes
from saffron.engine.match.core.pools import pools
from saffron.engine.match.core.rows import LINKS, RESULTS, SLOT
from saffron.engine.match.core.runs import START
from saffron.engine.match.core.stream import Range
from saffron.engine.match.core.windows import NEVER
from saffron.engine.match.general.expired import Expired
from saffron.engine.match.general.watch import Watch
from saffron.engine.match.planning.flat_or_table import flat_states
from saffron.engine.match.runs.adopting import adopt_pool
from saffron.engine.match.runs.alive import goes_on, strict_states
from saffron.engine.match.runs.match_list import MatchList
from saffron.engine.match.runs.parts import Reporter, Source
from saffron.engine.match.runs.program import Program
from saffron.engine.match.runs.runs import Runs
from saffron.engine.match.runs.store import EventStore, part_of
from saffron.engine.match.runs.transitions import FlatTransitions, Transitions
from saffron.engine.match.selection.choice import Choice
from saffron.engine.match.selection.entries import Entries
from saffron.engine.match.selection.stored import Stored
from saffron.engine.match.selection.timeouts import Timeouts
from saffron.engine.operators.results import Fired
from saffron.schema.schema import Schema

Array = NDArray[np.generic]
Ints = NDArray[np.int64]

AFTER_ALL = 2**62


class QueryRuns(Runs):
    """The runs of one match query, composed of a `store` of events, a `source` of matches, and a `reporter` of results.

    Kernels work on `nodes`, `pools`, `counters` and `reached` (see `kernel_layout`), and write into the list of
    `matches`.
    """

    program: Program

    def __init__(
        self,
        program: Program,
        schema: Schema,
        strings: Strings,
        *,
        slot: int,
        source: Callable[[QueryRuns], Source],
        reporter: Callable[[QueryRuns], Reporter],
    ) -> None:
        self.program = program
        plan = program.plan
        self.composed = bool(schema.derived)  # results of other queries may be among its events
        columns = (*(LINKS if plan.absences else ()), *(RESULTS if self.composed else ()))
        self.store = EventStore(program, schema, strings, slot=slot, columns=columns)
        self.nodes = Nodes()
        self.pools = pools(program.states, program.merging)
        self.counters = np.zeros(counters(len(self.pools)), np.int64)
        self.counters[LONGEST_LIFE] = max(1, plan.window.size // 2)
        self.reached = np.full(8, -1, np.int64)
        self.ordinal = 0  # events delivered to this query so far
        self.clock = 0  # instant of the last event of the stream
        self.swept = NEVER  # up to when waiting matches have been reported
        self._strict = strict_states(program)
        self.choice = Choice(plan, late=program.late)
        self.expired = Expired()
        self.watch = None if program.flat or self.composed else Watch(program.tables, program.trailing)
        self.timeouts = Timeouts(*program.tables[:2], windows=self.store.windows.own) if plan.timeouts else None
        self.decided: list[Entries] = []  # of the block at hand, before the query was paused in it
        self.matches = MatchList(self)
        self.source = source(self)
        self.reporter = reporter(self)
        flat = FlatTransitions(self) if self.pools and program.flat else None
        self._transitions: Transitions | None = flat if self.watch is None else self.watch

    def twin(self, slot: int) -> QueryRuns:
        """Runs that go on from where these are in the block at hand, each by themselves; `slot`: the twin's."""
        own = QueryRuns(
            self.program,
            self.schema,
            self.strings,
            slot=slot,
            source=type(self.source),
            reporter=type(self.reporter),
        )
        own.restore(self.save())
        own.matches.buffer, own.decided = self.matches.buffer.copy(), list(self.decided)
        own.counters[FOUND] = self.counters[FOUND]
        return own

    # ---------------------------------------------------------------- what it holds

    @property
    def found(self) -> Ints:
        """int64 [FOUND_ROWS, n]: see `kernel_layout`; those of one call of `advance` in the order of results."""
        self.source.list_found()
        return self.matches.found

    @property
    def stored(self) -> Stored:
        """The stored events that a choice among matches reads."""
        return Stored(self.rows, self.nodes, self.plan.positive)

    @property
    def live(self) -> int:
        """The runs that are alive, each once, whether or not it goes on merged with others."""
        if self._strict is None:
            return sum(pool.live(self.clock) for pool in self.pools)
        return sum(len(self.alive(number)) for number in range(len(self.pools)))

    @property
    def held(self) -> int:
        """Runs in the pools: those alive, and others that have expired since their key was last met."""
        return sum(int(self.counters[place(state, LIVE)]) for state in range(len(self.pools)))

    def alive(self, number: int) -> Ints:
        """The lanes of the runs alive in a pool, key by key."""
        pool = self.pools[number]
        lanes = pool.alive(self.clock)
        if self._strict is None:
            return lanes
        reached = self.reached[self.rows.columns[SLOT][pool.ints[START, lanes] & self.rows.mask]]
        return lanes[goes_on(self.program, self._strict, pool, lanes, reached, self.ordinal)]

    @property
    def size(self) -> int:
        """Bytes of state."""
        chosen = self.choice.size + (0 if self.timeouts is None else self.timeouts.marks.table.nbytes)
        listed = self.matches.buffer.nbytes
        return self.rows.size + self.nodes.size + sum(pool.size for pool in self.pools) + listed + chosen

    @property
    def droppable(self) -> QueryRuns:
        return self

    @property
    def transitions(self) -> Transitions | None:
        return self._transitions

    @property
    def states(self) -> int | None:
        if self.watch is not None:
            return self.watch.states
        return flat_states(self.plan) if self.program.flat else None

    # ---------------------------------------------------------------- results

    @property
    def unreported(self) -> bool:
        return self.reporter.unreported

    def fired(self, name: str, partition: int, block: Block) -> Sequence[Fired]:
        return self.reporter.fired(name, partition, block)

    def forget_matches(self) -> None:
        self.matches.forget()
        self.decided = []
        self.expired.forget(self.ordinal)
        self.source.forget_matches()
        self.reporter.forget_matches()

    def pause(self) -> None:
        self.reporter.pause()
        self.source.forget_runs()
        for index, pool in enumerate(self.pools):
            self.counters[place(index, LIVE)] -= pool.release(np.arange(len(pool.segments)))

    # ---------------------------------------------------------------- blocks

    def begin_block(self, now: int) -> None:
        """Forget the last block's matches, the events that no window holds at `now`, and the keys without events.

        Events stay longer if matches that wait, a NOT that looks back, or results still to come may need them.
        """
        self.forget_matches()
        if self.watch is not None:
            self.watch.begin_block(self.pools[0], self.clock, now)
        if self.program.waits:
            # A match that waits has its events until it has been reported, at the end of a block.
            now = min(now, self.swept)
        if self.composed:
            now = min(now, self.clock)  # results that stand before the block's first event are still to come
        self.store.windows.expire(now)
        freed = self.store.expire(now - self.program.lag)
        if len(freed):
            for index, pool in enumerate(self.pools):
                self.counters[place(index, LIVE)] -= pool.release(freed)
            self.reached[freed] = -1
        self.counters[NODE_TAIL] = self.rows.first_node(int(self.counters[NODE]))

    def advance(self, part: Range, opened: Iterable[int] | None) -> None:
        self.source.advance(part, opened)

    def end_part(self) -> None:
        self.close_windows(self.clock)

    def end_block(self, watermark: int, next_seq: int, *, end: bool) -> None:
        now = next_seq if self.plan.window.events else max(self.clock, watermark)
        self.close_windows(AFTER_ALL if end else now)

    def close_windows(self, now: int) -> None:
        """Expire the runs whose windows have ended: all events before instant `now` were given."""
        self.swept = now
        if self.program.pending is not None:
            self.matches.sweep(self.swept, self.program.pending)

    # ---------------------------------------------------------------- what sources ask

    def widen(self) -> None:
        """Room for all keys."""
        slots = self.keys.capacity
        self.store.widen()
        if slots > len(self.reached):
            self.reached = np.pad(self.reached, (0, slots - len(self.reached)), constant_values=-1)
        for pool in self.pools:
            pool.widen(slots)

    def make_room(self, status: int) -> None:
        """Grow the arrays for which a kernel stopped."""
        if status == GROW_NODES:
            self.nodes.grow(int(self.counters[NODE_TAIL]), int(self.counters[NODE]))
        elif status == GROW_FOUND:
            self.matches.widen(self.matches.buffer.shape[1] + 1)
        elif status >= GROW_POOL:
            self.pools[status - GROW_POOL].grow()

    # ---------------------------------------------------------------- another schema, snapshots

    def adopt(self, fresh: Self) -> bool:
        if not self._is_like(fresh):
            return False
        self.store.adopt(fresh.store)
        for pool, old, new in zip(self.pools, self.program.states, fresh.program.states, strict=False):
            adopt_pool(pool, old, new)
        self.program = fresh.program
        return True

    def _is_like(self, fresh: Self) -> bool:
        own, its = self.program, fresh.program
        places = [[(one.index, one.closure) for one in program.states] for program in (own, its)]
        tables = len(own.tables) == len(its.tables) and all(map(np.array_equal, own.tables, its.tables))
        parts = type(self.source) is type(fresh.source) and type(self.reporter) is type(fresh.reporter)
        return parts and own.merging == its.merging and places[0] == places[1] and tables

    def save(self) -> dict[str, Any]:
        """The state that decides further results, as copies: counters, windows, stored events, chains, runs, OUTPUT.

        The last block's matches are left out. Arrays of a part are named after it ("nodes.row").
        """
        tail, head = int(self.counters[NODE_TAIL]), int(self.counters[NODE])
        arrays: dict[str, Any] = {
            "counters": self.counters.copy(),
            "progress": np.array([self.ordinal, self.clock, self.swept], np.int64),
            "reached": self.reached.copy(),
            "openers": self.store.windows.openers.copy(),
            **self.store.saved(),
        }
        if self.timeouts is not None:
            arrays["continued"] = self.timeouts.saved(self.rows.tail)
        parts: dict[str, Mapping[str, Array]] = {
            "nodes": self.nodes.live(tail, head),
            "choice": self.choice.saved(self.rows.tail),
            **{f"pool{index}": pool.saved() for index, pool in enumerate(self.pools)},
        }
        return arrays | {f"{part}.{name}": array for part, held in parts.items() for name, array in held.items()}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore the state of `save`. The list of matches becomes empty, and earlier transitions are not reported."""
        self.counters = np.array(arrays["counters"], np.int64)
        self.counters[FOUND] = 0
        self.ordinal, self.clock, self.swept = (int(value) for value in np.asarray(arrays["progress"], np.int64))
        self.expired.forget(self.ordinal)
        self.reached = np.array(arrays["reached"], np.int64)
        self.store.windows.openers = np.array(arrays["openers"], np.int64)
        self.store.restore(arrays)
        tail, head = int(self.counters[NODE_TAIL]), int(self.counters[NODE])
        self.nodes = Nodes.restored(part_of(arrays, "nodes"), tail, head)
        if self.timeouts is not None:
            self.timeouts.restore(np.asarray(arrays["continued"], np.int64))
        self.choice.restore(part_of(arrays, "choice"))
        for index, pool in enumerate(self.pools):
            pool.restore(part_of(arrays, f"pool{index}"))
        if self._transitions is not None:
            self._transitions.restart()
