"""The runs of a pool that are alive (SASE+), the same whichever engine holds them.

A run is alive while its window holds the query's last event. Under strict contiguity the last event must also be the
run's own. A pool may hold others until a kernel next looks at their key and takes them out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.pools import Pool
from saffron.engine.match.core.runs import FIRST_FEATURE
from saffron.engine.match.general.automaton import ORDINAL
from saffron.engine.match.general.pending import STATE_ROW
from saffron.engine.match.general.transition_table import FIRST, STOP, STRICT
from saffron.engine.match.runs.program import Program
from saffron.language.plan.pattern import Strategy

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


def strict_states(program: Program) -> Flags | None:
    """[states] those of a table whose edges all ask for the next event of the stream (flat: of the one kind of state).

    None where no run can be over before its window is, or where such a run is still to be reported.
    """
    plan = program.plan
    if Strategy.STRICT not in (plan.strategy, *plan.begins, *plan.continues) or plan.timeouts:
        return None
    if program.flat:
        return np.ones(1, np.bool_)
    states, edges, _ = program.tables
    return np.array([first < stop and edges[first:stop, STRICT].all() for first, stop in states[:, [FIRST, STOP]]])


def goes_on(program: Program, strict: Flags, pool: Pool, lanes: Ints, reached: Ints, ordinal: int) -> Flags:
    """[n] whether runs may bind the event behind number `ordinal`. `reached` [n]: the last event that each key took."""
    if program.flat:
        return reached >= ordinal
    state = pool.ints[STATE_ROW, lanes]
    last = pool.ints[FIRST_FEATURE + program.states[0].ints.index(ORDINAL), lanes]
    waits = state >= len(strict)  # a match, for the end of its window
    found: Flags = waits | ~strict[np.where(waits, 0, state)] | (last >= ordinal)
    return found
