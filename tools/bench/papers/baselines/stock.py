"""The stock template of SASE+, run by run: SEQ(Stock+ a[], Stock b), [symbol], a[1].price % 500 = 0, b.volume < 150.

`runs_apart` is the paper's basic algorithm (section 5.2.1): all runs side by side, each event stored once for each run
that takes it. `one_run_at_a_time` is its backtrack algorithm (N12): a split postpones a run, which later reads the
events of its key again from the split. `takes`: 1 every event, 2 a higher price, 3 a price above the average so far.
Time is the position in the stream.
"""

from __future__ import annotations

import numpy as np
from bench.papers.baselines.mixing import of_closure_and_end

from saffron.engine.kernels.jit import kernel

NODES = 1 << 22
"""Stored events; the oldest are overwritten, long after their window."""
_LIVE = 1 << 16  # runs of one key at a time


@kernel()
def takes_event(takes, price, last, total, count):  # type: ignore[no-untyped-def]
    """True if a run that has taken `count` prices, `total` in sum and `last` the last, takes this one."""
    if takes == 2:
        return price > last
    if takes == 3:
        return price * count > total
    return True


@kernel()
def _read_back(node, event, before, path):  # type: ignore[no-untyped-def]
    """The events of a closure into `path`, the latest first; how many."""
    length = 0
    while node >= 0:
        path[length] = event[node & (NODES - 1)]
        length += 1
        node = before[node & (NODES - 1)]
    return length


@kernel()
def runs_apart(symbol, price, volume, contiguous, takes, within, construct):  # type: ignore[no-untyped-def]
    """(matches, hash, steps): a step is one event asked of one run. Arrays: int64 [n]; symbols are small numbers."""
    keys = symbol.max() + 1
    event, before = np.empty(NODES, np.int64), np.empty(NODES, np.int64)
    start, node, last = (
        np.empty((keys, _LIVE), np.int64),
        np.empty((keys, _LIVE), np.int64),
        np.empty((keys, _LIVE), np.int64),
    )
    total, count, live = np.empty((keys, _LIVE), np.int64), np.empty((keys, _LIVE), np.int64), np.zeros(keys, np.int64)
    path = np.empty(within + 1, np.int64)
    matches, mixed, steps, made = 0, np.uint64(0), 0, 0
    for e in range(len(symbol)):
        key, kept = symbol[e], 0
        ends = volume[e] < 150
        for r in range(live[key]):
            if start[key, r] < e - within:
                continue
            steps += 1
            if ends:
                matches += 1
                if construct:
                    length = _read_back(node[key, r], event, before, path)
                    mixed += of_closure_and_end(path, length, e)
            taken = takes_event(takes, price[e], last[key, r], total[key, r], count[key, r])
            if not taken and contiguous:
                continue
            start[key, kept], node[key, kept], last[key, kept] = start[key, r], node[key, r], last[key, r]
            total[key, kept], count[key, kept] = total[key, r], count[key, r]
            if taken:
                event[made & (NODES - 1)], before[made & (NODES - 1)] = e, node[key, r]
                node[key, kept], last[key, kept] = made, price[e]
                total[key, kept] += price[e]
                count[key, kept] += 1
                made += 1
            kept += 1
        if price[e] % 500 == 0:
            event[made & (NODES - 1)], before[made & (NODES - 1)] = e, -1
            start[key, kept], node[key, kept], last[key, kept], total[key, kept], count[key, kept] = (
                e,
                made,
                price[e],
                price[e],
                1,
            )
            made += 1
            kept += 1
        live[key] = kept
    return matches, mixed, steps


@kernel()
def one_run_at_a_time(symbol, price, volume, contiguous, takes, within, construct):  # type: ignore[no-untyped-def]
    """(matches, hash, steps), as `runs_apart`."""
    event, before = np.empty(NODES, np.int64), np.empty(NODES, np.int64)
    path = np.empty(within + 1, np.int64)
    postponed = np.empty((_LIVE, 5), np.int64)
    matches, mixed, steps, made = 0, np.uint64(0), 0, 0
    for key in range(symbol.max() + 1):
        own = np.flatnonzero(symbol == key)
        for s in range(len(own)):
            first = own[s]
            if price[first] % 500 != 0:
                continue
            event[made & (NODES - 1)], before[made & (NODES - 1)] = first, -1
            postponed[0, 0], postponed[0, 1], postponed[0, 2], postponed[0, 3], postponed[0, 4] = (
                s,
                made,
                price[first],
                price[first],
                1,
            )
            made += 1
            waiting = 1
            while waiting:
                waiting -= 1
                at, node, last, total, count = postponed[waiting]
                at += 1
                while at < len(own) and own[at] - first <= within:
                    e = own[at]
                    steps += 1
                    ends = volume[e] < 150
                    taken = takes_event(takes, price[e], last, total, count)
                    end = node
                    if taken:
                        event[made & (NODES - 1)], before[made & (NODES - 1)] = e, node
                        node, last, total, count = made, price[e], total + price[e], count + 1
                        made += 1
                    stays = taken or not contiguous
                    if ends:
                        # The run that leaves is followed to its end, at once; the one that stays is postponed.
                        if stays:
                            postponed[waiting, 0], postponed[waiting, 1], postponed[waiting, 2] = at, node, last
                            postponed[waiting, 3], postponed[waiting, 4] = total, count
                            waiting += 1
                        matches += 1
                        if construct:
                            length = _read_back(end, event, before, path)
                            mixed += of_closure_and_end(path, length, e)
                        break
                    if not stays:
                        break
                    at += 1
    return matches, mixed, steps
