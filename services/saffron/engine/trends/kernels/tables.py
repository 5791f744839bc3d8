"""Loops over keys and groups: lookup of an event's row, and new rows (T6, T7).

The hash table holds row + 1, and 0 where it is empty: new arrays are zeros. Column 0 of a row is its hash.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Batch, Ints, Smalls, Store, Wiring, between

# ---- template begins: what follows is compiled once for all queries (`source.core`)


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


def add_row(row: int, place: int, i: int, width: int, table: Smalls, rows: Ints, hashes: Ints, words: Ints) -> None:
    """Enter a key or group; fields behind its words are 0."""
    table[place] = row + 1
    rows[row, 0] = hashes[i]
    for a in range(width):
        rows[row, 1 + a] = words[a, i]
    for field in range(1 + width, rows.shape[1]):
        rows[row, field] = 0


def unmark(row: int, marks: Ints) -> None:
    """Clear the marks of a key: it has had no negative trend."""
    for g in range(marks.shape[1]):
        marks[row, g, layout.P_ORDER] = layout.NEVER
        marks[row, g, layout.P_WINDOW] = layout.NO_WINDOW
        marks[row, g, layout.P_NEW_ORDER] = layout.NEVER
        marks[row, g, layout.P_NEW_WINDOW] = layout.NO_WINDOW


def add_key(place: int, i: int, wiring: Wiring, store: Store, batch: Batch) -> Any:
    """A row for a new key, or -1 when there is no room for it or its group."""
    head, keys, groups = store.head, store.keys, store.groups
    width = wiring.params[layout.KEY_WIDTH]
    group_width = wiring.params[layout.GROUP_WIDTH]
    row = head[layout.KEYS]
    if row >= len(keys):
        head[layout.NEED] = layout.NEED_KEYS
        return -1
    group = find(store.group_table, groups, group_width, batch.group_hashes[i], batch.group_words, i)
    if group < 0:
        if head[layout.GROUPS] >= len(groups):
            head[layout.NEED] = layout.NEED_GROUPS
            return -1
        free = -1 - group
        group = head[layout.GROUPS]
        add_row(group, free, i, group_width, store.group_table, groups, batch.group_hashes, batch.group_words)
        groups[group, 1 + group_width + layout.GROUP_LAST] = layout.NO_WINDOW
        head[layout.GROUPS] = group + 1
    add_row(row, place, i, width, store.table, keys, batch.hashes, batch.words)
    keys[row, 1 + width + layout.AFTER_GROUP] = group
    keys[row, 1 + width + layout.AFTER_LAST] = layout.NO_WINDOW
    keys[row, 1 + width + layout.AFTER_SEEN] = -1
    unmark(row, store.absent)
    unmark(row, store.latest)
    head[layout.KEYS] = row + 1
    return row


def locate(i: int, opening: int, starting: int, khi: int, wiring: Wiring, store: Store, batch: Batch) -> Any:
    """The row of the key of event i; -1 when the event can be no vertex, -2 when some array lacks room (`NEED`).

    `opening`, `starting`: the states of the event at which a key, or a trend, may begin (bit s: state s).
    `khi`: number of the last window that holds the event.
    """
    head = store.head
    width = wiring.params[layout.KEY_WIDTH]
    row = find(store.table, store.keys, width, batch.hashes[i], batch.words, i)
    if row < 0:
        if opening == 0:
            return -1
        row = add_key(-1 - row, i, wiring, store, batch)
        if row < 0:
            return -2
    if opening == 0 and store.keys[row, 1 + width + layout.AFTER_LAST] < head[layout.KLO]:
        return -1  # nothing of this key is in an open window
    if starting != 0 and head[layout.ENTRIES] + khi - head[layout.KLO] + 1 > len(store.entries):
        head[layout.NEED] = layout.NEED_ENTRIES
        return -2
    return row


def renew(row: int, after: int, klo: int, khi: int, keys: Ints, store: Store) -> None:
    """Empty the key's totals in windows that it has not touched yet."""
    totals, scales, extremes = store.totals, store.total_scales, store.total_extremes
    fresh = max(klo, keys[row, after + layout.AFTER_LAST] + 1)
    if khi < fresh:
        return
    keys[row, after + layout.AFTER_LAST] = khi
    for slot in between(fresh, khi, totals.shape[3]):
        for t in range(totals.shape[1]):
            for a in range(totals.shape[2]):
                totals[row, t, a, slot] = 0
                scales[row, t, a, slot] = 0
            for b in range(extremes.shape[2]):
                extremes[row, t, b, slot] = layout.INFINITE
