"""Loops over keys, groups and windows: finding a key's row, closing windows, final counts (T5, T7).

The first half of what is compiled for all queries; see `kernels`.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.layout import (
    AFTER_GROUP,
    AFTER_LAST,
    E_COUNT,
    E_FIRST,
    E_GROUP,
    E_NEXT,
    E_SCALE,
    E_TIME,
    ENTRIES,
    FREE,
    GROUP_LAST,
    GROUP_WIDTH,
    GROUPS,
    IN_EVENTS,
    KEY_WIDTH,
    KEYS,
    KHI,
    KLO,
    LARGEST,
    NEED,
    NEED_ENTRIES,
    NEED_GROUPS,
    NEED_KEYS,
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
    RESULTS,
    ROOM,
    S_ENTRIES,
    S_FIRST,
    S_LAST,
    S_LOW,
    S_SEQ,
    SIZE,
    SLIDE,
    Batch,
    Ints,
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


def rehash(table: Smalls, rows: Ints, number: int) -> None:
    """Enter the first `number` rows into an empty hash table."""
    last = len(table) - 1
    for row in range(number):
        place = rows[row, 0] & last
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = row + 1


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
