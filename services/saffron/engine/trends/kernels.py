"""The loops of every trend query: GRETA's algorithm 2 over flat arrays, with windows shared (T3, T5, T6).

They are compiled once, for all queries: what a query's text decides comes as arrays (`layout.Wiring`) and as one
function, `select`, which is called through a pointer. This file holds plain functions, so that the random tests can run
it as Python; `source.core` compiles its text.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.layout import (
    AFTER_GROUP,
    AFTER_LAST,
    AFTER_LISTS,
    AFTER_TIME,
    ARENA,
    CONDITION,
    E_COUNT,
    E_FIRST,
    E_GROUP,
    E_NEXT,
    E_SCALE,
    E_TIME,
    ENTERING,
    ENTERING_SIZE,
    ENTRIES,
    EXPIRED,
    FIRST_ROW,
    FREE,
    GROUP_LAST,
    GROUP_WIDTH,
    GROUPS,
    IN_EVENTS,
    IS_END,
    IS_START,
    KEY_WIDTH,
    KEYS,
    KHI,
    KLO,
    LARGEST,
    LIST,
    LIST_SIZE,
    M_LAST,
    M_SCALED,
    M_TIME,
    NEED,
    NEED_ARENA,
    NEED_ENTRIES,
    NEED_GROUPS,
    NEED_KEYS,
    NEED_NOTHING,
    NEED_OUT,
    NEED_WINDOWS,
    NO_WINDOW,
    O_COUNT,
    O_FIRST,
    O_LOW,
    O_POSITION,
    O_SCALE,
    O_SEQ,
    O_TIME,
    O_WORDS,
    ON_OPEN,
    OPENED,
    OUT,
    OWNED,
    RESULTS,
    ROOM,
    S_ENTRIES,
    S_FIRST,
    S_LAST,
    S_LOW,
    S_SEQ,
    SIZE,
    SLIDE,
    SOURCE,
    STARTS,
    STRICT,
    TOTAL,
    TOUCHED,
    USED,
    Batch,
    Ints,
    Select,
    Smalls,
    Store,
    Wiring,
)

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def add(n: int, e: int, m: int, f: int) -> tuple[int, int]:
    """The sum of two counts (see `wide`), rounded half up once it is scaled."""
    if e < f:
        n, e, m, f = m, f, n, e
    behind = e - f
    if behind > 62:
        return n, e
    if behind > 0:
        m = (m >> behind) + ((m >> (behind - 1)) & 1)
    if n > LARGEST - m:
        return (n >> 1) + (m >> 1) + (((n & 1) + (m & 1) + 1) >> 1), e + 1
    return n + m, e


def find(table: Smalls, rows: Ints, width: int, hashed: int, words: Ints, i: int) -> Any:
    """The row that holds the words of event i, or -1 - the place in the table where it is to go."""
    last = len(table) - 1
    place = hashed & last
    while table[place] != 0:
        row = table[place] - 1
        if rows[row, 0] == hashed:
            same = True
            for a in range(width):
                if rows[row, 1 + a] != words[a, i]:
                    same = False
            if same:
                return row
        place = (place + 1) & last
    return -1 - place


def close(k: int, position: int, wiring: Wiring, store: Store) -> bool:
    """Write the results of window k and free its entries; False when `out` lacks the room."""
    head = store.head
    slots = store.slots
    slot = k % len(slots)
    if head[OUT] + slots[slot, S_ENTRIES] > len(store.out):
        head[NEED] = NEED_OUT
        head[ROOM] = slots[slot, S_ENTRIES]
        return False
    low = k * wiring.params[SLIDE]
    seq = -1
    if wiring.params[ON_OPEN]:
        low = slots[slot, S_LOW]
        seq = slots[slot, S_SEQ]
    if wiring.params[IN_EVENTS]:
        position = min(position, low + wiring.params[SIZE])
    entry = slots[slot, S_FIRST]
    while entry >= 0:
        if store.entries[entry, E_COUNT] > 0:
            emit(entry, position, low, seq, wiring, store)
        following = store.entries[entry, E_NEXT]
        store.entries[entry, E_NEXT] = head[FREE]
        head[FREE] = entry
        entry = following
    slots[slot, S_FIRST] = -1
    slots[slot, S_LAST] = -1
    slots[slot, S_ENTRIES] = 0
    return True


def emit(entry: int, position: int, low: int, seq: int, wiring: Wiring, store: Store) -> None:
    """One result: a group's count in a window that closes."""
    row = store.head[OUT]
    out = store.out
    out[row, O_POSITION] = position
    out[row, O_LOW] = low
    out[row, O_FIRST] = store.entries[entry, E_FIRST]
    out[row, O_TIME] = store.entries[entry, E_TIME]
    out[row, O_COUNT] = store.entries[entry, E_COUNT]
    out[row, O_SCALE] = store.entries[entry, E_SCALE]
    out[row, O_SEQ] = seq
    group = store.entries[entry, E_GROUP]
    for a in range(wiring.params[GROUP_WIDTH]):
        out[row, O_WORDS + a] = store.groups[group, 1 + a]
    store.head[OUT] = row + 1
    store.head[RESULTS] += 1


