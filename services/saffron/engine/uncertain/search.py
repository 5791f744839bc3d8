"""The search for the matches that a new event completes: depth first along the pattern (see the package).

Everything stands in `Work`, so that a search stops where an array is too small and goes on when it has grown. The loop
itself is generated with the query's conditions (`source`): `next_window`, `candidate`, `extend`, `settle`.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from saffron.engine import jit
from saffron.engine.uncertain.chance import chance_before, joined, room, start
from saffron.engine.uncertain.inline import inline
from saffron.engine.uncertain.table import (
    AFTER_ALL,
    BEFORE_ALL,
    CHANCE,
    CURSOR,
    DEPTH,
    EVENT,
    FIT,
    FLOOR,
    FROM,
    GROW_LEVELS,
    GROW_MATCHES,
    GROW_PICKED,
    GROW_VALUES,
    HAS,
    HIGH,
    LEAVE,
    LONGEST,
    LOW,
    MASK,
    MATCHES,
    NEED,
    NEXT_WINDOW,
    NO_WINDOW,
    PART,
    PATH,
    PHASE,
    PICKED,
    PRUNED,
    PUSHED,
    ROW,
    SCRATCH,
    SEARCH,
    STOP,
    TAIL,
    TARGET,
    TOP,
    TRY,
    WINDOW,
)
from saffron.engine.uncertain.within import confidence, enough


@jit.kernel(_nrt=False)
def next_window(shape, work):
    """Begin to search the next window, or be done with the event."""
    counters, levels = work.counters, work.levels
    if counters[WINDOW] >= counters[STOP]:
        counters[PHASE] = EVENT
        return
    size, slide = shape.window[0], shape.window[1]
    place = counters[ROW] & counters[MASK]
    if slide == 0:
        counters[LOW], counters[HIGH] = BEFORE_ALL, AFTER_ALL
        counters[FLOOR] = work.lo[place] - size - counters[LONGEST]
    else:
        counters[LOW] = counters[WINDOW] * slide
        counters[HIGH] = counters[LOW] + size - 1
        counters[FLOOR] = counters[LOW] - counters[LONGEST]
    counters[WINDOW] += 1
    counters[DEPTH] = 0
    start(shape, work, 0, 0)
    levels[PART, 0], levels[HAS, 0], levels[LEAVE, 0], levels[NEED, 0] = -1, 0, 1, 2
    levels[TARGET, 0] = 0
    levels[CURSOR, 0] = work.heads[0, work.slot[place]]
    work.weights[CHANCE, 0] = 1.0
    counters[PHASE] = SEARCH


@jit.kernel(_nrt=False)
def candidate(shape, work):
    """Find the next event to put on the path; the phase is then TRY, or NEXT_WINDOW where there is none left."""
    counters, levels = work.counters, work.levels
    mask = counters[MASK]
    while True:
        depth = counters[DEPTH]
        target = levels[TARGET, depth]
        if target == len(shape.closure):
            if depth == 0:
                counters[PHASE] = NEXT_WINDOW
                return
            work.used[levels[PATH, depth] & mask] = 0
            counters[DEPTH] = depth - 1
            continue
        row = levels[CURSOR, depth]
        place = row & mask
        if row != counters[ROW] and target == counters[FIT] and not (levels[HAS, depth] or shape.closure[target]):
            levels[TARGET, depth] = len(shape.closure)  # only the new event itself could stand here
            continue
        if row < counters[TAIL] or work.lo[place] < _floor(shape, work, depth, target):
            _turn(shape, work, depth, target)
            continue
        levels[CURSOR, depth] = work.links[target, place]
        more = target == levels[PART, depth]
        if more and shape.loose[target] and row < levels[PATH, depth]:
            _turn(shape, work, depth, target)
        elif _fits(shape, work, depth, target, row, more):
            levels[PATH, depth + 1], levels[PART, depth + 1] = row, target
            if not more:
                work.first[target] = depth + 1
            counters[PHASE] = TRY
            return


@inline
def _floor(shape, work, depth, target):
    """Events with an earlier lo cannot go on the path: they end too early."""
    counters, levels = work.counters, work.levels
    floor = counters[FLOOR]
    if depth > 0 and not (shape.loose[target] and target == levels[PART, depth]):
        floor = max(floor, levels[FROM, depth] + 1 - counters[LONGEST])
    return floor


@inline
def _turn(shape, work, depth, target):
    """No more events for `target`: go on with the component after it, if the closure may be left, or be done."""
    counters, levels = work.counters, work.levels
    following = target + 1
    done = len(shape.closure)
    more = target == levels[PART, depth]
    if more and levels[LEAVE, depth] and following < done and (levels[HAS, depth] or following <= counters[FIT]):
        levels[TARGET, depth] = following
        levels[CURSOR, depth] = work.heads[following, work.slot[counters[ROW] & counters[MASK]]]
    else:
        levels[TARGET, depth] = done


@inline
def _fits(shape, work, depth, target, row, more):
    """Whether the event of `row` can go on the path as `target`, as far as its bits and its bounds tell."""
    counters, levels = work.counters, work.levels
    place = row & counters[MASK]
    if work.used[place] or not (work.mask[place] >> (2 * target + (1 if more else 0))) & 1:
        return False
    if work.hi[place] < counters[LOW] or work.lo[place] > counters[HIGH]:
        return False
    if shape.window[1] == 0:
        # Either may be the first: an uncorrelated closure's events stand by seq.
        begin = levels[PATH, 1] & counters[MASK] if depth > 0 else place
        new = counters[ROW] & counters[MASK]
        for other in (begin, new):
            if work.lo[place] - work.hi[other] > shape.window[0] or work.lo[other] - work.hi[place] > shape.window[0]:
                return False
    if depth == 0 or (more and shape.loose[target]):
        return True
    return min(work.hi[place], counters[HIGH]) > levels[FROM, depth]


@jit.kernel(_nrt=False)
def extend(shape, work):
    """Put the candidate on the path, if the confidence allows it: PUSHED or PRUNED; or what must grow first."""
    counters, levels = work.counters, work.levels
    depth = counters[DEPTH]
    status, need = _room(shape, work, depth)
    if status > 0:
        return status
    row, part = levels[PATH, depth + 1], levels[PART, depth + 1]
    place = row & counters[MASK]
    more = part == levels[PART, depth]
    if not joined(
        shape, work, depth, depth + 1, place, part, more, counters[LOW], counters[HIGH], levels[TOP, depth]
    ):  # fmt: skip
        return PRUNED
    levels[NEED, depth + 1] = need
    chance = confidence(shape, work, depth + 1)
    if not enough(shape, chance):
        return PRUNED
    has = levels[HAS, depth] or row == counters[ROW]
    if not has:
        # The new event is yet to come: behind all of these, unless it can join them.
        new = counters[ROW] & counters[MASK]
        joins = shape.loose[part] and (work.mask[new] >> (2 * part + 1)) & 1
        if not joins and not enough(shape, chance_before(shape, work, depth + 1, new)):
            return PRUNED
    levels[HAS, depth + 1] = 1 if has else 0
    levels[LEAVE, depth + 1] = 1
    work.weights[CHANCE, depth + 1] = chance
    work.used[place] = 1
    counters[DEPTH] = depth + 1
    return PUSHED


@inline
def _room(shape, work, depth):
    """What must grow before one more event goes on the path, 0: nothing; and the most values that a level needs."""
    counters, levels = work.counters, work.levels
    place, part = levels[PATH, depth + 1] & counters[MASK], levels[PART, depth + 1]
    more = part == levels[PART, depth]
    needed = room(work, depth, work.lo[place], work.hi[place], shape.loose[part] != 0, more)
    most = max(levels[NEED, depth], needed)
    status = 0
    if depth + 2 + SCRATCH >= levels.shape[1]:
        status = GROW_LEVELS
    elif levels[TOP, depth] + needed + 2 * most > len(work.values):
        status = GROW_VALUES
    elif counters[MATCHES] == len(work.chance):
        status = GROW_MATCHES
    elif counters[PICKED] + depth + 1 > len(work.picked):
        status = GROW_PICKED
    return status, most


@jit.kernel(_nrt=False)
def settle(shape, work, leave):
    """The event is on the path. `leave`: whether its closure may be left. Report the path if it is a match."""
    counters, levels = work.counters, work.levels
    depth = counters[DEPTH]
    part = levels[PART, depth]
    levels[LEAVE, depth] = 1 if leave else 0
    last = len(shape.closure) - 1
    if part == last and leave and levels[HAS, depth]:
        _report(shape, work, depth)
    slot = work.slot[counters[ROW] & counters[MASK]]
    if shape.closure[part] and (levels[HAS, depth] or part <= counters[FIT]):
        levels[TARGET, depth] = part
        levels[CURSOR, depth] = work.heads[part, slot]
    elif part < last and leave and (levels[HAS, depth] or part < counters[FIT]):
        levels[TARGET, depth] = part + 1
        levels[CURSOR, depth] = work.heads[part + 1, slot]
    else:
        levels[TARGET, depth] = last + 1


@inline
def _report(shape, work, depth):
    counters, levels = work.counters, work.levels
    match, at = counters[MATCHES], counters[PICKED]
    for component in range(len(shape.closure)):
        work.counts[match, component] = 0
    for level in range(1, depth + 1):
        work.counts[match, levels[PART, level]] += 1
        work.picked[at + level - 1] = levels[PATH, level]
    work.found[match, 0] = counters[ROW]
    work.found[match, 1] = NO_WINDOW if shape.window[1] == 0 else counters[LOW]
    work.found[match, 2] = at + depth
    work.chance[match] = work.weights[CHANCE, depth]
    counters[MATCHES], counters[PICKED] = match + 1, at + depth
