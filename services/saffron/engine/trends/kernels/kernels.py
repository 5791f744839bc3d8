"""The main loop of every trend query: GRETA's algorithms 2 and 3, with windows shared (T3-T6).

What a query's text decides comes as arrays (`arrays.Wiring`) and as one function, `select`, called through a pointer.
An event is taken in three steps. First the numbers of its vertices are gathered, in all graphs, from earlier vertices.
Then the negative trends that end with it cut off what they forbid. Then its vertices are recorded.
"""

from __future__ import annotations

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Batch, Select, Store, Wiring
from saffron.engine.trends.kernels.absences import (
    cut_off,
    first_allowed,
    raise_marks,
    settle,
)
from saffron.engine.trends.kernels.cells import (
    accumulate,
    append,
    gather_total,
    is_positive,
    measure,
    start_sums,
    zero,
)
from saffron.engine.trends.kernels.lists import extra_marks, gather_list, make_room
from saffron.engine.trends.kernels.matrices import has_matrices
from saffron.engine.trends.kernels.panes import extend, matrix_of
from saffron.engine.trends.kernels.tables import locate, renew
from saffron.engine.trends.kernels.trees import free_ended, gather_tree, has_nodes, hold_back, insert_vertex
from saffron.engine.trends.kernels.windows import close_until, enter, finish, last_begun, open_window
from saffron.engine.trends.ordered.ordered import Index

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def gather(
    row: int, s: int, i: int, khi: int, select: Select, wiring: Wiring, store: Store, batch: Batch, index: Index
) -> None:
    """Sum up the numbers of event i as a vertex of state s, for each window, into `sums` (algorithm 2, theorem 4.3)."""
    states, transitions = wiring.states, wiring.transitions
    klo = store.head[layout.KLO]
    begin = khi + 1
    if states[s, layout.IS_START]:
        begin = klo if states[s, layout.LEADING] == 0 else first_allowed(row, states[s, layout.LEADING], store.absent)
    start_sums(s, begin, klo, khi, store)
    for t in range(states[s, layout.ENTERING], states[s, layout.ENTERING] + states[s, layout.ENTERING_SIZE]):
        if transitions[t, layout.SUM] >= 0:
            gather_total(s, row, transitions[t, layout.SUM], klo, khi, wiring, store)
        elif transitions[t, layout.TREE] >= 0:
            gather_tree(s, row, t, i, klo, khi, wiring, store, batch, index)
        else:
            gather_list(s, row, t, i, select, wiring, store, batch)
    if len(wiring.measures) > 1:
        measure(s, i, klo, khi, wiring, store, batch)


def gather_negative(
    row: int, s: int, i: int, khi: int, select: Select, wiring: Wiring, store: Store, batch: Batch
) -> None:
    """Compute the latest start of the negative trends that end with event i in state s, and their latest window.

    They go into `starts[s]` as (start, window). A start is a time under strict order, else a sequence number; NEVER
    without such a trend. `row`: of the key. `khi`: number of the last window that holds the event.
    """
    states, transitions = wiring.states, wiring.transitions
    store.starts[s, 0] = layout.NEVER
    store.starts[s, 1] = layout.NO_WINDOW
    if states[s, layout.IS_START]:
        store.starts[s, 0] = batch.ts[i] if wiring.params[layout.STRICT] else batch.seq[i]
        store.starts[s, 1] = khi
    for t in range(states[s, layout.ENTERING], states[s, layout.ENTERING] + states[s, layout.ENTERING_SIZE]):
        if transitions[t, layout.SUM] >= 0:
            for field in range(2):
                there = store.latest[row, transitions[t, layout.SUM], layout.P_ORDER + field]
                store.starts[s, field] = max(store.starts[s, field], there)
        else:
            gather_list(s, row, t, i, select, wiring, store, batch)