def close_until(point: int, position: int, wiring: Wiring, store: Store) -> bool:
    """Close every window that ends at or before `point` (a time, or a position); its results stand at `position`."""
    head = store.head
    size = wiring.params[SIZE]
    if wiring.params[ON_OPEN]:
        while head[KLO] < head[OPENED] and store.slots[head[KLO] % len(store.slots), S_LOW] + size <= point:
            if not close(head[KLO], position, wiring, store):
                return False
            head[KLO] += 1
        return True
    if (head[KLO] * wiring.params[SLIDE] + size if head[KLO] > NO_WINDOW else NO_WINDOW) > point:
        return True
    target = (point - size) // wiring.params[SLIDE] + 1
    while head[KLO] < target:
        if head[KLO] > head[KHI]:
            head[KLO] = target
        else:
            if not close(head[KLO], position, wiring, store):
                return False
            head[KLO] += 1
    return True


def open_window(low: int, seq: int, store: Store) -> bool:
    """OPEN ON: the next window begins at this event; False when all slots are taken."""
    head = store.head
    windows = len(store.slots)
    if head[OPENED] > head[KLO] and store.slots[(head[OPENED] - 1) % windows, S_SEQ] == seq:
        return True  # opened before the kernel stopped at this event for want of room
    if head[OPENED] - head[KLO] >= windows:
        head[NEED] = NEED_WINDOWS
        return False
    slot = head[OPENED] % windows
    store.slots[slot, S_LOW] = low
    store.slots[slot, S_SEQ] = seq
    head[OPENED] += 1
    return True


def add_group(place: int, i: int, wiring: Wiring, store: Store, batch: Batch) -> Any:
    """A row for a new group (its first window is yet to come)."""
    row = store.head[GROUPS]
    width = wiring.params[GROUP_WIDTH]
    store.group_table[place] = row + 1
    store.groups[row, 0] = batch.group_hashes[i]
    for a in range(width):
        store.groups[row, 1 + a] = batch.group_words[a, i]
    store.groups[row, 1 + width + GROUP_LAST] = NO_WINDOW
    store.head[GROUPS] = row + 1
    return row


def add_key(place: int, i: int, wiring: Wiring, store: Store, batch: Batch) -> Any:
    """A row for a new key, or -1 when there is no room for it or its group."""
    head = store.head
    if head[KEYS] >= len(store.keys):
        head[NEED] = NEED_KEYS
        return -1
    group = find(
        store.group_table, store.groups, wiring.params[GROUP_WIDTH], batch.group_hashes[i], batch.group_words, i
    )
    if group < 0:
        if head[GROUPS] >= len(store.groups):
            head[NEED] = NEED_GROUPS
            return -1
        group = add_group(-1 - group, i, wiring, store, batch)
    row = head[KEYS]
    width = wiring.params[KEY_WIDTH]
    store.table[place] = row + 1
    store.keys[row, 0] = batch.hashes[i]
    for a in range(width):
        store.keys[row, 1 + a] = batch.words[a, i]
    after = 1 + width
    for field in range(after, store.keys.shape[1]):
        store.keys[row, field] = 0
    store.keys[row, after + AFTER_GROUP] = group
    store.keys[row, after + AFTER_LAST] = NO_WINDOW
    head[KEYS] = row + 1
    return row


