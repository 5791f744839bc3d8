"""Loops over lists of vertices: the choice of those that the event being taken may follow, and room for more."""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Batch, Flags, Ints, Select, Store, Wiring
from saffron.engine.trends.kernels.absences import barrier
from saffron.engine.trends.kernels.cells import gather_chosen

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def begin_of(row: int, base: int, klo: int, keys: Ints, marks: Ints) -> Any:
    """The first vertex of a list that is in an open window; those before it are marked expired."""
    first = keys[row, base + layout.FIRST_ROW]
    stop = first + keys[row, base + layout.USED]
    begin = first + keys[row, base + layout.EXPIRED]
    while begin < stop and marks[begin, layout.M_LAST] < klo:
        begin += 1
    keys[row, base + layout.EXPIRED] = begin - first
    return begin


def lengthen(row: int, base: int, klo: int, store: Store) -> bool:
    """Free rows of a full list: drop the expired ones if they are half of it, else move it to twice the room."""
    keys, marks = store.keys, store.marks
    begin = begin_of(row, base, klo, keys, marks)
    target = keys[row, base + layout.FIRST_ROW]
    used = keys[row, base + layout.USED]
    live = used - keys[row, base + layout.EXPIRED]
    if used == 0 or 2 * live > used:
        owned = max(4, 2 * used)
        target = store.head[layout.ARENA]
        if target + owned > len(marks):
            store.head[layout.NEED] = layout.NEED_ARENA
            store.head[layout.ROOM] = owned
            return False
        store.head[layout.ARENA] = target + owned
        keys[row, base + layout.OWNED] = owned
    for j in range(live):
        move(begin + j, target + j, store)
    keys[row, base + layout.FIRST_ROW] = target
    keys[row, base + layout.EXPIRED] = 0
    keys[row, base + layout.USED] = live
    return True


def move(source: int, target: int, store: Store) -> None:
    """Copy a vertex to another row."""
    for field in range(store.marks.shape[1]):
        store.marks[target, field] = store.marks[source, field]
    for c in range(len(store.values)):
        store.values[c, target] = store.values[c, source]
    slot = 0
    while slot < store.counts.shape[2]:
        for a in range(store.counts.shape[1]):
            store.counts[target, a, slot] = store.counts[source, a, slot]
            store.count_scales[target, a, slot] = store.count_scales[source, a, slot]
        for b in range(store.count_extremes.shape[1]):
            store.count_extremes[target, b, slot] = store.count_extremes[source, b, slot]
        slot += 1


def make_room(row: int, events: int, wiring: Wiring, store: Store) -> bool:
    """Give the list of each state a free row for a vertex; False when the arena is full (`NEED`).

    `row`: of the key. `events`: the states that the event may be a vertex of (bit s: state s).
    """
    lists = 1 + wiring.params[layout.KEY_WIDTH] + layout.AFTER_LISTS
    for s in range(len(wiring.states)):
        if wiring.states[s, layout.LIST] >= 0 and (events >> s) & 1:
            base = lists + layout.LIST_SIZE * wiring.states[s, layout.LIST]
            full = store.keys[row, base + layout.USED] == store.keys[row, base + layout.OWNED]
            needy = (full and wiring.states[s, layout.SINGLE] == 0) or store.keys[row, base + layout.OWNED] == 0
            if needy and not lengthen(row, base, store.head[layout.KLO], store):
                return False
    return True


