"""The arguments of `expiry.close_all`: the windows of a plan WITH TIMEOUTS, and the rows of its runs."""

from __future__ import annotations

from saffron.engine.match.core.runs import FIRST_FEATURE
from saffron.engine.match.general.automaton import ORDINAL, REPORTED, GeneralAutomaton
from saffron.engine.match.general.expiry import ALONE, OPENED, SLIDING

Closing = tuple[int, int, int, int, int, int]


def closing(automaton: GeneralAutomaton) -> Closing:
    """(kind of window, size, slide, first instant at which one may begin, row ORDINAL, row REPORTED).

    The rows are of runs: the ordinal of the event bound last, and the instant up to which the run has been reported.
    """
    window, features = automaton.plan.window, automaton.state.ints
    kind = ALONE if window.slide is None and window.opens is None else OPENED if window.slide is None else SLIDING
    lowest = 0 if window.events else -(2**62)
    rows = (FIRST_FEATURE + features.index(feature) for feature in (ORDINAL, REPORTED))
    return (kind, window.size, window.slide or 0, lowest, *rows)  # type: ignore[return-value]
