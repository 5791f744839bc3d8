"""Matches from runs in pools: a kernel takes the key's runs through each stored event (flat, or by a table)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.held import column_name
from saffron.engine.match.core.kernel_layout import AT, DONE, FOUND, ROW_MASK, ROW_TAIL
from saffron.engine.match.core.rows import LINKS, NODE_AT, SEQ, UNTIL
from saffron.engine.match.core.stream import Range
from saffron.engine.match.general.watch import UNWATCHED
from saffron.engine.match.runs.given import give
from saffron.engine.match.runs.parts import Source

Ints = NDArray[np.int64]


class Stepping(Source):
    """A `Source` for programs whose kernel is given stored events."""

    def advance(self, part: Range, opened: Iterable[int] | None) -> None:
        """Take the next events."""
        give(self.runs, part, opened, self._step)

    def _step(self, numbers: Ints, slots: Ints, masks: Ints, ordinals: Ints) -> None:
        """Give stored events to the kernel, and complete the list of matches. `numbers`: of rows.

        After an array has grown the kernel is called again, and goes on.
        """
        runs = self.runs
        start = int(runs.counters[FOUND])
        runs.counters[AT] = 0
        status = -1
        while status != DONE:
            runs.make_room(status)
            with np.errstate(all="ignore"):
                status = runs.program.step(
                    int(runs.counters[AT]), len(slots), *self._arguments(numbers, slots, masks, ordinals)
                )
        runs.matches.complete(start)

    def _arguments(self, numbers: Ints, slots: Ints, masks: Ints, ordinals: Ints) -> Iterator[Any]:
        """The arguments of the kernel after `at` and `stop`. Growing replaces arrays, so each call needs them anew.

        The counters ROW_MASK and ROW_TAIL are set.
        """
        runs, store, program = self.runs, self.runs.store, self.runs.program
        runs.counters[ROW_MASK], runs.counters[ROW_TAIL] = store.rows.mask, store.rows.tail
        columns = store.rows.columns
        yield from (numbers, slots, masks, ordinals)
        yield from (store.clock(), columns[UNTIL], runs.counters)
        yield from (store.constants, store.strings.ranks(), *runs.nodes.arrays)
        yield from (columns[NODE_AT], store.touched, runs.reached, runs.matches.buffer)
        for name in program.step_names.attributes:
            yield columns[column_name(name)]
        for pool in runs.pools:
            yield from pool.arrays
        if not program.flat:
            yield from program.tables
            yield from (columns[name if store.plan.absences else SEQ] for name in LINKS)
            yield from (columns[SEQ], np.ascontiguousarray(store.windows.openers))
            yield UNWATCHED if runs.watch is None else runs.watch.log
