"""Replay of the past for `--from earliest`: a new query takes the past before its own events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from saffron.engine.events.block import Block
from saffron.engine.trends.queries.trend_query import TrendQuery


def replay_past(query: TrendQuery, blocks: Iterator[Block], position: int) -> None:
    """Apply all events before `position`; its results then stand in the order in which they would have fired. What was
    dropped of them was dropped for whoever had the query's slot then, and is seen."""
    last_ts: int | None = None
    for block in blocks:
        if block.first_seq >= position and len(block.columns):
            break
        columns = replace(block.columns, dropped=None)
        stop = int(np.searchsorted(columns.seq, position))
        query.tidy()
        query.apply(query.batch(columns, query.opened_by(columns)), 0, stop)
        query.pass_position(min(position, block.next_seq))
        if stop:
            last_ts = int(columns.ts[stop - 1])
        if block.next_seq > position:
            break
        query.pass_time(block.watermark, block.next_seq)
        if block.end:
            query.end(last_ts, block.watermark, block.next_seq)
