"""Loops over windows and groups: opening and closing windows, final results (T5, T7).

Part of what is compiled once for all queries; see `kernels`.
"""

from __future__ import annotations

from saffron.engine.trends.core.layout import (
    E_FIRST,
    E_GROUP,
    E_NEXT,
    E_TIME,
    ENTRIES,
    FREE,
    GROUP_WIDTH,
    IN_EVENTS,
    INFINITE,
    KHI,
    KLO,
    LATE,
    LIVE,
    NEED,
    NEED_OUT,
    NEED_WINDOWS,
    NO_WINDOW,
    O_FIRST,
    O_LOW,
    O_POSITION,
    O_SEQ,
    O_TIME,
    O_WORDS,
    ON_OPEN,
    OPENED,
    OUT,
    PANED,
    ROOM,
    S_ENTRIES,
    S_FIRST,
    S_LAST,
    S_LOW,
    S_SEQ,
    SPAN,
    STEP,
    Ints,
    Store,
    Wiring,
    between,
)
from saffron.engine.trends.kernels.cells import enter_numbers
from saffron.engine.trends.kernels.final import finish_keys
from saffron.engine.trends.kernels.matrices import has_matrices
from saffron.engine.trends.kernels.panes import finish_panes, let_go
from saffron.engine.trends.kernels.trees import clear_window
from saffron.engine.trends.ordered.ordered import Index

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def write_entry(entry: int, position: int, low: int, seq: int, wiring: Wiring, store: Store) -> None:
    """Write an entry as a result."""
    out, entries, row = store.out, store.entries, store.head[OUT]
    out[row, O_POSITION] = position
    out[row, O_LOW] = low
    out[row, O_FIRST] = entries[entry, E_FIRST]
    out[row, O_TIME] = entries[entry, E_TIME]
    out[row, O_SEQ] = seq
    for a in range(wiring.params[GROUP_WIDTH]):
        out[row, O_WORDS + a] = store.groups[entries[entry, E_GROUP], 1 + a]
    for a in range(store.entry_numbers.shape[1]):
        store.out_numbers[row, a] = store.entry_numbers[entry, a]
        store.out_scales[row, a] = store.entry_scales[entry, a]
    for b in range(store.entry_extremes.shape[1]):
        store.out_extremes[row, b] = store.entry_extremes[entry, b]
    store.head[OUT] = row + 1


def close(k: int, position: int, wiring: Wiring, store: Store, index: Index) -> bool:
    """Write the results of window k and free its entries; False when `out` lacks the room."""
    params, head, slots, entries = wiring.params, store.head, store.slots, store.entries
    slot = k % len(slots)
    if head[OUT] + slots[slot, S_ENTRIES] > len(store.out):
        head[NEED] = NEED_OUT
        head[ROOM] = slots[slot, S_ENTRIES]
        return False
    if params[PANED] and not has_matrices(head[LIVE], store):
        return False
    low = k * head[STEP]
    seq = -1
    if params[ON_OPEN]:
        low = slots[slot, S_LOW]
        seq = slots[slot, S_SEQ]
    if params[IN_EVENTS]:
        position = min(position, low + head[SPAN])
    if params[LATE]:
        finish_keys(k, slot, wiring, store)
    if params[PANED]:
        finish_panes(k, slot, wiring, store)
    entry = slots[slot, S_FIRST]
    while entry >= 0:
        if store.entry_numbers[entry, 0] > 0:
            write_entry(entry, position, low, seq, wiring, store)
        following = entries[entry, E_NEXT]
        entries[entry, E_NEXT] = head[FREE]
        head[FREE] = entry
        entry = following
    slots[slot, S_FIRST] = -1
    slots[slot, S_LAST] = -1
    slots[slot, S_ENTRIES] = 0
    if len(wiring.trees) > 0:
        clear_window(k, wiring, store, index)
    return True


def close_until(point: int, position: int, wiring: Wiring, store: Store, index: Index) -> bool:
    """Close every window that ends at or before `point` (a time, or a position); its results stand at `position`.

    False when `out` lacks the room for them (`NEED`): the windows closed so far stay closed.
    """
    head, slots, params = store.head, store.slots, wiring.params
    size, slide = head[SPAN], head[STEP]
    target = head[KLO]
    if params[ON_OPEN]:
        while target < head[OPENED] and slots[target % len(slots), S_LOW] + size <= point:
            target += 1
    elif head[KLO] == NO_WINDOW or head[KLO] * slide + size <= point:
        target = (point - size) // slide + 1
    while head[KLO] < target:
        if head[KLO] > head[KHI]:
            head[KLO] = target
            if params[PANED]:
                let_go(store)
        elif close(head[KLO], position, wiring, store, index):
            head[KLO] += 1
        else:
            return False
    return True


def last_begun(point: int, wiring: Wiring, store: Store) -> int:
    """The last window that has begun at `point`; if all of those are closed, any window before the open ones."""
    head = store.head
    if wiring.params[ON_OPEN]:
        return int(head[OPENED] - 1)
    if len(store.slots) == 1:  # one at a time: without a division
        return int(head[KLO] if head[KLO] * head[STEP] <= point else head[KLO] - 1)
    return int(point // head[STEP])


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


def new_entry(group: int, seq: int, store: Store) -> int:
    """A free entry, for this group, empty."""
    head, entries = store.head, store.entries
    entry = head[FREE]
    if entry >= 0:
        head[FREE] = entries[entry, E_NEXT]
    else:
        entry = head[ENTRIES]
        head[ENTRIES] = entry + 1
    entries[entry, E_GROUP] = group
    entries[entry, E_FIRST] = seq
    entries[entry, E_TIME] = 0
    entries[entry, E_NEXT] = -1
    for a in range(store.entry_numbers.shape[1]):
        store.entry_numbers[entry, a] = 0
        store.entry_scales[entry, a] = 0
    for b in range(store.entry_extremes.shape[1]):
        store.entry_extremes[entry, b] = INFINITE
    return int(entry)


def enter(group: int, seq: int, klo: int, khi: int, last: int, store: Store) -> None:
    """See that the group has an entry in every window of a start vertex: it is where all its trends begin."""
    slots, groups = store.slots, store.groups
    windows = len(slots)
    for k in range(max(klo, groups[group, last] + 1), khi + 1):
        slot = k % windows
        entry = new_entry(group, seq, store)
        store.where[group, slot] = entry
        previous = slots[slot, S_LAST]
        if previous >= 0:
            store.entries[previous, E_NEXT] = entry
        else:
            slots[slot, S_FIRST] = entry
        slots[slot, S_LAST] = entry
        slots[slot, S_ENTRIES] += 1
    groups[group, last] = max(groups[group, last], khi)
    store.head[KHI] = max(store.head[KHI], khi)


def finish(group: int, s: int, time: int, klo: int, khi: int, wiring: Wiring, store: Store) -> None:
    """Add the numbers of an end vertex to its group's results."""
    where, sums = store.where, store.sums
    late = wiring.params[LATE]
    for slot in between(klo, khi, where.shape[1]):
        if sums[s, 0, slot] > 0:
            entry = where[group, slot]
            if late == 0:
                enter_numbers(entry, slot, sums[s], store.sum_scales[s], store.sum_extremes[s], wiring, store)
            store.entries[entry, E_TIME] = max(store.entries[entry, E_TIME], time)
