"""The stock template again, equivalent runs merged (section 5.2.2 of SASE+, N7).

Runs of a key that agree in the values that later conditions read are one. For `takes` 1 they always agree. For 2 they
agree in the last price, from the first event that both take; for 3 in number and sum of their prices. A merged run has
the youngest start; those that have expired are left out when a match is read back.
"""

from __future__ import annotations

import numpy as np
from bench.papers.baselines.mixing import of_closure_and_end
from bench.papers.baselines.stock import NODES, takes_event

from saffron.engine.kernels.jit import kernel

_LIVE = 1 << 12  # runs of one key at a time


@kernel()
def _paths(node, oldest, buffer, path, stack):  # type: ignore[no-untyped-def]
    """(matches, hash) of all runs merged into one that are not older than `oldest`; path[0] is the closing event.

    buffer [3, NODES]: of each stored node its event, the node before it, and, at a join (event -1), the other one
    before it. Row 3 has the youngest start below the node.
    """
    matches, mixed, waiting = 0, np.uint64(0), 0
    end = path[0]
    length = 0
    while True:
        place = node & (NODES - 1)
        if buffer[0, place] < 0:  # a join: one side now, the other later
            other = buffer[2, place]
            if buffer[3, other & (NODES - 1)] >= oldest:
                stack[waiting, 0], stack[waiting, 1] = other, length
                waiting += 1
            node = buffer[1, place]
        else:
            path[length] = buffer[0, place]
            length += 1
            node = buffer[1, place]
            if node < 0:
                matches += 1
                mixed += of_closure_and_end(path, length, end)
        while node < 0 or buffer[3, node & (NODES - 1)] < oldest:
            if waiting == 0:
                return matches, mixed
            waiting -= 1
            node, length = stack[waiting]
    return matches, mixed


@kernel()
def _same(takes, last, total, count, one, other):  # type: ignore[no-untyped-def]
    """True if two runs agree in what their conditions read."""
    if takes == 2:
        return last[one] == last[other]
    if takes == 3:
        return total[one] == total[other] and count[one] == count[other]
    return True


@kernel()
def _stored(buffer, made, event, before, other, youngest):  # type: ignore[no-untyped-def]
    """The number of the next node."""
    place = made & (NODES - 1)
    buffer[0, place], buffer[1, place], buffer[2, place], buffer[3, place] = event, before, other, youngest
    return made + 1


@kernel()
def runs_merged(symbol, price, volume, contiguous, takes, within, construct):  # type: ignore[no-untyped-def]
    """(matches, hash, steps), as `stock.runs_apart`; not `construct`: of merged runs that end, each counts once."""
    keys = symbol.max() + 1
    buffer = np.empty((4, NODES), np.int64)
    start, node = np.empty((keys, _LIVE), np.int64), np.empty((keys, _LIVE), np.int64)
    last, total = np.empty((keys, _LIVE), np.int64), np.empty((keys, _LIVE), np.int64)
    count, live = np.empty((keys, _LIVE), np.int64), np.zeros(keys, np.int64)
    path, stack = np.empty(within + 2, np.int64), np.empty((_LIVE, 2), np.int64)
    matches, mixed, steps, made = 0, np.uint64(0), 0, 0
    for e in range(len(symbol)):
        key, kept = symbol[e], 0
        ends, begins = volume[e] < 150, price[e] % 500 == 0
        for r in range(live[key] + begins):
            if r == live[key]:
                begun = _stored(buffer, made, e, -1, -1, e) - 1
                made = begun + 1
                start[key, kept], node[key, kept], last[key, kept] = e, begun, price[e]
                total[key, kept], count[key, kept] = price[e], 1
            elif start[key, r] < e - within:
                continue
            else:
                steps += 1
                if ends and not construct:
                    matches += 1
                elif ends:
                    path[0] = e
                    more, value = _paths(node[key, r], e - within, buffer, path, stack)
                    matches += more
                    mixed += value
                taken = takes_event(takes, price[e], last[key, r], total[key, r], count[key, r])
                if not taken and contiguous:
                    continue
                start[key, kept], node[key, kept], last[key, kept] = start[key, r], node[key, r], last[key, r]
                total[key, kept], count[key, kept] = total[key, r], count[key, r]
                if taken:
                    made = _stored(buffer, made, e, node[key, r], -1, start[key, r])
                    node[key, kept], last[key, kept] = made - 1, price[e]
                    total[key, kept] += price[e]
                    count[key, kept] += 1
            for other in range(kept):
                if _same(takes, last[key], total[key], count[key], other, kept):
                    youngest = max(start[key, other], start[key, kept])
                    made = _stored(buffer, made, -1, node[key, other], node[key, kept], youngest)
                    start[key, other], node[key, other] = youngest, made - 1
                    kept -= 1
                    break
            kept += 1
        live[key] = kept
    return matches, mixed, steps
