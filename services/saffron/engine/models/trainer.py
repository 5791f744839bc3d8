"""The one trainer: from summed counts to models. Spark's job and `replay` both end here.

Same sums, same model, to the byte: nothing here depends on time, order or the machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from saffron.engine.models.envelope import Version
from saffron.engine.models.latency import fit
from saffron.engine.models.markov import Matrix, completion_table, remaining_time_table, transition_matrix
from saffron.engine.models.model import LatencyModel, Offsets, TransitionModel
from saffron.engine.models.observations import DIED

MOST_BINS = 128
"""Bins of a completion table: fine enough for linear interpolation, small enough to travel in every drop order."""
MOST_STATES = 4096
LONGEST_WINDOW = 10_000_000
"""Events of a window beyond which its completion table is not computed further."""


@dataclass
class TransitionCounts:
    """What was observed of one version of a query: cells (from, to) -> [count, nanoseconds]."""

    query: str
    query_version: int
    states: int
    window_size: int
    window_events: bool
    events: int = 0
    lived: int = 0
    cells: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    @property
    def observations(self) -> int:
        return sum(count for count, _ in self.cells.values())

    @property
    def met(self) -> int:
        """Events met by partial matches: all but those of state 0, in which nothing is bound yet."""
        return sum(count for (source, _), (count, _) in self.cells.items() if source > 0)

    @property
    def shape(self) -> tuple[int, int, int, bool]:
        """What counts must share to be added up: query's version, states and window."""
        return self.query_version, self.states, self.window_size, self.window_events

    @property
    def is_sane(self) -> bool:
        """Whether the sizes are within bounds, so that one wrong message stops nothing."""
        return 2 <= self.states <= MOST_STATES and self.window_size >= 1

    @property
    def is_trainable(self) -> bool:
        """Whether it is known how many events a window holds, without which there is no completion table."""
        return self.met > 0 and (self.window_events or self.lived > 0)

    def add(self, source: int, target: int, count: int, nanoseconds: int) -> bool:
        """Add counts of one transition; False (and nothing added) if it is none that this automaton has."""
        if not (0 <= source < self.states and DIED <= target < self.states and count > 0 and nanoseconds >= 0):
            return False
        cell = self.cells.setdefault((source, target), [0, 0])
        cell[0] += count
        cell[1] += nanoseconds
        return True

    def halve(self) -> None:
        """Forget half of everything, so that what comes weighs more than what was (integers stay integers)."""
        self.events //= 2
        self.lived //= 2
        halved = {cell: [count // 2, time // 2] for cell, (count, time) in self.cells.items()}
        self.cells = {cell: sums for cell, sums in halved.items() if sums[0] > 0}

    def expected_events(self) -> float:
        """ws: events that a partial match meets in a whole window.

        For a window in time, its size times the events that partial matches met in a ms of their life.
        """
        events = self.window_size * (1.0 if self.window_events else self.met / max(1, self.lived))
        return float(min(max(1.0, events), LONGEST_WINDOW))

    def matrix(self) -> Matrix:
        """T_q of what was observed so far."""
        return transition_matrix({cell: count for cell, (count, _) in self.cells.items()}, self.states)


def train_transitions(counts: TransitionCounts, version: Version, trained_through: Offsets) -> TransitionModel:
    """The model of a query (P3, P4)."""
    window = counts.expected_events()
    bin_size = max(1, int(np.ceil(window / MOST_BINS)))
    bins = int(np.ceil(window / bin_size))
    matrix = counts.matrix()
    return TransitionModel(
        query=counts.query,
        query_version=counts.query_version,
        version=version,
        states=counts.states,
        window_size=counts.window_size,
        window_events=counts.window_events,
        expected_events=window,
        bin_size=bin_size,
        matrix=matrix,
        completion=completion_table(matrix, bin_size, bins),
        remaining_ns=_remaining(counts, matrix, bin_size, bins),
        observations=counts.observations,
        trained_through=trained_through,
    )


def train_latency(
    stream: str,
    processing: Sequence[Sequence[int]],
    shedding: Sequence[Sequence[int]],
    version: Version,
    trained_through: Offsets,
) -> LatencyModel:
    """f and g (P7) from bins of (events, load, nanoseconds), load being events times partial matches."""
    observations = sum(row[0] for row in (*processing, *shedding))
    return LatencyModel(stream, version, fit(processing), fit(shedding), observations, trained_through)


def drift(matrix: Matrix, in_use: Matrix | None) -> float:
    """Mean squared error of a new transition matrix against the one in use (P6); infinite if there is none."""
    if in_use is None or in_use.shape != matrix.shape:
        return float("inf")
    return float(np.mean((matrix - in_use) ** 2))


def _remaining(counts: TransitionCounts, matrix: Matrix, bin_size: int, bins: int) -> Matrix:
    times: Mapping[tuple[int, int], list[int]] = counts.cells
    if not any(time for _, time in times.values()):
        return np.zeros((0, counts.states))
    cost = np.zeros_like(matrix)
    for (source, target), (count, time) in times.items():
        if target >= 0:
            cost[source, target] = time / count
    return remaining_time_table(matrix, cost, bin_size, bins)
