"""Loops over windows and groups: opening and closing windows, writing results (T5, T7)."""

from __future__ import annotations

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Ints, Store, Wiring, between
from saffron.engine.trends.kernels.cells import enter_numbers
from saffron.engine.trends.kernels.final import finish_keys
from saffron.engine.trends.kernels.matrices import has_matrices
from saffron.engine.trends.kernels.panes import finish_panes, let_go
from saffron.engine.trends.kernels.trees import clear_window
from saffron.engine.trends.ordered.ordered import Index

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def write_entry(entry: int, position: int, low: int, seq: int, wiring: Wiring, store: Store) -> None:
    """Write an entry as a result."""
    out, entries, row = store.out, store.entries, store.head[layout.OUT]
    out[row, layout.O_POSITION] = position
    out[row, layout.O_LOW] = low
    out[row, layout.O_FIRST] = entries[entry, layout.E_FIRST]
    out[row, layout.O_TIME] = entries[entry, layout.E_TIME]
    out[row, layout.O_SEQ] = seq
    for a in range(wiring.params[layout.GROUP_WIDTH]):
        out[row, layout.O_WORDS + a] = store.groups[entries[entry, layout.E_GROUP], 1 + a]
    for a in range(store.entry_numbers.shape[1]):
        store.out_numbers[row, a] = store.entry_numbers[entry, a]
        store.out_scales[row, a] = store.entry_scales[entry, a]
    for b in range(store.entry_extremes.shape[1]):
        store.out_extremes[row, b] = store.entry_extremes[entry, b]
    store.head[layout.OUT] = row + 1


def close(k: int, position: int, wiring: Wiring, store: Store, index: Index) -> bool:
    """Write the results of window k and free its entries; False when `out` lacks the room."""
    params, head, slots, entries = wiring.params, store.head, store.slots, store.entries
    slot = k % len(slots)
    if head[layout.OUT] + slots[slot, layout.S_ENTRIES] > len(store.out):
        head[layout.NEED] = layout.NEED_OUT
        head[layout.ROOM] = slots[slot, layout.S_ENTRIES]
        return False
    if params[layout.PANED] and not has_matrices(head[layout.LIVE], store):
        return False
    low = k * head[layout.STEP]
    seq = -1
    if params[layout.ON_OPEN]:
        low = slots[slot, layout.S_LOW]
        seq = slots[slot, layout.S_SEQ]
    if params[layout.IN_EVENTS]:
        position = min(position, low + head[layout.SPAN])
    if params[layout.LATE]:
        finish_keys(k, slot, wiring, store)
    if params[layout.PANED]:
        finish_panes(k, slot, wiring, store)
    entry = slots[slot, layout.S_FIRST]
    while entry >= 0:
        if store.entry_numbers[entry, 0] > 0:
            write_entry(entry, position, low, seq, wiring, store)
        following = entries[entry, layout.E_NEXT]
        entries[entry, layout.E_NEXT] = head[layout.FREE]
        head[layout.FREE] = entry
        entry = following
    slots[slot, layout.S_FIRST] = -1
    slots[slot, layout.S_LAST] = -1
    slots[slot, layout.S_ENTRIES] = 0
    if len(wiring.trees) > 0:
        clear_window(k, wiring, store, index)
    return True


def close_until(point: int, position: int, wiring: Wiring, store: Store, index: Index) -> bool:
    """Close every window that ends at or before `point` (a time, or a position); its results stand at `position`.

    False when `out` lacks the room for them (`NEED`): the windows closed so far stay closed.
    """
    head, slots, params = store.head, store.slots, wiring.params
    size, slide = head[layout.SPAN], head[layout.STEP]
    target = head[layout.KLO]
    if params[layout.ON_OPEN]:
        while target < head[layout.OPENED] and slots[target % len(slots), layout.S_LOW] + size <= point:
            target += 1
    elif head[layout.KLO] == layout.NO_WINDOW or head[layout.KLO] * slide + size <= point:
        target = (point - size) // slide + 1
    while head[layout.KLO] < target:
        if head[layout.KLO] > head[layout.KHI]:
            head[layout.KLO] = target
            if params[layout.PANED]:
                let_go(store)
        elif close(head[layout.KLO], position, wiring, store, index):
            head[layout.KLO] += 1
        else:
            return False
    return True


