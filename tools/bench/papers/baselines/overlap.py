"""Query p3* of SASE+: one match of those that overlap.

SEQ(Stock+ a[], Stock b, Stock c), skip-till-next-match, with a above its average so far, b.volume < 150, c.price >
a[1].price and c.price < a[last].price, OUTPUT NON-OVERLAP.

The match that ends first wins (then the one that began first, then the smaller sequence numbers) and its key starts
afresh. `side_by_side` is the basic algorithm, which stops all runs of a key at its first match. `one_by_one` is
backtrack, which follows one run to its end before it knows whether another ends earlier. Time is the position.
"""

from __future__ import annotations

import numpy as np
from bench.papers.baselines.mixing import END, empty, finished, mix
from bench.papers.baselines.stock import takes_event

from saffron.engine.kernels.jit import kernel

NODES = 1 << 22
_RUNS = 1 << 16  # of one key at a time
START, NODE, LAST, TOTAL, COUNT, LEFT, AT, FIELDS = range(8)
"""Fields of a run: first event, last stored one, last price, sum, number, b (-1: still in a), position."""


@kernel()
def _sequence(run, c, event, before, path):  # type: ignore[no-untyped-def]
    """All events of a match into `path`; how many."""
    length, node = run[COUNT], run[NODE]
    for k in range(length - 1, -1, -1):
        path[k] = event[node & (NODES - 1)]
        node = before[node & (NODES - 1)]
    path[length], path[length + 1] = run[LEFT], c
    return length + 2


@kernel()
def _keep_smaller(run, c, event, before, path, best, length):  # type: ignore[no-untyped-def]
    """Put a match into `best` (of `length` events, 0: none) where its sequence numbers are smaller; the new length."""
    size = _sequence(run, c, event, before, path)
    smaller = length == 0
    for k in range(min(size, length)):
        if path[k] != best[k]:
            smaller = path[k] < best[k]
            break
    if smaller:
        best[:size] = path[:size]
        return size
    return length


@kernel()
def _mixed(best, length):  # type: ignore[no-untyped-def]
    value = empty()
    for k in range(length):
        if k >= length - 2:
            value = mix(value, END)
        value = mix(value, best[k])
    return finished(mix(value, END))


@kernel()
def _begun(run, e, price, event, before, made):  # type: ignore[no-untyped-def]
    """A run that has taken its first event."""
    event[made & (NODES - 1)], before[made & (NODES - 1)] = e, -1
    run[START], run[NODE], run[LAST], run[TOTAL], run[COUNT], run[LEFT] = e, made, price[e], price[e], 1, -1
    return made + 1


@kernel()
def _extended(run, e, price, event, before, made):  # type: ignore[no-untyped-def]
    """Let a run take the event, if its price is above the average."""
    if not takes_event(3, price[e], run[LAST], run[TOTAL], run[COUNT]):
        return made
    event[made & (NODES - 1)], before[made & (NODES - 1)] = e, run[NODE]
    run[NODE], run[LAST] = made, price[e]
    run[TOTAL] += price[e]
    run[COUNT] += 1
    return made + 1


@kernel()
def _completes(run, e, price):  # type: ignore[no-untyped-def]
    return price[e] > price[run[START]] and price[e] < run[LAST]


@kernel()
def side_by_side(symbol, price, volume, within):  # type: ignore[no-untyped-def]
    """(matches, hash, steps): a step is one event asked of one run."""
    keys = symbol.max() + 1
    event, before = np.empty(NODES, np.int64), np.empty(NODES, np.int64)
    runs, live = np.zeros((keys, _RUNS, FIELDS), np.int64), np.zeros(keys, np.int64)
    more = np.zeros((_RUNS, FIELDS), np.int64)
    path, best = np.empty(within + 3, np.int64), np.empty(within + 3, np.int64)
    matches, mixed, steps, made = 0, np.uint64(0), 0, 0
    for e in range(len(symbol)):
        key = symbol[e]
        own, kept, split, length = runs[key], 0, 0, 0
        for r in range(live[key]):
            run = own[r]
            if run[START] < e - within:
                continue
            steps += 1
            if run[LEFT] >= 0:
                if _completes(run, e, price):
                    length = _keep_smaller(run, e, event, before, path, best, length)
            else:
                if volume[e] < 150:
                    more[split] = run
                    more[split, LEFT] = e
                    split += 1
                made = _extended(run, e, price, event, before, made)
            own[kept] = run
            kept += 1
        if length:
            matches += 1
            mixed += _mixed(best, length)
            kept = 0
        else:
            own[kept : kept + split] = more[:split]
            kept += split
            if price[e] % 500 == 0:
                made = _begun(own[kept], e, price, event, before, made)
                kept += 1
        live[key] = kept
    return matches, mixed, steps


@kernel()
def _followed(run, own, price, volume, last, within, event, before, made, postponed, waiting):  # type: ignore[no-untyped-def]
    """Follow one run to its match or its end; each split postpones the run that stays.

    (position of the match or -1, stored events, postponed runs, steps).
    """
    steps = 0
    while True:
        run[AT] += 1
        if run[AT] > last or own[run[AT]] - run[START] > within:
            return -1, made, waiting, steps
        e = own[run[AT]]
        steps += 1
        if run[LEFT] >= 0:
            if _completes(run, e, price):
                return run[AT], made, waiting, steps
            continue
        if volume[e] < 150:
            postponed[waiting] = run
            made = _extended(postponed[waiting], e, price, event, before, made)
            waiting += 1
            run[LEFT] = e
        else:
            made = _extended(run, e, price, event, before, made)


@kernel()
def one_by_one(symbol, price, volume, within):  # type: ignore[no-untyped-def]
    """(matches, hash, steps), as `side_by_side`."""
    event, before = np.empty(NODES, np.int64), np.empty(NODES, np.int64)
    postponed, run = np.zeros((_RUNS, FIELDS), np.int64), np.zeros(FIELDS, np.int64)
    path, best = np.empty(within + 3, np.int64), np.empty(within + 3, np.int64)
    matches, mixed, steps, made = 0, np.uint64(0), 0, 0
    for key in range(symbol.max() + 1):
        own = np.flatnonzero(symbol == key)
        s = 0
        while s < len(own):
            last, length = len(own) - 1, 0
            while s < len(own) and (length == 0 or s < last):
                if price[own[s]] % 500 == 0:
                    made = _begun(postponed[0], own[s], price, event, before, made)
                    postponed[0, AT] = s
                    waiting = 1
                    while waiting:
                        waiting -= 1
                        run[:] = postponed[waiting]
                        # A later start has to end earlier; the same start may tie, and then compares.
                        until = last if length == 0 or best[0] == run[START] else last - 1
                        at, made, waiting, more = _followed(
                            run, own, price, volume, until, within, event, before, made, postponed, waiting
                        )
                        steps += more
                        if at >= 0:
                            length = _keep_smaller(run, own[at], event, before, path, best, length if at == last else 0)
                            last = at
                s += 1
            if length:
                matches += 1
                mixed += _mixed(best, length)
                s = last + 1
    return matches, mixed, steps
