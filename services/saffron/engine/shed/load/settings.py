"""The settings of a chain's latency bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from saffron.errors import InputError

_LEAST_AHEAD, _MOST_AHEAD = 0.08, 0.2
"""Work in flight, as a share of the bound: while a reader never waits for work, and when it waits for `_STARVED` of its
time. No decision reaches what is in flight, so it is little; but a reader that waits does less than it could."""
_STARVED = 0.15
"""Share of its time for which a reader waits for work, from which on it is given the most."""
SHED, CATCH_UP = "shed", "catch-up"
POLICIES = (SHED, CATCH_UP)
MOST_SEEDS = 1 << 63
"""The number of seeds, as in `models.features.features`."""


@dataclass(frozen=True)
class Overload:
    """A latency bound and the means to hold it (P7, G7). Times in ms.

    `bound`: LB. `policy`: after an outage "shed" (be current at once) or "catch-up" (drop nothing of the backlog). A
    query's record names its shedder (`shed`; "auto" by default). `start`: share of the bound at which dropping of
    events begins (the paper's 80 %). `safety`: b_s as a share of the bound. `interval`: T, over which a share of events
    is planned; None: as long as the bound.

    `exempt`: share of the spans of the stream in which no event is dropped, so that models stay true. `retained`: share
    of the partial matches that an order would drop but retains, to measure the loss. `tracked`: share of all partial
    matches that orders drop last and that are tracked, to train models. `weights`: of queries, in place of their own.
    """

    bound: float
    policy: str = SHED
    start: float = 0.8
    safety: float = 0.1
    interval: float | None = None
    exempt: float = 0.02
    retained: float = 0.05
    tracked: float = 0.02
    seed: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.bound > 0:
            raise InputError(f"a latency bound is above 0 ms, not {self.bound:g}")
        if self.policy not in POLICIES:
            raise InputError(f"after an outage there is {' or '.join(POLICIES)}, not {self.policy!r}")
        if not 0 < self.start < 1 or not 0 < self.safety < 1 or not self.horizon > 0:
            raise InputError("start and safety lie in (0, 1), and the interval is above 0 ms")
        if not all(0 <= share < 1 for share in (self.exempt, self.retained, self.tracked)):
            raise InputError("what is exempt, retained or tracked is a share in [0, 1)")
        if not 0 <= self.seed < MOST_SEEDS:
            raise InputError(f"a seed is a whole number from 0 to {MOST_SEEDS - 1}, not {self.seed}")

    @property
    def horizon(self) -> float:
        """T in ms."""
        return self.bound if self.interval is None else self.interval

    @property
    def limit(self) -> float:
        """LB - b_s."""
        return self.bound * (1 - self.safety)

    def ahead(self, idle: float) -> float:
        """The work (ms) that may be in flight.

        With less, a decision takes hold sooner, but a reader waits longer for the next block. `idle`: the recent share
        of its time in which it waited.
        """
        return (_LEAST_AHEAD + (_MOST_AHEAD - _LEAST_AHEAD) * min(1.0, idle / _STARVED)) * self.bound