def renew(row: int, klo: int, khi: int, ts: int, wiring: Wiring, store: Store) -> None:
    """Zero the key's totals of windows that it has not touched yet; if strict, let earlier pending totals count."""
    after = 1 + wiring.params[KEY_WIDTH]
    windows = len(store.slots)
    totals = store.totals
    scales = store.scales
    fresh = max(klo, store.keys[row, after + AFTER_LAST] + 1)
    if khi >= fresh:
        store.keys[row, after + AFTER_LAST] = khi
        slot = fresh % windows
        for _ in range(khi - fresh + 1):
            for t in range(totals.shape[1]):
                totals[row, t, slot] = 0
                scales[row, t, slot] = 0
            slot = slot + 1 if slot + 1 < windows else 0
    if not wiring.params[STRICT] or store.keys[row, after + AFTER_TIME] == ts:
        return
    store.keys[row, after + AFTER_TIME] = ts
    half = totals.shape[1] // 2
    for t in range(half):
        late = half + t
        slot = klo % windows
        for _ in range(fresh - klo):
            n, e = add(totals[row, t, slot], scales[row, t, slot], totals[row, late, slot], scales[row, late, slot])
            totals[row, t, slot] = n
            scales[row, t, slot] = e
            totals[row, late, slot] = 0
            scales[row, late, slot] = 0
            slot = slot + 1 if slot + 1 < windows else 0


def scan(
    row: int, t: int, s: int, i: int, klo: int, select: Select, wiring: Wiring, store: Store, batch: Batch
) -> None:
    """Add the counts of the vertices that a conditional transition lets event i follow (T6)."""
    windows = len(store.slots)
    base = 1 + wiring.params[KEY_WIDTH] + AFTER_LISTS + LIST_SIZE * wiring.states[wiring.transitions[t, SOURCE], LIST]
    first = store.keys[row, base + FIRST_ROW]
    stop = first + store.keys[row, base + USED]
    begin = first + store.keys[row, base + EXPIRED]
    while begin < stop and store.marks[begin, M_LAST] < klo:
        begin += 1
    store.keys[row, base + EXPIRED] = begin - first
    if wiring.params[STRICT]:
        while stop > begin and store.marks[stop - 1, M_TIME] >= batch.ts[i]:
            stop -= 1
    condition = wiring.transitions[t, CONDITION]
    if stop <= begin:
        return
    select(condition, begin, stop, i, store.values, batch.attributes, batch.ranks, store.chosen)
    first_slot = klo % windows
    sums = store.sums
    scales = store.sum_scales
    for v in range(begin, stop):
        if not store.chosen[v]:
            continue
        slot = first_slot
        plain = store.marks[v, M_SCALED] == 0
        for _ in range(store.marks[v, M_LAST] - klo + 1):
            n = store.counts[v, slot]
            if plain and scales[s, slot] == 0 and sums[s, slot] <= LARGEST - n:
                sums[s, slot] += n
            else:
                n, e = add(sums[s, slot], scales[s, slot], n, store.count_scales[v, slot])
                sums[s, slot] = n
                scales[s, slot] = e
            slot = slot + 1 if slot + 1 < windows else 0


def gather(
    row: int, s: int, i: int, klo: int, khi: int, select: Select, wiring: Wiring, store: Store, batch: Batch
) -> bool:
    """The counts of event i as a vertex of state s, one a window, into `sums`; False when all are zero."""
    windows = len(store.slots)
    sums = store.sums
    scales = store.sum_scales
    start = wiring.states[s, IS_START]
    first_slot = klo % windows
    slot = first_slot
    for _ in range(khi - klo + 1):
        sums[s, slot] = start
        scales[s, slot] = 0
        slot = slot + 1 if slot + 1 < windows else 0
    first = wiring.states[s, ENTERING]
    for t in range(first, first + wiring.states[s, ENTERING_SIZE]):
        if wiring.transitions[t, CONDITION] >= 0:
            scan(row, t, s, i, klo, select, wiring, store, batch)
            continue
        total = wiring.states[wiring.transitions[t, SOURCE], TOTAL]
        slot = first_slot
        for _ in range(khi - klo + 1):
            n, e = add(sums[s, slot], scales[s, slot], store.totals[row, total, slot], store.scales[row, total, slot])
            sums[s, slot] = n
            scales[s, slot] = e
            slot = slot + 1 if slot + 1 < windows else 0
    if start != 0:
        return True
    slot = first_slot
    for _ in range(khi - klo + 1):
        if sums[s, slot] > 0:
            return True
        slot = slot + 1 if slot + 1 < windows else 0
    return False


