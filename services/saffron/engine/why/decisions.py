"""The decisions of the interpreters: the effect of each event on each run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saffron.engine.why.bindings import Bindings
from saffron.engine.why.conditions import Refusal

MOST_RUNS = 20_000


class What(Enum):
    """The kind of a decision: the effect of an event on a run, or the fate of a run at an event."""

    BEGINS = "begins"  # the event is the first of a run
    TAKES = "takes"
    STAYS = "stays"  # the run goes on without the event
    DIES = "dies"  # contiguity: the run does not go on without the event
    EXPIRES = "expires"  # no window that holds its first event holds this one
    REFUSED = "refused"  # the event begins no run, by a condition
    MATCHES = "matches"
    FORBIDDEN = "forbidden"  # a NOT forbids the match, or a condition on a finished list
    BELOW = "below"  # imprecise time: the confidence of a prefix is below the threshold


@dataclass(frozen=True)
class Decision:
    """A decision of the interpreter on one event.

    `run`: number of the run, 0 for none. `component`: the one that takes or refuses the event. `made`: numbers of the
    runs that it makes. `waited`: components that the run waits for. `refusals`: the conditions that the event breaks.
    `offenders`: positions of the events that a NOT forbids. `due`: of a match, when the time of the NOT that ends it is
    over; None: no NOT has a time there. `chance`: over imprecise time, the confidence of `bound`.
    """

    what: What
    run: int
    component: int | None = None
    made: tuple[int, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    offenders: tuple[int, ...] = ()
    waited: tuple[int, ...] = ()
    due: int | None = None
    chance: float | None = None
    bound: Bindings = ()


@dataclass(frozen=True)
class Found:
    """A match that stands. `window`, `opener` as in results; `run`: the number of the run that found it."""

    bindings: Bindings
    window: tuple[int, int] | None
    opener: int | None
    run: int
