"""Matches found as graphs: no run is ever made, events are linked to the one before of their key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import int64
from saffron.engine.match.compressed.bounds import ends_in_windows, firsts
from saffron.engine.match.compressed.build import Builder, Past, build, builder
from saffron.engine.match.compressed.graphs import Graphs
from saffron.engine.match.core.automaton import Automaton
from saffron.engine.match.core.classifier import classifier_of
from saffron.engine.match.core.classify import bit_tests, type_masks
from saffron.engine.match.core.held import column_name
from saffron.engine.match.core.kernel_layout import (
    CHAIN,
    FIRST_ROW,
    FOUND,
    LAST_ROW,
    NODE,
    NODE_TAIL,
    begin_bit,
    take_bit,
)
from saffron.engine.match.core.rows import LINKS, NODE_AT, SEQ
from saffron.engine.match.core.stream import Range
from saffron.engine.match.runs.given import give
from saffron.engine.match.runs.parts import Source
from saffron.engine.match.runs.program import Program
from saffron.language.plan.match_plan import MatchPlan

if TYPE_CHECKING:
    from saffron.engine.match.runs.query_runs import QueryRuns

Ints = NDArray[np.int64]

_MASK, _BEFORE = LINKS


def compile_graphs(plan: MatchPlan, *, compiled: bool = True) -> Program:
    """The program of a plan for which `is_collapsible` holds: `step` is the kernel that builds graphs."""
    automaton = Automaton(plan, ())
    made = builder(plan, compiled=compiled)
    classifier = classifier_of(bit_tests(automaton))
    return Program(
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
        builder=made,
    )


class Linking(Source):
    """A `Source` of graphs: `graphs` has what was found in the block, and the list of matches once it is read."""

    def __init__(self, runs: QueryRuns) -> None:
        super().__init__(runs)
        for name in LINKS:
            runs.rows.add(name, np.dtype(np.int64), 0)
        last = len(runs.plan.components) - 1
        self._end_bits = begin_bit(last) | (take_bit(last) if runs.plan.components[last].closure else 0)
        self._ends: list[Ints] = []
        self._listed = 0  # how many of them the list of matches has

    @property
    def _builder(self) -> Builder:
        builder = self.runs.program.builder
        assert builder is not None
        return builder

    def advance(self, part: Range, opened: Iterable[int] | None) -> None:
        """Take the next events."""
        give(self.runs, part, opened, self._link)

    def _link(self, numbers: Ints, slots: Ints, masks: Ints, _: Ints) -> None:
        store = self.runs.store
        columns = store.rows.columns
        columns[NODE_AT][numbers & store.rows.mask] = self.runs.counters[NODE]
        _link(numbers, slots, masks, store.rows.mask, store.touched, columns[_MASK], columns[_BEFORE])
        ends = numbers[masks & self._end_bits != 0]
        if len(ends):
            self._ends.append(ends)

    def list_found(self) -> None:
        """List all matches of the block in the order of results."""
        new = self._ends[self._listed :]
        if new:
            self._listed = len(self._ends)
            self._list(self._graphs(np.concatenate(new)))

    def _list(self, graphs: Graphs) -> None:
        """Append the matches of graphs to the list of matches, and their chains to the match buffer; both grow first.

        OverflowError if the matches are too many to list.
        """
        runs = self.runs
        count, _, beginnings = graphs.sizes()
        tail, node, start = (int(runs.counters[place]) for place in (NODE_TAIL, NODE, FOUND))
        while node - tail + beginnings > len(runs.nodes.row):
            runs.nodes.grow(tail, node)
        stop = start + count
        runs.matches.widen(stop)
        listed = np.empty((3, count), np.int64)
        runs.counters[NODE] = graphs.chains(runs.rows.tail, runs.rows.mask, node, runs.nodes, listed)
        runs.counters[FOUND] = stop
        runs.matches.buffer[[FIRST_ROW, CHAIN, LAST_ROW], start:stop] = listed
        runs.matches.complete_flat(start, stop, shared=graphs.shared)

    def enumerated(self) -> tuple[Ints, Ints]:
        """All matches of the block, straight from their graphs."""
        _, counts, places = self.graphs().enumerate()
        return counts, places

    def forget_matches(self) -> None:
        """Forget the matches of the last block, which have been published."""
        self._ends = []
        self._listed = 0

    def forget_runs(self) -> None:
        """Mark all stored events as useless: no match holds an event from before and one from after this call."""
        self.list_found()  # those of the block at hand stay readable
        self.runs.rows.columns[_MASK][:] = 0

    @property
    def told_apart(self) -> bool:
        """True if graphs may have several nodes of one event and component."""
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
        chosen, lows = firsts(end, low if self.runs.plan.window.opens is None else serial)
        return self._build(ends[chosen], lows)

    def graphs_by_window(self) -> tuple[Graphs, Ints, Ints]:
        """One graph for each window of each event that ends matches; each one's first instant and serial number."""
        ends = self.ends
        end, low, serial = self._windows(ends)
        found = self._build(ends[end], low if self.runs.plan.window.opens is None else serial)
        return found, low[found.chosen], serial[found.chosen]

    def _windows(self, ends: Ints) -> tuple[Ints, Ints, Ints]:
        store = self.runs.store
        at = ends & store.rows.mask
        seqs = store.rows.columns[SEQ][at].astype(np.int64)
        return ends_in_windows(store.windows, seqs, store.clock()[at])

    def _build(self, ends: Ints, lows: Ints) -> Graphs:
        """The graphs of the matches that end with rows `ends` and begin at instants >= `lows`, [n] each.

        Under OPEN ON `lows` are positions.
        """
        store = self.runs.store
        columns = store.rows.columns
        past = Past(
            tail=store.rows.tail,
            clock=store.clock() if store.plan.window.opens is None else np.asarray(columns[SEQ], np.int64),
            masks=np.asarray(columns[_MASK], np.int64),
            links=np.asarray(columns[_BEFORE], np.int64),
            columns={name: columns[column_name(name)] for name in self._builder.names.attributes},
            constants=store.constants,
            ranks=store.strings.ranks(),
        )
        return build(self._builder, past, ends, lows)


@kernel((int64[::1], int64[::1], int64[::1], int64, int64[::1], int64[::1], int64[::1]))
def _link(rows, slots, masks, ring, touched, mask, before):  # type: ignore[no-untyped-def]
    for k in range(len(rows)):
        place = rows[k] & ring
        mask[place] = masks[k]
        before[place] = touched[slots[k]]
        touched[slots[k]] = rows[k]