def make_room(row: int, states: int, klo: int, wiring: Wiring, store: Store) -> bool:
    """One free row at the end of the key's list for each of the states; False when the arena is full."""
    head = store.head
    for s in range(len(wiring.states)):
        if (states >> s) & 1 and wiring.states[s, LIST] >= 0:
            base = 1 + wiring.params[KEY_WIDTH] + AFTER_LISTS + LIST_SIZE * wiring.states[s, LIST]
            if store.keys[row, base + USED] == store.keys[row, base + OWNED] and not lengthen(row, base, klo, store):
                head[NEED] = NEED_ARENA
                head[ROOM] = 2 * store.keys[row, base + OWNED] + 4
                return False
    return True


def lengthen(row: int, base: int, klo: int, store: Store) -> bool:
    """Free rows of a full list: drop the expired ones if they are half of it, else move it to twice the room."""
    keys = store.keys
    first = keys[row, base + FIRST_ROW]
    used = keys[row, base + USED]
    expired = keys[row, base + EXPIRED]
    while expired < used and store.marks[first + expired, M_LAST] < klo:
        expired += 1
    keys[row, base + EXPIRED] = expired
    target = first
    if 2 * expired < used or used == 0:
        owned = max(4, 2 * used)
        target = store.head[ARENA]
        if target + owned > len(store.marks):
            return False
        store.head[ARENA] = target + owned
        keys[row, base + OWNED] = owned
    for j in range(used - expired):
        move(first + expired + j, target + j, store)
    keys[row, base + FIRST_ROW] = target
    keys[row, base + EXPIRED] = 0
    keys[row, base + USED] = used - expired
    return True


def move(source: int, target: int, store: Store) -> None:
    """Copy a vertex to another row of the arena."""
    for field in range(store.marks.shape[1]):
        store.marks[target, field] = store.marks[source, field]
    for c in range(len(store.values)):
        store.values[c, target] = store.values[c, source]
    for slot in range(store.counts.shape[1]):
        store.counts[target, slot] = store.counts[source, slot]
        store.count_scales[target, slot] = store.count_scales[source, slot]


def append(row: int, s: int, i: int, klo: int, khi: int, wiring: Wiring, store: Store, batch: Batch) -> None:
    """Store event i as a vertex of state s at the end of its key's list."""
    base = 1 + wiring.params[KEY_WIDTH] + AFTER_LISTS + LIST_SIZE * wiring.states[s, LIST]
    v = store.keys[row, base + FIRST_ROW] + store.keys[row, base + USED]
    store.keys[row, base + USED] += 1
    windows = len(store.slots)
    scaled = 0
    slot = klo % windows
    for _ in range(khi - klo + 1):
        store.counts[v, slot] = store.sums[s, slot]
        store.count_scales[v, slot] = store.sum_scales[s, slot]
        if store.sum_scales[s, slot] > 0:
            scaled = 1
        slot = slot + 1 if slot + 1 < windows else 0
    store.marks[v, M_TIME] = batch.ts[i]
    store.marks[v, M_LAST] = khi
    store.marks[v, M_SCALED] = scaled
    for c in range(len(store.values)):
        store.values[c, v] = batch.attributes[c, i]


def accumulate(row: int, s: int, klo: int, khi: int, wiring: Wiring, store: Store) -> None:
    """Add the event's counts to the key's prefix totals of state s (to the pending ones under TIME STRICT)."""
    windows = len(store.slots)
    total = wiring.states[s, TOTAL]
    if wiring.params[STRICT]:
        total += store.totals.shape[1] // 2
    totals = store.totals
    scales = store.scales
    slot = klo % windows
    for _ in range(khi - klo + 1):
        n, e = add(totals[row, total, slot], scales[row, total, slot], store.sums[s, slot], store.sum_scales[s, slot])
        totals[row, total, slot] = n
        scales[row, total, slot] = e
        slot = slot + 1 if slot + 1 < windows else 0


