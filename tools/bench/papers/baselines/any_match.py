"""The template of SASE++, SEQ(A a, B+ b[], C c) under skip-till-any-match, every value asked for as events come.

`runs` without buffers is SASE+ (no postponing: each B doubles the runs that take it). With `buffered` it is ZStream's
way as SASE++ describes it: events wait at their state, and matching runs only once every state has one, that is, on a
C. Events that have left the window by then are never matched. Time is the position in the stream. A run knows its first
event, its last stored one, how many B it has and which of them has the greatest value.
"""

from __future__ import annotations

import numpy as np
from bench.papers.baselines.mixing import of_start_closure_and_end
from bench.papers.baselines.stock import NODES

from saffron.engine.kernels.jit import kernel

MOST = NODES >> 1
"""The most runs alive at a time."""
OTHER, A, B, C = range(4)


@kernel()
def _taken(e, kind, value, rising, within, runs, nodes, counts):  # type: ignore[no-untyped-def]
    """Let all runs see an A or a B. counts: live runs, stored nodes, steps. False where there is no room for them."""
    kept = 0
    for r in range(counts[0]):
        if runs[0, r] >= e - within:
            runs[:, kept] = runs[:, r]
            kept += 1
    counts[0] = kept
    if kind == A:
        if kept == MOST:
            return False
        nodes[0, counts[1] & (NODES - 1)], nodes[1, counts[1] & (NODES - 1)] = e, -1
        runs[0, kept], runs[1, kept], runs[2, kept], runs[3, kept] = e, counts[1], 0, e
        counts[0] += 1
        counts[1] += 1
        return True
    for r in range(kept):
        counts[2] += 1
        node = runs[1, r] & (NODES - 1)
        if not rising or runs[2, r] == 0 or value[e] > value[nodes[0, node]]:
            made = counts[0]
            if made == MOST:
                return False
            nodes[0, counts[1] & (NODES - 1)], nodes[1, counts[1] & (NODES - 1)] = e, runs[1, r]
            runs[0, made], runs[1, made], runs[2, made] = runs[0, r], counts[1], runs[2, r] + 1
            greater = runs[2, r] == 0 or value[e] > value[runs[3, r]]
            runs[3, made] = e if greater else runs[3, r]
            counts[0] += 1
            counts[1] += 1
    return True


@kernel()
def _ended(e, value, rising, within, runs, nodes, counts, path, construct):  # type: ignore[no-untyped-def]
    """(matches, hash) of the matches that a C completes."""
    matches, mixed = 0, np.uint64(0)
    for r in range(counts[0]):
        counts[2] += 1
        if runs[2, r] == 0 or runs[0, r] < e - within or (not rising and value[e] >= value[runs[3, r]]):
            continue
        matches += 1
        if construct:
            length, node = 0, runs[1, r]
            while node >= 0:
                path[length] = nodes[0, node & (NODES - 1)]
                length += 1
                node = nodes[1, node & (NODES - 1)]
            mixed += of_start_closure_and_end(path, length, e)
    return matches, mixed


@kernel()
def any_match(kinds, value, rising, within, buffered, construct, limit):  # type: ignore[no-untyped-def]
    """(matches, hash, steps, events seen, most runs alive). It stops early where runs or `limit` steps are too many.

    rising: b[i].value > b[i-1].value is asked (true-value consistent); else c.value < max(b[].value) (false-value).
    kinds: int64 [n], OTHER, A, B or C of those events that fit the query's conditions on one event; value: float64 [n].
    """
    runs, nodes, counts = np.empty((4, MOST), np.int64), np.empty((2, NODES), np.int64), np.zeros(3, np.int64)
    path, waiting = np.empty(within + 2, np.int64), np.empty(len(kinds), np.int64)
    matches, mixed, begin, stop, most = 0, np.uint64(0), 0, 0, 0
    for e in range(len(kinds)):
        if kinds[e] == A or kinds[e] == B:
            waiting[stop] = e
            stop += 1
        if not buffered or kinds[e] == C:
            while begin < stop:
                other = waiting[begin]
                begin += 1
                if other >= e - within and not _taken(other, kinds[other], value, rising, within, runs, nodes, counts):
                    return matches, mixed, counts[2], e, counts[0]
            most = max(most, counts[0])
        if kinds[e] == C:
            more, part = _ended(e, value, rising, within, runs, nodes, counts, path, construct)
            matches += more
            mixed += part
        if counts[2] > limit:
            return matches, mixed, counts[2], e, most
    return matches, mixed, counts[2], len(kinds), most
