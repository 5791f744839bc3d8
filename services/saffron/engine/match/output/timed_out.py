"""Runs whose window ended without a match as JSON (WITH TIMEOUTS)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.json_pieces import Pieces
from saffron.engine.match.output.render import Matches, Written
from saffron.engine.match.output.tails import closing_of
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.selection.timeouts import TimedOut
from saffron.engine.operators.results import Fired

Ints = NDArray[np.int64]


def matches_in(fired: Iterable[Fired]) -> list[Written]:
    """The parts that are matches whose events are stored: no timed-out runs, and no results of the past."""
    parts = (one.results for one in fired)
    return [part for part in parts if isinstance(part, Written) and not isinstance(part, TimedOutRuns)]


class TimedOutRuns(Matches):
    """Results of timed-out runs: matches with `"timeout": true` and the next variables, without RETURN."""

    def __init__(self, runs: QueryRuns, over: TimedOut, name: str, partition: int, position: Ints) -> None:
        super().__init__(runs, over.entries, name, partition, position)
        self._waiting = over.waiting

    @property
    def _seed(self) -> str:
        return f"{self._runs.plan.text}\ntimeout"  # a match of the same events is another result

    def _tails(self, chosen: Ints, counts: Ints, places: Ints) -> tuple[NDArray[np.uint8], Ints]:
        """The text behind each run's events, with the variables that the run waited for, and the end of each text."""
        pieces = Pieces()
        plan = self._runs.plan
        opening = closing_of(plan) + b',"timeout":true,"waiting":'
        waiting = self._waiting[chosen]
        order = np.empty((len(chosen), 1), np.int64)
        for bits in np.unique(waiting).tolist():
            names = [one.variable for number, one in enumerate(plan.components[: plan.positive]) if bits >> number & 1]
            order[waiting == bits] = pieces.literal(opening + orjson.dumps(names) + b"}")
        return pieces.join(order)
