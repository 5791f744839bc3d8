"""The search for the matches that a new event completes: its single events are bound (`skeleton`), then closures.

The path has the match's events in the pattern's order. A *frame* is the level of a closure's event, or 0. The single
events behind the closure, up to the next closure, are the levels above it, so that a frame's confidence is that of a
match whose last closure it is. All state is in `Work`. So a search stops where an array is too small or a condition is
asked (`search_source` has the loop with the query's conditions), and resumes there.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from saffron.engine.kernels import jit
from saffron.engine.kernels.numba_types import int64, void
from saffron.engine.match.uncertain.arrays import shape_in, work_in
from saffron.engine.match.uncertain.arrival import arrive
from saffron.engine.match.uncertain.chance import chance_before, joined, room, start
from saffron.engine.match.uncertain.inline import apart, inline
from saffron.engine.match.uncertain.path import fits, next_closure, report
from saffron.engine.match.uncertain.search_state import (
    ASK,
    AT,
    BEGINS,
    BIND,
    BOUND_ONE,
    CHANCE,
    CURSOR,
    DEPTH,
    DONE,
    END,
    ENTER,
    EVENT,
    FLOOR,
    FROM,
    GROW_LEVELS,
    GROW_MATCHES,
    GROW_PICKED,
    GROW_VALUES,
    HAS,
    HIGH,
    LEAVE,
    LEAVE_IT,
    LEAVES,
    LEAVES_IT,
    LONGEST,
    LOW,
    MASK,
    MATCHES,
    NEED,
    NEXT_SEARCH,
    PART,
    PATH,
    PHASE,
    PICKED,
    PRUNED,
    PUSHED,
    PUT,
    ROW,
    SCRATCH,
    SEARCH,
    SETTLE,
    START,
    TAIL,
    TAKES,
    TARGET,
    TOP,
    TRY,
    TURN,
    UP,
)
from saffron.engine.match.uncertain.skeleton import back, bind, bind_next, next_search
from saffron.engine.match.uncertain.within import confidence, enough


@apart(void)
def _candidate(shape, work):
    """Find the next event to put on the path, or go one frame back; the phase is the next step."""
    counters, levels = work.counters, work.levels
    depth = counters[DEPTH]
    target = levels[TARGET, depth]
    if target == len(shape.closure):
        if depth == 0:
            back(shape, work)
            return
        work.used[levels[PATH, depth] & counters[MASK]] = 0
        depth = levels[UP, depth]
        counters[DEPTH] = depth
        if depth > 0:
            work.last[levels[PART, depth]] = depth
        return
    more = target == levels[PART, depth]
    base = depth if more else levels[END, depth]
    floor = counters[FLOOR]  # events with an earlier lo end too early
    if base > 0 and not (shape.loose[target] and more):
        floor = max(floor, levels[FROM, base] + 1 - counters[LONGEST])
    row = levels[CURSOR, depth]
    while row >= counters[TAIL]:
        place = row & counters[MASK]
        if work.lo[place] < floor or (more and shape.loose[target] and row < levels[PATH, depth]):
            break
        if fits(shape, work, base, target, row, more):
            levels[CURSOR, depth] = work.links[target, place]
            levels[PATH, base + 1], levels[PART, base + 1], levels[UP, base + 1] = row, target, depth
            work.last[target] = base + 1
            if not more:
                work.first[target] = base + 1
            counters[PHASE] = TRY if shape.asks[target] & (TAKES if more else BEGINS) else PUT
            return
        row = work.links[target, place]
    following = len(shape.closure)
    if more and levels[LEAVE, depth]:
        following = next_closure(shape, target + 1)
    if following < len(shape.closure) and (levels[HAS, depth] or following <= counters[START]):
        if depth > 0:
            work.last[levels[PART, depth]] = depth  # an event that was tried and not taken moved it
        counters[PHASE] = TURN
    else:
        levels[TARGET, depth] = len(shape.closure)


@apart(int64)
def _put(shape, work):
    """Put on the path a candidate (PUT) and the single events behind the frame: PUSHED or PRUNED, or what must grow."""
    counters, levels = work.counters, work.levels
    depth = counters[DEPTH]
    if counters[PHASE] == ENTER:
        depth = 0
        levels[PART, 0], levels[PATH, 0], levels[NEED, 0], levels[UP, 0] = -1, -1, 0, 0
        start(work, 0, 0)
    level = depth  # the last one that stands
    if counters[PHASE] == PUT and levels[TARGET, depth] != levels[PART, depth]:
        level = levels[END, depth]
    if level + len(shape.closure) + 2 + SCRATCH >= levels.shape[1]:
        return GROW_LEVELS
    if counters[MATCHES] == len(work.chance):
        return GROW_MATCHES
    if counters[PICKED] + level + len(shape.closure) + 1 > len(work.picked):
        return GROW_PICKED
    frame = level + 1 if counters[PHASE] == PUT else level
    component = levels[PART, frame]
    if frame == level:
        component += 1
    while component < len(shape.closure) and (level < frame or not shape.closure[component]):
        if level >= frame:
            levels[PATH, level + 1], levels[PART, level + 1] = work.chosen[component], component
        place = levels[PATH, level + 1] & counters[MASK]
        more = level > 0 and shape.closure[component] != 0 and component == levels[PART, level]
        needed = room(work, level, work.lo[place], work.hi[place], shape.loose[component] != 0, more)
        top, most = levels[TOP, level], max(levels[NEED, level], needed)
        if top + needed + 2 * most > len(work.values):
            return GROW_VALUES
        level += 1
        levels[NEED, level] = most
        low, high = counters[LOW], counters[HIGH]
        if not joined(shape, work, level - 1, level, place, component, level, more, low, high, top):
            return PRUNED
        component += 1
    levels[END, frame] = level
    if counters[PHASE] == TURN:
        return PUSHED
    chance = 1.0 if level == 0 else confidence(shape, work, level)
    work.weights[CHANCE, frame] = chance
    return PUSHED if enough(shape, chance) else PRUNED


@apart(void, int64)
def _placed(shape, work, status):
    """Go on after a try to extend the path; the phase is the next step."""
    counters, levels = work.counters, work.levels
    depth = counters[DEPTH]
    if counters[PHASE] == TURN:
        following = next_closure(shape, levels[PART, depth] + 1)
        levels[TARGET, depth], levels[CURSOR, depth] = following, work.entry[following]
        counters[PHASE] = SEARCH
    elif counters[PHASE] == ENTER:
        following = next_closure(shape, 0)
        if status == PUSHED and following < len(shape.closure):
            levels[HAS, 0] = 0 if shape.closure[counters[START]] else 1
            levels[LEAVE, 0], counters[DEPTH] = 1, 0
            levels[TARGET, 0], levels[CURSOR, 0] = following, work.entry[following]
            counters[PHASE] = SEARCH
        else:
            if status == PUSHED:
                report(shape, work, 0)
            back(shape, work)
    elif status == PUSHED and _can_be_completed(shape, work, depth) and _goes_on(shape, work, depth):
        level = depth + 1 if levels[TARGET, depth] == levels[PART, depth] else levels[END, depth] + 1
        work.used[levels[PATH, level] & counters[MASK]] = 1
        counters[DEPTH], counters[LEAVES] = level, 1
        counters[PHASE] = LEAVE_IT if shape.asks[levels[PART, level]] & LEAVES_IT else SETTLE
    else:
        counters[PHASE] = SEARCH


@inline
def _can_be_completed(shape, work, depth):
    """True if the new event is on the path, or may come behind all that is: HAS of the new frame says which."""
    counters, levels = work.counters, work.levels
    level = depth + 1 if levels[TARGET, depth] == levels[PART, depth] else levels[END, depth] + 1
    has = levels[HAS, depth] or levels[PATH, level] == counters[ROW]
    levels[HAS, level] = 1 if has else 0
    part = levels[PART, level]
    if has or (shape.loose[part] and part == counters[START]):
        return True
    return enough(shape, chance_before(shape, work, level, counters[ROW] & counters[MASK]))


@inline
def _goes_on(shape, work, depth):
    """True if the closure after the new frame's has an event that may come behind it; more of its own delay that."""
    counters, levels = work.counters, work.levels
    frame = depth + 1 if levels[TARGET, depth] == levels[PART, depth] else levels[END, depth] + 1
    following = next_closure(shape, levels[PART, frame] + 1)
    if following == len(shape.closure):
        return True
    least = levels[FROM, levels[END, frame]]
    row = work.entry[following]
    while row >= counters[TAIL] and work.lo[row & counters[MASK]] + counters[LONGEST] > least:
        place = row & counters[MASK]
        if work.hi[place] > least and not work.used[place] and row != levels[PATH, frame]:
            return True
        row = work.links[following, place]
    return False


