"""The loops of every trend query: GRETA's algorithm 2 over flat arrays, with windows shared (T3, T5, T6).

With `kernels_tables` they are compiled once, for all queries: what a query's text decides comes as arrays
(`layout.Wiring`) and as one function, `select`, which is called through a pointer. Both files hold plain functions, so
that the random tests can run them as Python; `source.core` compiles their text.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.kernels_tables import add, close_until, enter, finish, locate, open_window, renew, settle
from saffron.engine.trends.layout import (
    AFTER_GROUP,
    AFTER_LISTS,
    AFTER_TIME,
    ARENA,
    CONDITION,
    ENTERING,
    ENTERING_SIZE,
    EXPIRED,
    FIRST_ROW,
    GROUP_LAST,
    GROUP_WIDTH,
    IN_EVENTS,
    IS_END,
    IS_START,
    KEY_WIDTH,
    KLO,
    LARGEST,
    LIST,
    LIST_SIZE,
    M_LAST,
    M_SCALED,
    M_TIME,
    NEED,
    NEED_ARENA,
    NEED_NOTHING,
    ON_OPEN,
    OPENED,
    OWNED,
    ROOM,
    SLIDE,
    SOURCE,
    STARTS,
    STRICT,
    TOTAL,
    TOUCHED,
    USED,
    Batch,
    Flags,
    Ints,
    Select,
    Smalls,
    Store,
    Wiring,
)

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def begin_of(row: int, base: int, klo: int, keys: Ints, marks: Ints) -> Any:
    """The first vertex of a list that is in an open window; those before it are marked expired."""
    first = keys[row, base + FIRST_ROW]
    stop = first + keys[row, base + USED]
    begin = first + keys[row, base + EXPIRED]
    while begin < stop and marks[begin, M_LAST] < klo:
        begin += 1
    keys[row, base + EXPIRED] = begin - first
    return begin


def gather_chosen(
    s: int,
    begin: int,
    stop: int,
    klo: int,
    chosen: Flags,
    marks: Ints,
    counts: Ints,
    count_scales: Smalls,
    sums: Ints,
    scales: Smalls,
) -> None:
    """Add the counts of the chosen vertices, in the windows that they share with the event being taken."""
    windows = counts.shape[1]
    first_slot = klo % windows
    for v in range(begin, stop):
        if not chosen[v]:
            continue
        slot = first_slot
        plain = marks[v, M_SCALED] == 0
        for _ in range(marks[v, M_LAST] - klo + 1):
            n = counts[v, slot]
            if plain and scales[s, slot] == 0 and sums[s, slot] <= LARGEST - n:
                sums[s, slot] += n
            else:
                n, e = add(sums[s, slot], scales[s, slot], n, count_scales[v, slot])
                sums[s, slot] = n
                scales[s, slot] = e
            slot = slot + 1 if slot + 1 < windows else 0


def gather_total(
    s: int, row: int, total: int, klo: int, khi: int, totals: Ints, total_scales: Smalls, sums: Ints, scales: Smalls
) -> None:
    """Add a prefix total of the key: what all vertices of one state count."""
    windows = totals.shape[2]
    slot = klo % windows
    for _ in range(khi - klo + 1):
        n, e = add(sums[s, slot], scales[s, slot], totals[row, total, slot], total_scales[row, total, slot])
        sums[s, slot] = n
        scales[s, slot] = e
        slot = slot + 1 if slot + 1 < windows else 0


def start_sums(s: int, start: int, klo: int, khi: int, sums: Ints, scales: Smalls) -> None:
    """The counts of an event before its predecessors are added: 1 in a start state, else 0."""
    windows = sums.shape[1]
    slot = klo % windows
    for _ in range(khi - klo + 1):
        sums[s, slot] = start
        scales[s, slot] = 0
        slot = slot + 1 if slot + 1 < windows else 0


def is_positive(s: int, klo: int, khi: int, sums: Ints) -> bool:
    """Whether any count of the event in state s is not 0."""
    windows = sums.shape[1]
    slot = klo % windows
    for _ in range(khi - klo + 1):
        if sums[s, slot] > 0:
            return True
        slot = slot + 1 if slot + 1 < windows else 0
    return False


def lengthen(row: int, base: int, klo: int, store: Store) -> bool:
    """Free rows of a full list: drop the expired ones if they are half of it, else move it to twice the room."""
    keys, marks, values = store.keys, store.marks, store.values
    begin = begin_of(row, base, klo, keys, marks)
    target = keys[row, base + FIRST_ROW]
    used = keys[row, base + USED]
    live = used - keys[row, base + EXPIRED]
    if used == 0 or 2 * live > used:
        owned = max(4, 2 * used)
        target = store.head[ARENA]
        if target + owned > len(marks):
            store.head[NEED] = NEED_ARENA
            store.head[ROOM] = owned
            return False
        store.head[ARENA] = target + owned
        keys[row, base + OWNED] = owned
    for j in range(live):
        for field in range(marks.shape[1]):
            marks[target + j, field] = marks[begin + j, field]
        for c in range(len(values)):
            values[c, target + j] = values[c, begin + j]
        for slot in range(store.counts.shape[1]):
            store.counts[target + j, slot] = store.counts[begin + j, slot]
            store.count_scales[target + j, slot] = store.count_scales[begin + j, slot]
    keys[row, base + FIRST_ROW] = target
    keys[row, base + EXPIRED] = 0
    keys[row, base + USED] = live
    return True


def append(
    v: int,
    s: int,
    klo: int,
    khi: int,
    ts: int,
    marks: Ints,
    counts: Ints,
    count_scales: Smalls,
    sums: Ints,
    scales: Smalls,
) -> None:
    """Store the event as a vertex of state s in row v."""
    windows = counts.shape[1]
    scaled = 0
    slot = klo % windows
    for _ in range(khi - klo + 1):
        counts[v, slot] = sums[s, slot]
        count_scales[v, slot] = scales[s, slot]
        if scales[s, slot] > 0:
            scaled = 1
        slot = slot + 1 if slot + 1 < windows else 0
    marks[v, M_TIME] = ts
    marks[v, M_LAST] = khi
    marks[v, M_SCALED] = scaled


def accumulate(
    row: int, total: int, s: int, klo: int, khi: int, totals: Ints, total_scales: Smalls, sums: Ints, scales: Smalls
) -> None:
    """Add the event's counts in state s to a prefix total of its key."""
    windows = totals.shape[2]
    slot = klo % windows
    for _ in range(khi - klo + 1):
        n, e = add(totals[row, total, slot], total_scales[row, total, slot], sums[s, slot], scales[s, slot])
        totals[row, total, slot] = n
        total_scales[row, total, slot] = e
        slot = slot + 1 if slot + 1 < windows else 0


