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
    Flags,
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


def close(k: int, position: int, params: Ints, head: Ints, slots: Ints, entries: Ints, groups: Ints, out: Ints) -> bool:
    """Write the results of window k and free its entries; False when `out` lacks the room."""
    slot = k % len(slots)
    if head[OUT] + slots[slot, S_ENTRIES] > len(out):
        head[NEED] = NEED_OUT
        head[ROOM] = slots[slot, S_ENTRIES]
        return False
    low = k * params[SLIDE]
    seq = -1
    if params[ON_OPEN]:
        low = slots[slot, S_LOW]
        seq = slots[slot, S_SEQ]
    if params[IN_EVENTS]:
        position = min(position, low + params[SIZE])
    entry = slots[slot, S_FIRST]
    while entry >= 0:
        if entries[entry, E_COUNT] > 0:
            row = head[OUT]
            out[row, O_POSITION] = position
            out[row, O_LOW] = low
            out[row, O_FIRST] = entries[entry, E_FIRST]
            out[row, O_TIME] = entries[entry, E_TIME]
            out[row, O_COUNT] = entries[entry, E_COUNT]
            out[row, O_SCALE] = entries[entry, E_SCALE]
            out[row, O_SEQ] = seq
            for a in range(params[GROUP_WIDTH]):
                out[row, O_WORDS + a] = groups[entries[entry, E_GROUP], 1 + a]
            head[OUT] = row + 1
            head[RESULTS] += 1
        following = entries[entry, E_NEXT]
        entries[entry, E_NEXT] = head[FREE]
        head[FREE] = entry
        entry = following
    slots[slot, S_FIRST] = -1
    slots[slot, S_LAST] = -1
    slots[slot, S_ENTRIES] = 0
    return True


def close_until(point: int, position: int, wiring: Wiring, store: Store) -> bool:
    """Close every window that ends at or before `point` (a time, or a position); its results stand at `position`.

    False when `out` lacks the room for them (`NEED`): the windows closed so far stay closed.
    """
    head, slots, params = store.head, store.slots, wiring.params
    size, slide = params[SIZE], params[SLIDE]
    target = head[KLO]
    if params[ON_OPEN]:
        while target < head[OPENED] and slots[target % len(slots), S_LOW] + size <= point:
            target += 1
    elif head[KLO] == NO_WINDOW or head[KLO] * slide + size <= point:
        target = (point - size) // slide + 1
    while head[KLO] < target:
        if head[KLO] > head[KHI]:
            head[KLO] = target
        elif close(head[KLO], position, params, head, slots, store.entries, store.groups, store.out):
            head[KLO] += 1
        else:
            return False
    return True


def open_window(low: int, seq: int, head: Ints, slots: Ints) -> bool:
    """OPEN ON: the next window begins at this event; False when all slots are taken."""
    windows = len(slots)
    if head[OPENED] > head[KLO] and slots[(head[OPENED] - 1) % windows, S_SEQ] == seq:
        return True  # opened before the kernel stopped at this event for want of room
    if head[OPENED] - head[KLO] >= windows:
        head[NEED] = NEED_WINDOWS
        return False
    slot = head[OPENED] % windows
    slots[slot, S_LOW] = low
    slots[slot, S_SEQ] = seq
    head[OPENED] += 1
    return True


def add_row(row: int, place: int, i: int, width: int, table: Smalls, rows: Ints, hashes: Ints, words: Ints) -> None:
    """Enter a key or group; what stands behind its words is 0."""
    table[place] = row + 1
    rows[row, 0] = hashes[i]
    for a in range(width):
        rows[row, 1 + a] = words[a, i]
    for field in range(1 + width, rows.shape[1]):
        rows[row, field] = 0


def add_key(place: int, i: int, wiring: Wiring, store: Store, batch: Batch) -> Any:
    """A row for a new key, or -1 when there is no room for it or its group."""
    head, keys, groups = store.head, store.keys, store.groups
    width = wiring.params[KEY_WIDTH]
    group_width = wiring.params[GROUP_WIDTH]
    row = head[KEYS]
    if row >= len(keys):
        head[NEED] = NEED_KEYS
        return -1
    group = find(store.group_table, groups, group_width, batch.group_hashes[i], batch.group_words, i)
    if group < 0:
        if head[GROUPS] >= len(groups):
            head[NEED] = NEED_GROUPS
            return -1
        free = -1 - group
        group = head[GROUPS]
        add_row(group, free, i, group_width, store.group_table, groups, batch.group_hashes, batch.group_words)
        groups[group, 1 + group_width + GROUP_LAST] = NO_WINDOW
        head[GROUPS] = group + 1
    add_row(row, place, i, width, store.table, keys, batch.hashes, batch.words)
    keys[row, 1 + width + AFTER_GROUP] = group
    keys[row, 1 + width + AFTER_LAST] = NO_WINDOW
    head[KEYS] = row + 1
    return row