def last_begun(point: int, wiring: Wiring, store: Store) -> int:
    """The last window that has begun at `point`; if all of those are closed, any window before the open ones."""
    head = store.head
    if wiring.params[layout.ON_OPEN]:
        return int(head[layout.OPENED] - 1)
    if len(store.slots) == 1:  # one at a time: without a division
        return int(head[layout.KLO] if head[layout.KLO] * head[layout.STEP] <= point else head[layout.KLO] - 1)
    return int(point // head[layout.STEP])


def open_window(low: int, seq: int, head: Ints, slots: Ints) -> bool:
    """OPEN ON: the next window begins at this event; False when all slots are taken."""
    windows = len(slots)
    if head[layout.OPENED] > head[layout.KLO] and slots[(head[layout.OPENED] - 1) % windows, layout.S_SEQ] == seq:
        return True  # opened before the kernel stopped at this event for want of room
    if head[layout.OPENED] - head[layout.KLO] >= windows:
        head[layout.NEED] = layout.NEED_WINDOWS
        return False
    slot = head[layout.OPENED] % windows
    slots[slot, layout.S_LOW] = low
    slots[slot, layout.S_SEQ] = seq
    head[layout.OPENED] += 1
    return True


def new_entry(group: int, seq: int, store: Store) -> int:
    """A free entry, for this group, empty."""
    head, entries = store.head, store.entries
    entry = head[layout.FREE]
    if entry >= 0:
        head[layout.FREE] = entries[entry, layout.E_NEXT]
    else:
        entry = head[layout.ENTRIES]
        head[layout.ENTRIES] = entry + 1
    entries[entry, layout.E_GROUP] = group
    entries[entry, layout.E_FIRST] = seq
    entries[entry, layout.E_TIME] = 0
    entries[entry, layout.E_NEXT] = -1
    for a in range(store.entry_numbers.shape[1]):
        store.entry_numbers[entry, a] = 0
        store.entry_scales[entry, a] = 0
    for b in range(store.entry_extremes.shape[1]):
        store.entry_extremes[entry, b] = layout.INFINITE
    return int(entry)


def enter(group: int, seq: int, klo: int, khi: int, last: int, store: Store) -> None:
    """See that the group has an entry in every window of a start vertex: it is where all its trends begin."""
    slots, groups = store.slots, store.groups
    windows = len(slots)
    for k in range(max(klo, groups[group, last] + 1), khi + 1):
        slot = k % windows
        entry = new_entry(group, seq, store)
        store.where[group, slot] = entry
        previous = slots[slot, layout.S_LAST]
        if previous >= 0:
            store.entries[previous, layout.E_NEXT] = entry
        else:
            slots[slot, layout.S_FIRST] = entry
        slots[slot, layout.S_LAST] = entry
        slots[slot, layout.S_ENTRIES] += 1
    groups[group, last] = max(groups[group, last], khi)
    store.head[layout.KHI] = max(store.head[layout.KHI], khi)


def finish(group: int, s: int, time: int, klo: int, khi: int, wiring: Wiring, store: Store) -> None:
    """Add the numbers of an end vertex to its group's results."""
    where, sums = store.where, store.sums
    late = wiring.params[layout.LATE]
    for slot in between(klo, khi, where.shape[1]):
        if sums[s, 0, slot] > 0:
            entry = where[group, slot]
            if late == 0:
                enter_numbers(entry, slot, sums[s], store.sum_scales[s], store.sum_extremes[s], wiring, store)
            store.entries[entry, layout.E_TIME] = max(store.entries[entry, layout.E_TIME], time)