def make_room(row: int, events: int, wiring: Wiring, store: Store) -> bool:
    """See that the key's lists of these states have a free row each; False when the arena is full (`NEED`)."""
    lists = 1 + wiring.params[KEY_WIDTH] + AFTER_LISTS
    for s in range(len(wiring.states)):
        base = lists + LIST_SIZE * wiring.states[s, LIST]
        listed = (events >> s) & 1 and wiring.states[s, LIST] >= 0
        full = listed and store.keys[row, base + USED] == store.keys[row, base + OWNED]
        if full and not lengthen(row, base, store.head[KLO], store):
            return False
    return True


def gather(row: int, s: int, i: int, khi: int, select: Select, wiring: Wiring, store: Store, batch: Batch) -> None:
    """The counts of event i as a vertex of state s, one a window, into `sums` (algorithm 2, theorem 4.3)."""
    states, transitions, keys, marks = wiring.states, wiring.transitions, store.keys, store.marks
    klo = store.head[KLO]
    start_sums(s, states[s, IS_START], klo, khi, store.sums, store.sum_scales)
    for t in range(states[s, ENTERING], states[s, ENTERING] + states[s, ENTERING_SIZE]):
        source = transitions[t, SOURCE]
        condition = transitions[t, CONDITION]
        if condition < 0:
            total = states[source, TOTAL]
            gather_total(s, row, total, klo, khi, store.totals, store.scales, store.sums, store.sum_scales)
            continue
        base = 1 + wiring.params[KEY_WIDTH] + AFTER_LISTS + LIST_SIZE * states[source, LIST]
        begin = begin_of(row, base, klo, keys, marks)
        stop = keys[row, base + FIRST_ROW] + keys[row, base + USED]
        if wiring.params[STRICT]:
            while stop > begin and marks[stop - 1, M_TIME] >= batch.ts[i]:
                stop -= 1
        if begin < stop:
            chosen = store.chosen
            select(condition, begin, stop, i, store.values, batch.attributes, batch.ranks, chosen)
            gather_chosen(
                s, begin, stop, klo, chosen, marks, store.counts, store.count_scales, store.sums, store.sum_scales
            )