def gather_all(
    row: int, i: int, khi: int, select: Select, wiring: Wiring, store: Store, batch: Batch, index: Index
) -> int:
    """Gather for all states that event i may be a vertex of; returns those that it is a vertex of (bit s: state s).

    `row`: of the key. `khi`: number of the last window that holds the event.
    """
    found = 0
    events = batch.states[i]
    for s in range(len(wiring.states)):
        if (events >> s) & 1:
            if wiring.states[s, layout.NEGATIVE] >= 0:
                gather_negative(row, s, i, khi, select, wiring, store, batch)
                if store.starts[s, 0] > layout.NEVER:
                    found |= 1 << s
            else:
                gather(row, s, i, khi, select, wiring, store, batch, index)
                if is_positive(s, store.head[layout.KLO], khi, store):
                    found |= 1 << s
    return found


def empty_taken(row: int, events: int, khi: int, wiring: Wiring, store: Store) -> None:
    """Empty the totals whose trends the event has extended (skip-till-next-match without conditions).

    `events`: the states that the event is a vertex of (bit s: state s). `khi`: its last window.
    """
    for s in range(len(wiring.states)):
        if (events >> s) & 1:
            for t in range(
                wiring.states[s, layout.ENTERING],
                wiring.states[s, layout.ENTERING] + wiring.states[s, layout.ENTERING_SIZE],
            ):
                emptied = wiring.transitions[t, layout.EMPTIED]
                for total in range(len(wiring.barriers)):
                    if (emptied >> total) & 1:
                        zero(row, total, store.head[layout.KLO], khi, store)


def record(row: int, s: int, i: int, khi: int, wiring: Wiring, store: Store, batch: Batch, index: Index) -> None:
    """Record event i as a vertex of state s: its numbers go where later events and the window's end look for them."""
    states, keys = wiring.states, store.keys
    klo = store.head[layout.KLO]
    after = 1 + wiring.params[layout.KEY_WIDTH]
    if states[s, layout.LIST] >= 0:
        base = after + layout.AFTER_LISTS + layout.LIST_SIZE * states[s, layout.LIST]
        if states[s, layout.SINGLE]:
            keys[row, base + layout.USED] = 0
            keys[row, base + layout.EXPIRED] = 0
        v = keys[row, base + layout.FIRST_ROW] + keys[row, base + layout.USED]
        keys[row, base + layout.USED] += 1
        append(v, s, klo, khi, batch.ts[i] if wiring.params[layout.STRICT] else batch.seq[i], store)
        for c in range(wiring.params[layout.STORED]):
            store.values[c, v] = batch.attributes[c, i]
        if wiring.params[layout.ALL_MARKED]:
            extra_marks(v, s, batch.seq[i], store)
        if wiring.params[layout.STRICT]:
            hold_back(v, i, wiring, store, batch)
    if states[s, layout.NEGATIVE] >= 0:
        for feed in range(states[s, layout.FEEDING], states[s, layout.FEEDING] + states[s, layout.FEEDING_SIZE]):
            total = wiring.feeds[feed]
            for field in range(2):
                place = field + (layout.P_NEW_ORDER if wiring.params[layout.STRICT] else layout.P_ORDER)
                store.latest[row, total, place] = max(store.latest[row, total, place], store.starts[s, field])
        return
    if wiring.params[layout.STRICT] == 0:
        insert_vertex(row, s, i, klo, khi, wiring, store, batch, index)
    pending = len(wiring.barriers) if wiring.params[layout.STRICT] else 0
    for feed in range(states[s, layout.FEEDING], states[s, layout.FEEDING] + states[s, layout.FEEDING_SIZE]):
        accumulate(row, pending + wiring.feeds[feed], s, klo, khi, wiring, store)
    if states[s, layout.IS_END]:
        finish(keys[row, after + layout.AFTER_GROUP], s, batch.time[i], klo, khi, wiring, store)


