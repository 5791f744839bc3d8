"""The limits of a trend query's arrays."""

from __future__ import annotations

from saffron.engine.trends.core.graphs import Graphs
from saffron.errors import SaffronError
from saffron.language.plan.clauses import Window
from saffron.language.trends.trend_graphs import MOST_TOTALS

MAX_STATES = 62
MAX_WINDOWS = 2**16
_LONGEST = 2**60
_FIRST_OPEN = 4


def check(graphs: Graphs) -> None:
    """Refuse, with SaffronError, plans beyond the limits of the arrays."""
    window = graphs.plan.window
    if len(graphs.places) > MAX_STATES:
        raise SaffronError(
            f"the pattern has {len(graphs.places)} places for events; at most {MAX_STATES} are counted together"
        )
    if len(graphs.totals) > MOST_TOTALS or len(graphs.plan.negatives) > MOST_TOTALS:
        raise SaffronError(f"the pattern branches too often; at most {MOST_TOTALS} sums are kept together")
    if max((sum(step.source == s for step in graphs.steps) for s in range(len(graphs.places))), default=0) > MAX_STATES:
        raise SaffronError(f"more than {MAX_STATES} places follow upon one")
    if max(window.size, window.slide or 0) > _LONGEST:
        raise SaffronError(f"a window of {window.size} is longer than any stream; WITHIN takes at most {_LONGEST}")
    if windows_of(window) > MAX_WINDOWS:
        number = windows_of(window)
        raise SaffronError(
            f"each event would lie in {number} windows, and have a count in each; at most {MAX_WINDOWS} are kept. "
            "Make SLIDE longer, or WITHIN shorter."
        )


def windows_of(window: Window) -> int:
    """The greatest number of windows open at a time; where events open them, the number of slots to begin with."""
    return _FIRST_OPEN if window.overlapping is None else window.overlapping
