"""Graphs of matches, many at once in flat arrays, and one of them by itself (N8, X5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.compressed import enumeration, paths
from saffron.engine.match.compressed.counting import counted
from saffron.engine.match.core.nodes import Nodes

Ints = NDArray[np.int64]

_MOST = 2**34  # events of matches that `Graphs.enumerate` lists
_FEWER = "OUTPUT COMPRESSED does not list them; OUTPUT FIRST or LONGEST, or a shorter WITHIN, gives fewer"


@dataclass(frozen=True)
class Graphs:
    """Graph g has nodes [first_node[g], first_node[g + 1]), of which the last is the event that ends its matches.

    `components`: of the pattern. `chosen` [graphs]: the number that each end had in what was asked for.
    Per node: `component`, `place` of its event in the ring of rows, and `root`: whether a match may begin there.
    Node k may follow those numbered before[first_before[k] : first_before[k + 1]], counted within its graph.
    Every node lies on some match; nodes are in the order of their events.
    """

    components: int
    chosen: Ints
    first_node: Ints
    component: NDArray[np.uint8]
    place: Ints
    root: NDArray[np.bool_]
    first_before: Ints
    before: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, number: int) -> Graph:
        start, stop = int(self.first_node[number]), int(self.first_node[number + 1])
        edges = self.first_before[start : stop + 1]
        before = self.before[edges[0] : edges[-1]]
        nodes = (self.component[start:stop], self.place[start:stop], self.root[start:stop])
        return Graph(self.components, *nodes, edges - edges[0], before)

    def counts(self) -> list[int]:
        """The exact number of matches of each graph."""
        return counted(self.first_node, self.root, self.first_before, self.before)

    @property
    def shared(self) -> bool:
        """True if a graph has an event that may be bound to two components."""
        return bool(paths.shared(self.first_node, self.component, self.place))

    def sizes(self) -> tuple[int, int, int]:
        """The numbers of matches, of their events, and of distinct beginnings of matches, matches included.

        OverflowError where they are too many to list.
        """
        total = np.zeros(3)
        paths.sizes(self.first_node, self.root, self.first_before, self.before, total)
        if total[1] > _MOST:
            raise OverflowError(f"{total[0]:.3g} matches are too many to list: {_FEWER}")
        matches, events, beginnings = total.astype(np.int64).tolist()
        return matches, events, beginnings

    def chains(self, tail: int, ring: int, node: int, nodes: Nodes, found: Ints) -> int:
        """Write all matches as chains of the match buffer, for which there is room; the number of the next node.

        In the order of results, but where `shared`. found: int64 [at least 3, matches]. See `paths.chain`.
        """
        own = (self.first_node, self.component, self.place, self.root, self.first_before, self.before)
        return int(paths.chain(*own, tail, ring, node, *nodes.arrays, found))

    def enumerate(self) -> tuple[Ints, Ints, Ints]:
        """All matches of all graphs, graph by graph, in the order of results.

        int64 [matches]: each one's graph; [matches, components]: how many events each component bound; [events]: their
        places in the ring of rows, match by match. OverflowError where they are too many.
        """
        if self.shared:
            return self._one_by_one()
        size, length, _ = self.sizes()
        graph, counts = np.empty(size, np.int64), np.empty((size, self.components), np.int64)
        places = np.empty(length, np.int64)
        paths.write(
            self.first_node, self.component, self.place, self.root, self.first_before, self.before,
            graph, counts, places,
        )  # fmt: skip
        return graph, counts, places

    def _one_by_one(self) -> tuple[Ints, Ints, Ints]:
        """The matches of all graphs, one by one, where an event serves two components and changes their order."""
        found = [(number, match) for number in range(len(self)) for match in self[number].enumerate()]
        counts = [[len(part) for part in match] for _, match in found]
        places = [place for _, match in found for part in match for place in part]
        return (
            np.array([number for number, _ in found], np.int64),
            np.array(counts, np.int64).reshape(-1, self.components),
            np.array(places, np.int64),
        )


@dataclass(frozen=True)
class Graph:
    """All matches that end with one event: arrays as in `Graphs`, numbered from 0; the last node is the end."""

    components: int
    component: NDArray[np.uint8]
    place: Ints
    root: NDArray[np.bool_]
    first_before: Ints
    before: NDArray[np.int32]

    @cached_property
    def _whole(self) -> Graphs:
        first = np.array([0, len(self.place)])
        nodes = (self.component, self.place, self.root, self.first_before, self.before)
        return Graphs(self.components, np.zeros(1, np.int64), first, *nodes)

    def count(self) -> int:
        """The exact number of matches."""
        return self._whole.counts()[0]

    def nodes(self) -> list[tuple[int, int, list[int]]]:
        """(component, place, numbers of possible predecessors); -1 among them: a match may begin with this node."""
        begins = self.first_before.tolist()
        before = self.before.tolist()
        return [
            (component, place, [-1] * root + before[begins[k] : begins[k + 1]])
            for k, (component, place, root) in enumerate(
                zip(self.component.tolist(), self.place.tolist(), self.root.tolist(), strict=True)
            )
        ]

    def enumerate(self) -> Iterator[list[list[int]]]:
        """The matches of the graph in the order of results, as places by component; memory stays constant."""
        return enumeration.matches(self.nodes(), self.components)
