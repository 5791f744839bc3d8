"""The matches of a query as the events that it makes of them (INTO): `derived.Made`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.match.core import rows
from saffron.engine.match.core.kernel_layout import AT_ONCE, LAST_ROW
from saffron.engine.match.output.render import Matches
from saffron.engine.match.output.reporting import known
from saffron.engine.match.runs.derived import Made
from saffron.engine.match.runs.query_runs import AFTER_ALL, QueryRuns
from saffron.engine.match.selection.entries import Entries
from saffron.engine.operators.results import FULL

Ints = NDArray[np.int64]
Before = tuple[int, int]
"""Position and time of the last event before a block."""


def made_of(runs: QueryRuns, entries: Entries, name: str, partition: int, block: Block, before: Before) -> list[Made]:
    """The entries as events, in order: those known with an event, those known when a count is full, those by a time."""
    made = []
    for one in known(runs, entries, block):
        part, deadline = one.entries, one.deadline
        if not len(part):
            continue
        last = part.found[LAST_ROW] & runs.rows.mask
        columns = runs.rows.columns
        seq, ts = columns[rows.SEQ][last].astype(np.int64), columns[rows.TS][last].astype(np.int64)
        waited = part.deadline != AT_ONCE
        if waited.any() and deadline is not None:
            seq, ts = _behind(runs, deadline, block, before)
        matches = Matches(runs, part, name, partition, one.position)
        result, attributes = matches.as_events()
        at_once = np.full(len(part), AT_ONCE)
        into = runs.plan.into
        assert into is not None
        made.append(
            Made(
                type=into,
                seq=seq,
                ts=ts,
                time=matches.last_time,
                result=result,
                fires=matches.position,
                due=at_once if deadline is None else np.where(deadline == AFTER_ALL, AT_ONCE, deadline),
                counted=np.full(len(part), int(one.phase == FULL)),
                attributes=attributes,
            )
        )
    return made


def _behind(runs: QueryRuns, deadline: Ints, block: Block, before: Before) -> tuple[Ints, Ints]:
    """Position and time of results that were due: the last event of the stream in the window, the window's end."""
    columns = block.columns
    instants = columns.seq if runs.plan.window.events else columns.ts
    place = np.searchsorted(instants, deadline, side="right")
    seq = np.concatenate([[before[0]], columns.seq])[place]
    if not runs.plan.window.events:
        return seq, deadline
    return seq, np.concatenate([[before[1]], columns.ts])[place]