def take(i: int, khi: int, select: Select, wiring: Wiring, store: Store, batch: Batch, index: Index) -> bool:
    """Make event i a vertex of the states (bits) whose predecessors it has; False for want of room."""
    params, keys = wiring.params, store.keys
    events = batch.states[i]
    klo = store.head[layout.KLO]
    row = locate(i, events & params[layout.OPENERS], events & params[layout.STARTS], khi, wiring, store, batch)
    if row < 0:
        return bool(row == -1)
    if not make_room(row, events, wiring, store):
        return False
    if len(wiring.trees) > 0 and not has_nodes(row, wiring, store, index):
        return False
    after = 1 + params[layout.KEY_WIDTH]
    renew(row, after, klo, khi, keys, store)
    if params[layout.STRICT]:
        settle(row, after, batch.ts[i], klo, khi, wiring, store, index)
    found = gather_all(row, i, khi, select, wiring, store, batch, index)
    empty_taken(row, events, khi, wiring, store)
    if params[layout.MARKED]:
        raised = raise_marks(row, found, wiring, store)
        if raised != 0:
            cut_off(row, raised, klo, khi, wiring, store)
            free_ended(row, raised, wiring, store, index)
    if events & params[layout.STARTS] != 0:
        last = 1 + params[layout.GROUP_WIDTH] + layout.GROUP_LAST
        enter(keys[row, after + layout.AFTER_GROUP], batch.seq[i], klo, khi, last, store)
    for s in range(len(wiring.states)):
        if (found >> s) & 1:
            record(row, s, i, khi, wiring, store, batch, index)
    keys[row, after + layout.AFTER_SEEN] = batch.seq[i]
    if found != 0:
        store.head[layout.TOUCHED] += 1
    return True


def take_paned(i: int, khi: int, wiring: Wiring, store: Store, batch: Batch) -> bool:
    """Let event i count in the pane that it lies in (`kernels_panes`); False for want of room."""
    params, keys = wiring.params, store.keys
    events = batch.states[i]
    if not has_matrices(2, store):
        return False
    row = locate(i, events & params[layout.OPENERS], events & params[layout.STARTS], khi, wiring, store, batch)
    if row < 0:
        return bool(row == -1)
    after = 1 + params[layout.KEY_WIDTH]
    extend(matrix_of(row, after, khi, wiring, store), i, wiring, store, batch)
    if events & params[layout.STARTS] != 0:
        last = 1 + params[layout.GROUP_WIDTH] + layout.GROUP_LAST
        enter(keys[row, after + layout.AFTER_GROUP], batch.seq[i], store.head[layout.KLO], khi, last, store)
    store.head[layout.TOUCHED] += 1
    return True


def advance(
    begin: int,
    stop: int,
    point: int,
    position: int,
    select: Select,
    wiring: Wiring,
    store: Store,
    batch: Batch,
    index: Index,
) -> int:
    """Apply events begin..stop-1, then close the windows that end at or before `point` (`close_until`).

    Returns stop + 1; if `NEED` is set, the number of the first event not applied, or `stop` for windows left open.
    Both in one, so that what closes windows is compiled once.
    """
    head = store.head
    params = wiring.params
    head[layout.NEED] = layout.NEED_NOTHING
    for i in range(begin, stop + 1):
        now, seq = point, position
        if i < stop:
            seq = batch.seq[i]
            now = seq if params[layout.IN_EVENTS] else batch.ts[i]
        if not close_until(now, seq, wiring, store, index):
            return i
        if i == stop:
            break
        if params[layout.ON_OPEN] and batch.opens[i] and not open_window(now, seq, head, store.slots):
            return i
        if batch.states[i] > 0:
            khi = last_begun(now, wiring, store)
            if khi >= head[layout.KLO]:
                if params[layout.PANED]:
                    if not take_paned(i, khi, wiring, store, batch):
                        return i
                elif not take(i, khi, select, wiring, store, batch, index):
                    return i
        if batch.states[i] >= 0:
            head[layout.SEEN] = seq
    return stop + 1