def record(row: int, s: int, i: int, khi: int, wiring: Wiring, store: Store, batch: Batch) -> None:
    """Event i is a vertex of state s: its counts go where later events and the window's end look for them."""
    states, keys, sums, scales = wiring.states, store.keys, store.sums, store.sum_scales
    klo = store.head[KLO]
    after = 1 + wiring.params[KEY_WIDTH]
    if states[s, TOTAL] >= 0:
        pending = store.totals.shape[1] // 2 if wiring.params[STRICT] else 0
        accumulate(row, pending + states[s, TOTAL], s, klo, khi, store.totals, store.scales, sums, scales)
    if states[s, LIST] >= 0:
        base = after + AFTER_LISTS + LIST_SIZE * states[s, LIST]
        v = keys[row, base + FIRST_ROW] + keys[row, base + USED]
        keys[row, base + USED] += 1
        append(v, s, klo, khi, batch.ts[i], store.marks, store.counts, store.count_scales, sums, scales)
        for c in range(len(store.values)):
            store.values[c, v] = batch.attributes[c, i]
    if states[s, IS_END]:
        group = keys[row, after + AFTER_GROUP]
        finish(group, s, batch.time[i], klo, khi, store.where, store.entries, sums, scales)


def take(i: int, events: int, khi: int, select: Select, wiring: Wiring, store: Store, batch: Batch) -> bool:
    """Make event i a vertex of the states (bits of `events`) whose predecessors it has; False for want of room."""
    params, keys = wiring.params, store.keys
    klo = store.head[KLO]
    starting = events & params[STARTS]
    row = locate(i, starting, khi, wiring, store, batch)
    if row < 0:
        return bool(row == -1)
    if not make_room(row, events, wiring, store):
        return False
    after = 1 + params[KEY_WIDTH]
    renew(row, after, klo, khi, keys, store.totals, store.scales)
    if params[STRICT] and keys[row, after + AFTER_TIME] != batch.ts[i]:
        keys[row, after + AFTER_TIME] = batch.ts[i]
        settle(row, klo, khi, store.totals, store.scales)
    found = 0
    for s in range(len(wiring.states)):
        if (events >> s) & 1:
            gather(row, s, i, khi, select, wiring, store, batch)
            if wiring.states[s, IS_START] or is_positive(s, klo, khi, store.sums):
                found |= 1 << s
    if starting != 0:
        last = 1 + params[GROUP_WIDTH] + GROUP_LAST
        group = keys[row, after + AFTER_GROUP]
        enter(group, batch.seq[i], klo, khi, last, store.head, store.groups, store.where, store.slots, store.entries)
    for s in range(len(wiring.states)):
        if (found >> s) & 1:
            record(row, s, i, khi, wiring, store, batch)
    if found != 0:
        store.head[TOUCHED] += 1
    return True


def advance(begin: int, stop: int, select: Select, wiring: Wiring, store: Store, batch: Batch) -> int:
    """Apply events begin..stop-1. Returns the number of the first one not applied: `stop`, or less if `NEED` is set."""
    head = store.head
    params = wiring.params
    head[NEED] = NEED_NOTHING
    for i in range(begin, stop):
        point = batch.seq[i] if params[IN_EVENTS] else batch.ts[i]
        if not close_until(point, batch.seq[i], wiring, store):
            return i
        if batch.opens[i] and not open_window(point, batch.seq[i], head, store.slots):
            return i
        if batch.states[i] == 0:
            continue
        khi = head[OPENED] - 1 if params[ON_OPEN] else point // params[SLIDE]
        if khi >= head[KLO] and not take(i, batch.states[i], khi, select, wiring, store, batch):
            return i
    return stop