def enter(group: int, i: int, klo: int, khi: int, wiring: Wiring, store: Store, batch: Batch) -> None:
    """See that the group has an entry in every window of a start vertex: it is where all its trends begin."""
    head = store.head
    windows = len(store.slots)
    last = 1 + wiring.params[GROUP_WIDTH] + GROUP_LAST
    for k in range(max(klo, store.groups[group, last] + 1), khi + 1):
        slot = k % windows
        entry = head[FREE]
        if entry >= 0:
            head[FREE] = store.entries[entry, E_NEXT]
        else:
            entry = head[ENTRIES]
            head[ENTRIES] = entry + 1
        store.entries[entry, E_GROUP] = group
        store.entries[entry, E_FIRST] = batch.seq[i]
        store.entries[entry, E_TIME] = 0
        store.entries[entry, E_COUNT] = 0
        store.entries[entry, E_SCALE] = 0
        store.entries[entry, E_NEXT] = -1
        store.where[group, slot] = entry
        previous = store.slots[slot, S_LAST]
        if previous >= 0:
            store.entries[previous, E_NEXT] = entry
        else:
            store.slots[slot, S_FIRST] = entry
        store.slots[slot, S_LAST] = entry
        store.slots[slot, S_ENTRIES] += 1
    store.groups[group, last] = max(store.groups[group, last], khi)
    head[KHI] = max(head[KHI], khi)


def finish(group: int, s: int, i: int, klo: int, khi: int, store: Store, batch: Batch) -> None:
    """Add the counts of an end vertex to its group's final counts."""
    windows = len(store.slots)
    entries = store.entries
    slot = klo % windows
    for _ in range(khi - klo + 1):
        if store.sums[s, slot] > 0:
            entry = store.where[group, slot]
            n, e = add(entries[entry, E_COUNT], entries[entry, E_SCALE], store.sums[s, slot], store.sum_scales[s, slot])
            entries[entry, E_COUNT] = n
            entries[entry, E_SCALE] = e
            entries[entry, E_TIME] = max(entries[entry, E_TIME], batch.time[i])
        slot = slot + 1 if slot + 1 < windows else 0


def take(i: int, states: int, khi: int, select: Select, wiring: Wiring, store: Store, batch: Batch) -> bool:
    """Make event i a vertex of the states whose predecessors it has; False when some array lacks room (`NEED`)."""
    head = store.head
    klo = head[KLO]
    starting = states & wiring.params[STARTS]
    row = find(store.table, store.keys, wiring.params[KEY_WIDTH], batch.hashes[i], batch.words, i)
    if row < 0:
        if starting == 0:
            return True
        row = add_key(-1 - row, i, wiring, store, batch)
        if row < 0:
            return False
    if starting == 0 and store.keys[row, 1 + wiring.params[KEY_WIDTH] + AFTER_LAST] < klo:
        return True  # nothing of this key is in an open window
    if starting != 0 and head[ENTRIES] + khi - klo + 1 > len(store.entries):
        head[NEED] = NEED_ENTRIES
        return False
    if not make_room(row, states, klo, wiring, store):
        return False
    renew(row, klo, khi, batch.ts[i], wiring, store)
    found = 0
    for s in range(len(wiring.states)):
        if (states >> s) & 1 and gather(row, s, i, klo, khi, select, wiring, store, batch):
            found |= 1 << s
    if found == 0:
        return True
    group = store.keys[row, 1 + wiring.params[KEY_WIDTH] + AFTER_GROUP]
    if starting != 0:
        enter(group, i, klo, khi, wiring, store, batch)
    for s in range(len(wiring.states)):
        if (found >> s) & 1:
            if wiring.states[s, TOTAL] >= 0:
                accumulate(row, s, klo, khi, wiring, store)
            if wiring.states[s, LIST] >= 0:
                append(row, s, i, klo, khi, wiring, store, batch)
            if wiring.states[s, IS_END]:
                finish(group, s, i, klo, khi, store, batch)
    head[TOUCHED] += 1
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
        if batch.opens[i] and not open_window(point, batch.seq[i], store):
            return i
        states = batch.states[i]
        if states == 0:
            continue
        khi = head[OPENED] - 1 if params[ON_OPEN] else point // params[SLIDE]
        if khi >= head[KLO] and not take(i, states, khi, select, wiring, store, batch):
            return i
    return stop


def rehash(table: Smalls, rows: Ints, number: int) -> None:
    """Enter the first `number` rows into an empty hash table."""
    last = len(table) - 1
    for row in range(number):
        place = rows[row, 0] & last
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = row + 1