def candidates(row: int, t: int, i: int, wiring: Wiring, store: Store, batch: Batch) -> tuple[int, int]:
    """(begin, stop): the vertices of transition t's source that may come before event i, before conditions."""
    keys, marks = store.keys, store.marks
    after = 1 + wiring.params[layout.KEY_WIDTH]
    base = (
        after + layout.AFTER_LISTS + layout.LIST_SIZE * wiring.states[wiring.transitions[t, layout.SOURCE], layout.LIST]
    )
    begin = begin_of(row, base, store.head[layout.KLO], keys, marks)
    stop = keys[row, base + layout.FIRST_ROW] + keys[row, base + layout.USED]
    if wiring.params[layout.STRICT]:
        while stop > begin and marks[stop - 1, layout.M_ORDER] >= batch.ts[i]:
            stop -= 1
    strategy = wiring.transitions[t, layout.STRATEGY]
    if strategy > layout.NEXT and stop > begin:
        seen = store.head[layout.SEEN] if strategy == layout.CONTIGUOUS else keys[row, after + layout.AFTER_SEEN]
        begin = stop - 1
        if marks[begin, layout.X_SEQ] != seen:
            begin = stop
    return begin, stop


def waiting(t: int, begin: int, stop: int, seq: int, chosen: Flags, wiring: Wiring, store: Store) -> None:
    """Skip-till-next-match: of the chosen vertices keep those that still wait; the event ends some of their waiting."""
    marks = store.marks
    bit, ends = 1 << wiring.transitions[t, layout.BIT], wiring.transitions[t, layout.ENDS]
    for v in range(begin, stop):
        if chosen[v]:
            if marks[v, layout.X_NEW_SEQ] != seq:
                marks[v, layout.X_TAKEN] |= marks[v, layout.X_NEW]
                marks[v, layout.X_NEW] = 0
                marks[v, layout.X_NEW_SEQ] = seq
            if marks[v, layout.X_TAKEN] & bit != 0:
                chosen[v] = False
            else:
                marks[v, layout.X_NEW] |= ends


def gather_list(s: int, row: int, t: int, i: int, select: Select, wiring: Wiring, store: Store, batch: Batch) -> None:
    """Add the numbers of the vertices that transition t leads from to event i in state s."""
    begin, stop = candidates(row, t, i, wiring, store, batch)
    order = barrier(row, wiring.transitions[t, layout.ABSENCES], store.absent)
    waits = wiring.transitions[t, layout.WAITS]
    marks, chosen = store.marks, store.chosen
    if not waits:  # a NOT ends no waiting: it is judged when all is chosen
        begin = first_from(begin, stop, order, marks)
    if begin == stop:
        return
    if wiring.transitions[t, layout.CONDITION] >= 0:
        condition = wiring.transitions[t, layout.CONDITION]
        select(condition, begin, stop, i, store.values, batch.attributes, batch.ranks, chosen)
    else:
        for v in range(begin, stop):
            chosen[v] = True
    if waits:
        waiting(t, begin, stop, batch.seq[i], chosen, wiring, store)
        begin = first_from(begin, stop, order, marks)
    if wiring.states[s, layout.NEGATIVE] < 0:
        gather_chosen(s, begin, stop, store.head[layout.KLO], chosen, wiring, store)
        return
    for v in range(begin, stop):
        if chosen[v]:
            store.starts[s, 0] = max(store.starts[s, 0], marks[v, layout.X_ORDER])
            store.starts[s, 1] = max(store.starts[s, 1], marks[v, layout.X_WINDOW])


def first_from(begin: int, stop: int, order: int, marks: Ints) -> Any:
    """The first of the vertices begin..stop-1 that is not before this order."""
    if begin == stop or marks[begin, layout.M_ORDER] >= order:
        return begin
    low, high = begin + 1, stop
    while low < high:
        middle = (low + high) >> 1
        if marks[middle, layout.M_ORDER] < order:
            low = middle + 1
        else:
            high = middle
    return low


def extra_marks(v: int, s: int, seq: int, store: Store) -> None:
    """Set the marks of a vertex that contiguity, skip-till-next-match and negative graphs need."""
    marks = store.marks
    marks[v, layout.X_SEQ] = seq
    marks[v, layout.X_TAKEN] = 0
    marks[v, layout.X_NEW] = 0
    marks[v, layout.X_NEW_SEQ] = -1
    marks[v, layout.X_ORDER] = store.starts[s, 0]
    marks[v, layout.X_WINDOW] = store.starts[s, 1]
