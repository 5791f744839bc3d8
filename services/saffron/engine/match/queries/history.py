"""`--from earliest`: a new query sees the blocks of the past before the events from its position on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from saffron.engine.events.block import Block
from saffron.engine.match.core.stream import Range
from saffron.engine.match.runs.runs import Runs
from saffron.engine.operators.addresses import Address
from saffron.engine.operators.results import Ints, OrderedResults


class PastResults:
    """Results that were rendered when they were found; they fire where the query was added, before the event there."""

    def __init__(
        self, position: int, texts: Sequence[bytes], addresses: Sequence[Address | None], last_time: Ints
    ) -> None:
        self.position = np.full(len(texts), position, np.int64)
        self.last_time = last_time
        self._texts, self._addresses = texts, addresses

    def __len__(self) -> int:
        return len(self._texts)

    def json(self, chosen: Ints) -> list[bytes]:
        return [self._texts[index] for index in chosen.tolist()]

    def addresses(self, chosen: Ints) -> list[Address | None]:
        return [self._addresses[index] for index in chosen.tolist()]


def replay_past(runs: Runs, name: str, partition: int, blocks: Iterator[Block], position: int) -> PastResults:
    """Take all events before `position`; the results, in the order in which they would have fired, stand there.

    They are rendered block by block, so that the past need not fit in memory. What was dropped of it was dropped for
    whoever had the query's slot then, and is seen.
    """
    texts: list[bytes] = []
    addresses: list[Address | None] = []
    times: list[Ints] = []
    for block in blocks:
        columns = replace(block.columns, dropped=None)
        stop = int(np.searchsorted(columns.seq, position))
        if stop:
            runs.begin_block(int(columns.seq[0] if runs.plan.window.events else columns.ts[0]))
            runs.advance(Range(columns, 0, stop), None)
            runs.end_block(int(columns.ts[stop - 1]), min(block.next_seq, position), end=False)
            found = OrderedResults(runs.fired(name, partition, block))
            texts += found.json(0, len(found))
            addresses += found.addresses(0, len(found))
            times.append(found.last_time)
        if block.next_seq > position:
            break
    runs.forget_matches()
    return PastResults(position, texts, addresses, np.concatenate(times) if times else np.zeros(0, np.int64))
