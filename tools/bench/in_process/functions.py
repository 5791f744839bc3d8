"""The cost of a function of an event, beyond reading its attribute, by the number of distinct values.

1,000,000 events in blocks of 16,384, as a decoder gives them: the texts that it knows grow from block to block. "first"
is a pass over all of them; "again" one in which every text has been met. Each figure is the least time of the thread
over --runs runs, in ns an event (asked: 3 again, up to 10,000 texts). Functions of numbers are compiled into kernels
and are no part of this. One core.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from bench.shared.table import arguments, report

from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.computed_columns import ComputedColumns
from saffron.schema.computed import Applied, Computed, ComputedRead, Constant, Read
from saffron.schema.schema import Kind

EVENTS, BLOCK = 1_000_000, 16_384
FUNCTIONS = {
    "lower(user)": Computed(Applied("lower", (Read("user"),)), Kind.STRING),
    "user LIKE '%00%'": Computed(Applied("like", (Read("user"), Constant("%00%"))), Kind.BOOL),
    "user REGEXP '00+$'": Computed(Applied("regexp", (Read("user"), Constant("00+$"))), Kind.BOOL),
    "hour(ts, 'Europe/Berlin')": Computed(Applied("hour", (Read("ts"), Constant("Europe/Berlin"))), Kind.INT),
}


def stream(distinct: int) -> list[Columns]:
    """Blocks of events with so many users and times."""
    rng = np.random.default_rng(5)
    users = rng.integers(0, distinct, EVENTS)
    ts = 1_780_000_000_000 + np.arange(EVENTS) * distinct // EVENTS * 1000
    codes: dict[int, int] = {}
    values: tuple[str, ...] = ()
    blocks = []
    for begin in range(0, EVENTS, BLOCK):
        held = np.array(
            [codes.setdefault(user, len(codes)) for user in users[begin : begin + BLOCK].tolist()], np.int32
        )
        if len(values) < len(codes):
            values = tuple(f"User{user:07d}" for user in codes)
        seq = np.arange(begin, begin + len(held))
        kind = Column(Kind.STRING, np.zeros(len(held), np.int32), ("A",))
        blocks.append(Columns(seq, ts[seq], seq, kind, {"user": Column(Kind.STRING, held, values)}))
    return blocks


def passed(computing: ComputedColumns, blocks: list[Columns], name: str) -> float:
    """Nanoseconds of the thread for each event of one pass."""
    began = time.thread_time()
    for block in blocks:
        computing.added(block, [ComputedRead(name, ())])
    return (time.thread_time() - began) / sum(map(len, blocks)) * 1e9


def measured(distinct: int, runs: int) -> list[dict[str, Any]]:
    """A row for each function."""
    blocks = stream(distinct)
    known = [Columns(b.seq, b.ts, b.time, b.type, {**b.attributes, "user": _grown(b, blocks[-1])}) for b in blocks]
    rows = []
    for text, one in FUNCTIONS.items():
        first, again = [], []
        for _ in range(runs):
            computing = ComputedColumns()
            first.append(passed(computing, blocks, one.name))
            again.append(passed(computing, known, one.name))
        asked = 3.0 if distinct <= 10_000 and "ts" not in text else ""
        rows.append({"function": text, "distinct": distinct, "first": min(first), "again": min(again), "asked": asked})
    return rows


def _grown(block: Columns, last: Columns) -> Column:
    """A block's users among all that the decoder knows in the end."""
    return Column(Kind.STRING, block.attributes["user"].data, last.attributes["user"].values)


if __name__ == "__main__":
    given = arguments(__doc__ or "")
    table = [row for distinct in (100, 10_000, 1_000_000) for row in measured(distinct, given.runs)]
    report("functions of an event, ns an event", table, given.json)
