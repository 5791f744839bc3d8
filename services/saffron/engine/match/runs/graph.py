"""A query whose matches are found as graphs: no run is ever made, events are linked to the one before of their key."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.strings import Strings
from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import int64
from saffron.engine.match.compressed.bounds import ends_in_windows, firsts
from saffron.engine.match.compressed.build import Builder, Past, build, builder
from saffron.engine.match.compressed.graphs import Graphs
from saffron.engine.match.core import chains
from saffron.engine.match.core.automaton import Automaton
from saffron.engine.match.core.classifier import classifier_of
from saffron.engine.match.core.classify import bit_tests, type_masks
from saffron.engine.match.core.held import column_name
from saffron.engine.match.core.kernel_layout import (
    AT_ONCE,
    CHAIN,
    DEADLINE_OF,
    FIRST_ROW,
    FOUND,
    LAST_ROW,
    LEAD,
    LOW,
    NODE,
    NODE_TAIL,
    PART,
    begin_bit,
    take_bit,
)
from saffron.engine.match.core.rows import LINKS, NODE_AT, SEQ, TS
from saffron.engine.match.runs.program import Program
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.language.plan.plan import MatchPlan
from saffron.schema.schema import Schema

Ints = NDArray[np.int64]

_MASK, _BEFORE = LINKS


def compile_graphs(plan: MatchPlan, *, compiled: bool = True) -> tuple[Program, Builder]:
    """The program of a plan for which `is_collapsible` holds: `step` is the kernel that builds graphs."""
    automaton = Automaton(plan, ())
    made = builder(plan, compiled=compiled)
    classifier = classifier_of(bit_tests(automaton))
    program = Program(
        plan=plan,
        states=(),
        type_masks=type_masks(automaton),
        begins=begin_bit(0),
        founds=begin_bit(0),
        every=False,
        step=made.graphs,
        step_names=made.names,
        classify=classifier.load(compiled=compiled),
        classify_names=classifier.names,
        sources=(*classifier.sources, made.source),
    )
    return program, made


class GraphRuns(QueryRuns):
    """As `QueryRuns`; `graphs` has what was found in the block, and `found` lists it, once it is asked for."""

    def __init__(self, programs: tuple[Program, Builder], schema: Schema, strings: Strings, *, slot: int = 0) -> None:
        super().__init__(programs[0], schema, strings, slot=slot)
        self._builder = programs[1]
        for name in LINKS:
            self.rows.add(name, np.dtype(np.int64), 0)
        last = len(self.plan.components) - 1
        self._end_bits = begin_bit(last) | (take_bit(last) if self.plan.components[last].closure else 0)
        self._ends: list[Ints] = []
        self._listed = 0  # how many of them `found` has looked at

    @property
    def found(self) -> Ints:
        """int64 [FOUND_ROWS, n]: see `layout`; all matches of the block in the order of results."""
        new = self._ends[self._listed :]
        if new:
            self._listed = len(self._ends)
            self._list(self._graphs(np.concatenate(new)))
        return self.buffer[:, : self.counters[FOUND]]

    def _list(self, graphs: Graphs) -> None:
        count, _, beginnings = graphs.sizes()
        tail, node, start = (int(self.counters[place]) for place in (NODE_TAIL, NODE, FOUND))
        while node - tail + beginnings > len(self.nodes.row):
            self.nodes.grow(tail, node)
        stop = start + count
        while stop > self.buffer.shape[1]:
            self._widen_found()
        listed = np.empty((3, count), np.int64)
        self.counters[NODE] = graphs.chains(self.rows.tail, self.rows.mask, node, self.nodes, listed)
        self.counters[FOUND] = stop
        self.buffer[[FIRST_ROW, CHAIN, LAST_ROW], start:stop] = listed
        self.buffer[PART, start:stop] = len(self.plan.components) - 1
        self.buffer[LEAD, start:stop] = -1
        self.buffer[DEADLINE_OF : LOW + 1, start:stop] = AT_ONCE
        if graphs.shared:
            chains.sort(self.buffer, start, stop, tail, self.rows.tail, *self.nodes.arrays)

    def forget_matches(self) -> None:
        """The matches of the last block have been published."""
        super().forget_matches()
        self._ends = []
        self._listed = 0

    @property
    def told_apart(self) -> bool:
        """Whether graphs may have several nodes of one event and component."""
        return self._builder.slots > 0

    @property
    def ends(self) -> Ints:
        """int64 [n]: rows of this block that may end matches, ascending."""
        return np.concatenate(self._ends) if self._ends else np.zeros(0, np.int64)

    def graphs(self) -> Graphs:
        """One graph for each event of the block that ends matches; those of all its windows together."""
        return self._graphs(self.ends)

    def _graphs(self, ends: Ints) -> Graphs:
        end, low, serial = self._windows(ends)
        chosen, lows = firsts(end, low if self.plan.window.opens is None else serial)
        return self._build(ends[chosen], lows)

    def graphs_by_window(self) -> tuple[Graphs, Ints, Ints]:
        """One graph for each window of each event that ends matches; each one's first instant and serial number."""
        ends = self.ends
        end, low, serial = self._windows(ends)
        found = self._build(ends[end], low if self.plan.window.opens is None else serial)
        return found, low[found.chosen], serial[found.chosen]

    def _windows(self, ends: Ints) -> tuple[Ints, Ints, Ints]:
        columns, at = self.rows.columns, ends & self.rows.mask
        clock = columns[SEQ if self.plan.window.events else TS]
        return ends_in_windows(self.windows, columns[SEQ][at].astype(np.int64), clock[at].astype(np.int64))

    def _build(self, ends: Ints, lows: Ints) -> Graphs:
        columns = self.rows.columns
        by_position = self.plan.window.events or self.plan.window.opens is not None
        past = Past(
            tail=self.rows.tail,
            clock=np.asarray(columns[SEQ if by_position else TS], np.int64),
            masks=np.asarray(columns[_MASK], np.int64),
            links=np.asarray(columns[_BEFORE], np.int64),
            columns={name: columns[column_name(name)] for name in self._builder.names.attributes},
            constants=self.step_constants,
            ranks=self.strings.ranks(),
        )
        return build(self._builder, past, ends, lows)

    def _run(self, numbers: Ints, slots: Ints, masks: Ints, ordinals: Ints) -> None:
        columns = self.rows.columns
        columns[NODE_AT][numbers & self.rows.mask] = self.counters[NODE]
        _link(numbers, slots, masks, self.rows.mask, self.touched, columns[_MASK], columns[_BEFORE])
        ends = numbers[masks & self._end_bits != 0]
        if len(ends):
            self._ends.append(ends)

    def adopt(self, fresh: Self) -> bool:
        """Go on as `fresh`, started under a wider schema."""
        if not super().adopt(fresh):
            return False
        self._builder = fresh._builder
        return True

    def forget_runs(self) -> None:
        """Start afresh, as when paused: no match holds both an event from before and one from after."""
        _ = self.found  # those of the block at hand stay readable
        self.rows.columns[_MASK][:] = 0


@kernel((int64[::1], int64[::1], int64[::1], int64, int64[::1], int64[::1], int64[::1]))
def _link(rows, slots, masks, ring, touched, mask, before):  # type: ignore[no-untyped-def]
    for k in range(len(rows)):
        place = rows[k] & ring
        mask[place] = masks[k]
        before[place] = touched[slots[k]]
        touched[slots[k]] = rows[k]
