"""How windows close for the runs of a plan WITH TIMEOUTS: what `expiry.close_all` is told."""

from __future__ import annotations

from saffron.engine.match.core.runs import FIRST_FEATURE
from saffron.engine.match.general.automaton import ORDINAL, REPORTED, GeneralAutomaton
from saffron.engine.match.general.expiry import ALONE, OPENED, SLIDING

Closing = tuple[int, int, int, int, int, int]


def closing(automaton: GeneralAutomaton) -> Closing:
    """The kind of window, its size and slide, the first instant at which one may begin; rows of runs: the ordinal of
    the event bound last, and up to when the run has been reported."""
    window, features = automaton.plan.window, automaton.state.ints
    kind = ALONE if window.slide is None and window.opens is None else OPENED if window.slide is None else SLIDING
    lowest = 0 if window.events else -(2**62)
    rows = (FIRST_FEATURE + features.index(feature) for feature in (ORDINAL, REPORTED))
    return (kind, window.size, window.slide or 0, lowest, *rows)  # type: ignore[return-value]