@apart(void)
def _settle(shape, work):
    """The event is on the path. Report the path if it is a match; then more of its closure's events are sought."""
    counters, levels = work.counters, work.levels
    depth = counters[DEPTH]
    part = levels[PART, depth]
    levels[LEAVE, depth] = counters[LEAVES]
    if counters[LEAVES] and levels[HAS, depth] and levels[PART, levels[END, depth]] == len(shape.closure) - 1:
        report(shape, work, depth)
    levels[TARGET, depth], levels[CURSOR, depth] = part, work.entry[part]
    counters[PHASE] = SEARCH


@jit.separate(int64(int64[::1], int64[::1], int64[::1]), later=True)
def go_on(shape_table, work_table, rows):
    """Search on for the matches of new events: DONE, ASK where conditions decide, or what must grow first."""
    shape, work = shape_in(shape_table), work_in(work_table)
    counters = work.counters
    while True:
        phase = counters[PHASE]
        if phase == SEARCH:
            _candidate(shape, work)
        elif phase in (PUT, ENTER, TURN):
            status = _put(shape, work)
            if status > 0:
                return status
            _placed(shape, work, status)
        elif phase == SETTLE:
            _settle(shape, work)
        elif phase == BIND:
            bind_next(shape, work)
        elif phase == BOUND_ONE:
            bind(shape, work)
        elif phase == NEXT_SEARCH:
            next_search(shape, work)
        elif phase == EVENT:
            if counters[AT] == len(rows):
                return DONE
            arrive(shape, work, rows[counters[AT]])
        else:
            return ASK
