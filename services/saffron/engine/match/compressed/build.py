"""Building the graphs of matches over stored rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels import functions
from saffron.engine.kernels.generated import loaded
from saffron.engine.kernels.jit import Function
from saffron.engine.kernels.kernel_source import KernelSource
from saffron.engine.match.compressed import groups, useful
from saffron.engine.match.compressed.graph_source import DONE, MORE_EDGES, MORE_NODES, MORE_ROOM, GraphSource
from saffron.engine.match.compressed.graphs import Graphs
from saffron.engine.match.compressed.slots import Slots
from saffron.engine.match.core.kernel_layout import Names
from saffron.engine.match.core.source import arithmetic
from saffron.language.plan.match_plan import MatchPlan

Array = NDArray[np.generic]
Ints = NDArray[np.int64]

_SMALLEST = 1024


@dataclass(frozen=True)
class Builder:
    """The kernel of a plan for which `is_collapsible` holds.

    `names`: columns and strings that it reads. `slots`: how many its nodes have at most, by which those of one event
    and component are told apart. `source`: the kernel's text.
    """

    plan: MatchPlan
    source: KernelSource
    graphs: Function
    names: Names
    slots: int


def builder(plan: MatchPlan, *, compiled: bool = True) -> Builder:
    """Compile the kernel; `compiled` False: the same as plain Python, for tests."""
    names = Names()
    source = KernelSource("graphs", GraphSource(plan, names).text(), (arithmetic, functions, useful, groups))
    return Builder(plan, source, loaded(source, compiled=compiled), names, Slots(plan).most)


@dataclass(frozen=True)
class Past:
    """Rows of a query in rings of one length, a power of two; row r stands at place r & (length - 1).

    `clock`: instants, by which windows go (int64). `masks`: what each event can be (`kernel_layout.begin_bit`,
    `take_bit`). `links`: the number of the row before of the same key, below `tail` for none. `columns`: attributes by
    name, for those that the builder's `names` has. `constants`, `ranks`: of its strings (`engine.events.strings`).
    """

    tail: int
    clock: Ints
    masks: Ints
    links: Ints
    columns: Mapping[str, Array]
    constants: Ints
    ranks: Ints


def build(made: Builder, past: Past, ends: Ints, lows: Ints) -> Graphs:
    """One graph for each row of `ends` that ends matches whose first events are at instants >= `lows`.

    ends, lows: int64 [n], rows ascending. Rows of the same key after an end do not matter.
    """
    capacity, components = len(past.clock), len(made.plan.components)
    kept, first_node = np.empty(len(ends), np.int64), np.zeros(len(ends) + 1, np.int64)
    nodes: list[Any] = [np.empty(_SMALLEST, dtype) for dtype in (np.uint8, np.int64, np.bool_, np.int64)]
    before = np.empty(_SMALLEST, np.int32)
    window, room = np.empty(capacity, np.int64), components * capacity
    scratch = _scratch(made, room, components)
    state = np.zeros(5, np.int64)
    nodes[3][0] = 0
    status = -1
    columns = [past.columns[name] for name in made.names.attributes]
    while status != DONE:
        if status == MORE_NODES:
            nodes = [np.concatenate([array, np.empty_like(array)]) for array in nodes]
        elif status == MORE_EDGES:
            before = np.concatenate([before, np.empty_like(before)])
        elif status == MORE_ROOM:
            room *= 2
            scratch = _scratch(made, room, components)
        with np.errstate(all="ignore"):
            status = made.graphs(
                state, ends, lows, past.tail, past.clock, past.masks, past.links, past.constants, past.ranks,
                kept, first_node, *nodes, before, window, *scratch, *columns,
            )  # fmt: skip
    count, edges, graphs, *_ = state.tolist()
    component, place, root, first_before = nodes
    return Graphs(
        components=components,
        chosen=kept[:graphs],
        first_node=first_node[: graphs + 1],
        component=component[:count],
        place=place[:count],
        root=root[:count],
        first_before=first_before[: count + 1],
        before=before[:edges],
    )


def _scratch(made: Builder, room: int, components: int) -> list[Ints]:
    """The scratch arrays of the kernel that builds a graph of up to `room` nodes."""

    def empty(*shape: int) -> Ints:
        return np.empty(shape, np.int64)

    arrays = [empty(components, room), empty(room + 1), empty(room + 1)]
    if made.slots:
        table = 1 << (2 * room).bit_length()
        seen = np.zeros(room, np.int64)
        arrays += [empty(room, made.slots), empty(table), np.zeros(table, np.int64), seen]
        arrays += [empty(room) for _ in range(4)]
        arrays += [empty(2, room), empty(made.slots), empty(3)]
    return arrays