def renew(row: int, after: int, klo: int, khi: int, keys: Ints, totals: Ints, scales: Smalls) -> None:
    """Zero the key's totals of windows that it has not touched yet."""
    windows = totals.shape[2]
    fresh = max(klo, keys[row, after + AFTER_LAST] + 1)
    if khi < fresh:
        return
    keys[row, after + AFTER_LAST] = khi
    slot = fresh % windows
    for _ in range(khi - fresh + 1):
        for t in range(totals.shape[1]):
            totals[row, t, slot] = 0
            scales[row, t, slot] = 0
        slot = slot + 1 if slot + 1 < windows else 0


def settle(row: int, klo: int, khi: int, totals: Ints, scales: Smalls) -> None:
    """TIME STRICT: time has moved on, so the key's pending totals count."""
    windows = totals.shape[2]
    half = totals.shape[1] // 2
    for t in range(half):
        slot = klo % windows
        for _ in range(khi - klo + 1):
            n, e = add(
                totals[row, t, slot], scales[row, t, slot], totals[row, half + t, slot], scales[row, half + t, slot]
            )
            totals[row, t, slot] = n
            scales[row, t, slot] = e
            totals[row, half + t, slot] = 0
            scales[row, half + t, slot] = 0
            slot = slot + 1 if slot + 1 < windows else 0


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


def enter(
    group: int,
    seq: int,
    klo: int,
    khi: int,
    last: int,
    head: Ints,
    groups: Ints,
    where: Smalls,
    slots: Ints,
    entries: Ints,
) -> None:
    """See that the group has an entry in every window of a start vertex: it is where all its trends begin."""
    windows = len(slots)
    for k in range(max(klo, groups[group, last] + 1), khi + 1):
        slot = k % windows
        entry = head[FREE]
        if entry >= 0:
            head[FREE] = entries[entry, E_NEXT]
        else:
            entry = head[ENTRIES]
            head[ENTRIES] = entry + 1
        entries[entry, E_GROUP] = group
        entries[entry, E_FIRST] = seq
        entries[entry, E_TIME] = 0
        entries[entry, E_COUNT] = 0
        entries[entry, E_SCALE] = 0
        entries[entry, E_NEXT] = -1
        where[group, slot] = entry
        previous = slots[slot, S_LAST]
        if previous >= 0:
            entries[previous, E_NEXT] = entry
        else:
            slots[slot, S_FIRST] = entry
        slots[slot, S_LAST] = entry
        slots[slot, S_ENTRIES] += 1
    groups[group, last] = max(groups[group, last], khi)
    head[KHI] = max(head[KHI], khi)


def finish(
    group: int, s: int, time: int, klo: int, khi: int, where: Smalls, entries: Ints, sums: Ints, scales: Smalls
) -> None:
    """Add the counts of an end vertex to its group's final counts."""
    windows = where.shape[1]
    slot = klo % windows
    for _ in range(khi - klo + 1):
        if sums[s, slot] > 0:
            entry = where[group, slot]
            n, e = add(entries[entry, E_COUNT], entries[entry, E_SCALE], sums[s, slot], scales[s, slot])
            entries[entry, E_COUNT] = n
            entries[entry, E_SCALE] = e
            entries[entry, E_TIME] = max(entries[entry, E_TIME], time)
        slot = slot + 1 if slot + 1 < windows else 0


def locate(i: int, starting: int, khi: int, wiring: Wiring, store: Store, batch: Batch) -> Any:
    """The row of the event's key; -1 when the event can be no vertex, -2 when some array lacks room (`NEED`)."""
    head = store.head
    width = wiring.params[KEY_WIDTH]
    row = find(store.table, store.keys, width, batch.hashes[i], batch.words, i)
    if row < 0:
        if starting == 0:
            return -1
        row = add_key(-1 - row, i, wiring, store, batch)
        if row < 0:
            return -2
    if starting == 0 and store.keys[row, 1 + width + AFTER_LAST] < head[KLO]:
        return -1  # nothing of this key is in an open window
    if starting != 0 and head[ENTRIES] + khi - head[KLO] + 1 > len(store.entries):
        head[NEED] = NEED_ENTRIES
        return -2
    return row


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


def rehash(table: Smalls, rows: Ints, number: int) -> None:
    """Enter the first `number` rows into an empty hash table."""
    last = len(table) - 1
    for row in range(number):
        place = rows[row, 0] & last
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = row + 1
