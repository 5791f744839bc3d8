"""The trainer of models of partial matches and latency from summed counts, for Spark's job and for `replay`.

Equal sums give the same model, to the byte: nothing depends on time, order or the machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from saffron.engine.models.transitions.ages import A_BIN, AGES, FOLDS, by_left, lifts, population
from saffron.engine.models.transitions.latency import fit
from saffron.engine.models.transitions.markov import (
    MOST,
    Matrix,
    completion_table,
    matches_table,
    remaining_time_table,
    succession_matrix,
    transition_matrix,
)
from saffron.engine.models.transitions.model import LONGEST_WINDOW, LatencyModel, Offsets, TransitionModel
from saffron.engine.models.transitions.observations import FORKED
from saffron.engine.models.transitions.partial_match import LEAST_TIME
from saffron.engine.models.transitions.proving import cross_validated
from saffron.engine.models.transitions.transition_costs import TransitionCosts
from saffron.engine.models.transitions.trials import Trials
from saffron.records.envelope import Version

MOST_BINS = 128
"""Bins of a completion table: fine enough for linear interpolation, small enough to travel in every drop order."""
MOST_STATES = 4096


@dataclass
class TransitionCounts:
    """The observations of one version of a query: transitions, their times, and outcomes of tracked partial matches.

    `cells`: (from, to) -> count (P2). `costs`: samples of times. `followed`: (state, age with fold) -> tracked partial
    matches, their matches (see `shedding.tracked`).
    """

    query: str
    query_version: int
    states: int
    window_size: int
    window_events: bool
    events: int = 0
    lived: int = 0
    cells: dict[tuple[int, int], int] = field(default_factory=dict)
    costs: TransitionCosts = field(default_factory=TransitionCosts)
    followed: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    @property
    def observations(self) -> int:
        return sum(self.met_by_state())

    @property
    def met(self) -> int:
        """Pairs of an event and a partial match that it met; state 0, in which nothing is bound yet, does not count."""
        return sum(self.met_by_state()[1:])

    @property
    def follows(self) -> int:
        """Notes of partial matches that were tracked to the end of their windows."""
        return sum(number for number, _ in self.followed.values())

    @property
    def forks(self) -> bool:
        """True if runs split."""
        return any(target == FORKED for _, target in self.cells)

    def met_by_state(self) -> list[int]:
        """[states]: pairs of an event and a partial match in the state; further successors of a split do not count."""
        met = [0] * self.states
        for (source, target), count in self.cells.items():
            met[source] += -count if target == FORKED else count
        return [max(0, count) for count in met]

    @property
    def shape(self) -> tuple[int, int, int, bool]:
        """The properties that counts must share to be added up: query's version, states and window."""
        return self.query_version, self.states, self.window_size, self.window_events

    @property
    def is_sane(self) -> bool:
        """True if the sizes are within bounds, so that one wrong message stops nothing."""
        return 2 <= self.states <= MOST_STATES and self.window_size >= 1

    @property
    def is_trainable(self) -> bool:
        """True if the number of events in a window is known, without which there is no completion table."""
        return self.met > 0 and (self.window_events or self.lived > 0)

    def add(self, source: int, target: int, count: int) -> bool:
        """Add counts of one transition; False, and nothing is added, if this automaton has no such transition."""
        if not (0 <= source < self.states and FORKED <= target < self.states and count > 0):
            return False
        self.cells[source, target] = self.cells.get((source, target), 0) + count
        return True

    def add_followed(self, state: int, age: int, number: int, matches: int) -> bool:
        """Add counts of tracked partial matches; False, and nothing is added, for invalid counts."""
        if not (0 < state < self.states - 1 and 0 <= age < FOLDS * AGES and number > 0 and matches >= 0):
            return False
        before = self.followed.get((state, age), (0, 0))
        self.followed[state, age] = before[0] + number, before[1] + matches
        return True

    def add_time(self, counts: Mapping[tuple[int, int], int], nanoseconds: int) -> None:
        """Add a sample for the fit of times: transitions of an interval (see `add`), and their time together (ns)."""
        self.costs.add({cell: count for cell, count in counts.items() if cell[1] != FORKED}, nanoseconds)

    def times(self) -> tuple[float, ...]:
        """[states]: ns of an event that meets a partial match, by its state; empty where no times were measured.

        It is the mean of the fitted times of transitions, weighted by their counts.
        """
        costs = self.costs.fit()
        if not costs:
            return ()
        spent = [0.0] * self.states
        for (source, target), count in self.cells.items():
            if target != FORKED:
                spent[source] += count * costs.get((source, target), 0.0)
        return tuple(time / max(1, met) for time, met in zip(spent, self.met_by_state(), strict=True))

    def halve(self) -> None:
        """Halve all sums, so that new observations weigh more than old ones (integers stay integers)."""
        self.events //= 2
        self.lived //= 2
        self.cells = {cell: count // 2 for cell, count in self.cells.items() if count > 1}
        self.costs.halve()
        halved = {cell: (number // 2, matches // 2) for cell, (number, matches) in self.followed.items()}
        self.followed = {cell: sums for cell, sums in halved.items() if sums[0]}

    def expected_events(self) -> float:
        """ws: events that a partial match meets in a whole window.

        For a window in time, its size times the events that partial matches met in a ms of their life.
        """
        events = self.window_size * (1.0 if self.window_events else self.met / max(1, self.lived))
        return float(min(max(1.0, events), LONGEST_WINDOW))

    def matrix(self) -> Matrix:
        """The transition matrix T_q of the observations so far."""
        return transition_matrix({cell: count for cell, count in self.cells.items() if cell[1] != FORKED}, self.states)

    def succession(self) -> Matrix:
        """The succession matrix: all successors, those of runs that split included."""
        return succession_matrix(self.cells, self.met_by_state())


@dataclass(frozen=True)
class Chain:
    """The Markov chain of partial matches that counts give; see `TransitionModel` for its tables.

    `window`: events of a whole window. `succession` [m, m]: as `matrix`, with all successors of runs that split.
    """

    window: float
    bin_size: int
    matrix: Matrix
    succession: Matrix
    completion: Matrix
    matches: Matrix

    @property
    def expected(self) -> Matrix:
        """[LEFT_BINS, m]: matches expected of a partial match, in the middle of each bin of what is left."""
        return by_left(self.matches if len(self.matches) else self.completion, self.bin_size, self.window)


def chain_of(counts: TransitionCounts) -> Chain:
    """The chain of counts that are trainable."""
    window = counts.expected_events()
    bin_size = max(1, int(np.ceil(window / MOST_BINS)))
    bins = int(np.ceil(window / bin_size))
    matrix, forks = counts.matrix(), counts.forks
    succession = counts.succession() if forks else matrix
    completion = completion_table(matrix, bin_size, bins)
    matches = matches_table(succession, bin_size, bins) if forks else np.zeros((0, counts.states))
    return Chain(window, bin_size, matrix, succession, completion, matches)


def train_transitions(counts: TransitionCounts, version: Version, trained_through: Offsets) -> TransitionModel:
    """The model of a query (P3, P4)."""
    chain = chain_of(counts)
    remaining = _remaining(counts, chain)
    return TransitionModel(
        query=counts.query,
        query_version=counts.query_version,
        version=version,
        states=counts.states,
        window_size=counts.window_size,
        window_events=counts.window_events,
        expected_events=chain.window,
        bin_size=chain.bin_size,
        matrix=chain.matrix,
        completion=chain.completion,
        matches=chain.matches,
        remaining_ns=remaining,
        met=tuple(counts.met_by_state()),
        lift=lift_of(counts, chain),
        seen=population(counts.followed, counts.states),
        observations=counts.observations,
        trained_through=trained_through,
        trials=_trials(counts, chain, remaining),
    )


def lift_of(counts: TransitionCounts, chain: Chain) -> Matrix:
    """The ratio of matches made at each age to the chain's expectation; [0, AGES] where nothing is learned."""
    return lifts(counts.followed, chain.expected, most=_most(counts))


def _most(counts: TransitionCounts) -> float:
    """The most matches of one partial match."""
    return MOST if counts.forks else 1.0


def _trials(counts: TransitionCounts, chain: Chain, remaining: Matrix) -> Trials:
    """The trials of the order of utility (P5) that the counts give."""
    times = np.ones_like(chain.expected)
    if len(remaining):
        times = by_left(remaining, chain.bin_size, chain.window)
        times = np.maximum(times, LEAST_TIME * times.mean() if times.any() else 1.0)
    return cross_validated(counts.followed, chain.expected, times, most=_most(counts))


def expected_by_age(counts: TransitionCounts) -> Matrix:
    """[m, AGES]: matches expected of a partial match by state and age: the chain's expectation times the lift."""
    chain = chain_of(counts)
    by_chain, lift = np.repeat(chain.expected.T, A_BIN, axis=1), lift_of(counts, chain)
    return by_chain * lift if len(lift) else by_chain


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


def _remaining(counts: TransitionCounts, chain: Chain) -> Matrix:
    """The table tau of remaining times, from the fitted times of transitions; [0, m] where no times were measured."""
    times = counts.times()
    if not times:
        return np.zeros((0, counts.states))
    return remaining_time_table(chain.succession, np.array(times), chain.bin_size, len(chain.completion))
