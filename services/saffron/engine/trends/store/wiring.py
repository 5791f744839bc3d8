"""The arrays that describe a plan's graphs to kernels (T2, T4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Flags, Ints, Wiring
from saffron.engine.trends.core.graphs import Graphs
from saffron.engine.trends.core.limits import windows_of
from saffron.engine.trends.core.measures import Measures
from saffron.engine.trends.core.sizes import Sizes
from saffron.engine.trends.ordered import ordered
from saffron.language.plan.pattern import Strategy
from saffron.language.trends.shared_panes import shares_panes
from saffron.language.trends.trend_graphs import Total
from saffron.schema.schema import Kind

_STRATEGIES = {
    Strategy.ANY: layout.ANY,
    Strategy.NEXT: layout.NEXT,
    Strategy.PARTITION: layout.PARTITION,
    Strategy.STRICT: layout.CONTIGUOUS,
}
_FUNCTIONS = {"count": layout.F_COUNT, "sum": layout.F_SUM, "min": layout.F_LEAST, "max": layout.F_GREATEST}


def wiring_of(graphs: Graphs, measures: Measures, attributes: Sequence[tuple[str, Kind]], stored: int) -> Wiring:
    """The arrays; `attributes`: the columns of a batch, by name and kind, of which `stored` are kept with vertices.

    Transitions are sorted by the state they enter."""
    order = sorted(range(len(graphs.steps)), key=lambda t: graphs.steps[t].target)
    states = _states(graphs, [graphs.steps[t].target for t in order])
    feeds = _feeds(graphs, states)
    return Wiring(
        params=_params(graphs, measures, stored),
        states=states,
        transitions=_transitions(graphs, order),
        feeds=np.array(feeds, dtype=np.int64),
        barriers=np.array([mask(total.absences) for total in graphs.totals], dtype=np.int64),
        trees=_trees(graphs),
        measures=_measures(measures, attributes),
        measured=_measured(graphs, measures),
        negative_barriers=np.array([mask(total.absences) for total in graphs.negative_totals], dtype=np.int64),
    )


def mask(numbers: Iterable[int]) -> int:
    """The numbers as bits."""
    return sum(1 << number for number in set(numbers))


def sizes_of(graphs: Graphs, measures: Measures, stored: int) -> Sizes:
    """The sizes of the rows of a query's store."""
    waiting = len(graphs.trees) if graphs.plan.strict else 0
    return Sizes(
        windows=windows_of(graphs.plan.window),
        numbers=len(measures.numbers),
        extremes=len(measures.extremes),
        totals=2 * len(graphs.totals) if graphs.plan.strict else len(graphs.totals),
        lists=len(graphs.lists),
        trees=len(graphs.trees),
        negatives=len(graphs.plan.negatives),
        negative_totals=len(graphs.negative_totals),
        marks=(layout.ALL_MARKS if graphs.needs_marks else layout.MARKS) + waiting,
        stored=stored + waiting,
        unlimited=graphs.plan.exact,
        fixed=graphs.plan.window.opens is None,
        cells=len(graphs.places) * (len(graphs.places) + 1) if shares_panes(graphs.plan) else 0,
    )


def _params(graphs: Graphs, measures: Measures, stored: int) -> Ints:
    """int64 [PARAMS_SIZE]: the constants of a query. `stored`: the number of attributes kept with a vertex."""
    plan, window = graphs.plan, graphs.plan.window
    params = np.zeros(layout.PARAMS_SIZE, dtype=np.int64)
    params[layout.SIZE] = window.size
    params[layout.SLIDE] = window.slide or 1
    params[layout.IN_EVENTS] = window.events
    params[layout.ON_OPEN] = window.opens is not None
    params[layout.STRICT] = plan.strict
    params[layout.KEY_WIDTH] = len(plan.key)
    params[layout.GROUP_WIDTH] = len(plan.group)
    params[layout.STARTS] = mask(s for s, p in enumerate(graphs.places) if p.negative is None and p.state.start)
    leading = {negative for place in graphs.places for negative in place.state.leading}
    begun = mask(s for s, p in enumerate(graphs.places) if p.negative in leading and p.state.start)
    params[layout.OPENERS] = params[layout.STARTS] | begun
    params[layout.LATE] = graphs.late
    params[layout.BOTH] = bool(plan.sides)
    params[layout.MARKED] = bool(plan.negatives)
    params[layout.STORED] = stored
    params[layout.ALL_MARKED] = graphs.needs_marks
    params[layout.PANED] = shares_panes(plan)
    params[layout.COUNTED] = sum(measure.function == "count" for measure in measures.numbers)
    return params


def _states(graphs: Graphs, targets: list[int]) -> Ints:
    """int64 [S, STATE_SIZE]: the states, without their totals, which `_feeds` adds.

    `targets`: the state that each transition enters, in the order of the transitions' rows.
    """
    states = np.full((len(graphs.places), layout.STATE_SIZE), -1, dtype=np.int64)
    for s, place in enumerate(graphs.places):
        final = graphs.final_of(s)
        states[s, layout.IS_START] = place.state.start
        states[s, layout.IS_END] = place.state.end
        states[s, layout.LIST] = graphs.lists.index(s) if s in graphs.lists else -1
        states[s, layout.ENTERING] = targets.index(s) if s in targets else 0
        states[s, layout.ENTERING_SIZE] = targets.count(s)
        states[s, layout.LEADING] = mask(place.state.leading)
        states[s, layout.TRAILING] = mask(place.state.trailing)
        states[s, layout.NEGATIVE] = -1 if place.negative is None else place.negative
        states[s, layout.SIDE] = place.side
        states[s, layout.FINAL] = -1 if final is None else graphs.totals[final]
        states[s, layout.SINGLE] = s in graphs.single
        states[s, layout.HELD_BACK] = s not in graphs.listed
    return states


def _feeds(graphs: Graphs, states: Ints) -> list[int]:
    """Totals by the state that feeds them; the states' columns FEEDING are set."""
    feeds: list[int] = []
    for s, place in enumerate(graphs.places):
        totals: dict[Total, int] = graphs.totals if place.negative is None else graphs.negative_totals
        own = [number for total, number in totals.items() if total.source == s]
        states[s, layout.FEEDING] = len(feeds)
        states[s, layout.FEEDING_SIZE] = len(own)
        feeds += own
    return feeds


def _transitions(graphs: Graphs, order: list[int]) -> Ints:
    """int64 [T, TRANSITION_SIZE]: the transitions, a row for each step number in `order`."""
    transitions = np.zeros((len(order), layout.TRANSITION_SIZE), dtype=np.int64)
    for row, t in enumerate(order):
        step, total = graphs.steps[t], graphs.total_of(t)
        leaving = [other for other in range(len(graphs.steps)) if graphs.steps[other].source == step.source]
        totals = graphs.totals if step.negative is None else graphs.negative_totals
        asked = graphs.asked_of(t)
        transitions[row, layout.TREE] = list(graphs.trees).index(t) if t in graphs.trees else -1
        transitions[row, layout.SOURCE] = step.source
        transitions[row, layout.CONDITION] = graphs.conditions[asked] if asked else -1
        transitions[row, layout.SUM] = -1 if total is None else totals[total]
        transitions[row, layout.ABSENCES] = mask(step.transition.absences)
        transitions[row, layout.STRATEGY] = _STRATEGIES[step.transition.strategy]
        transitions[row, layout.WAITS] = graphs.waits(t)
        transitions[row, layout.BIT] = leaving.index(t)
        transitions[row, layout.ENDS] = mask(leaving.index(end) for end in step.ends)
        if total is not None and step.ends:
            ended = (graphs.total_of(end) for end in step.ends)
            transitions[row, layout.EMPTIED] = mask(graphs.totals[end] for end in ended if end is not None)
    return transitions


def _trees(graphs: Graphs) -> Ints:
    """int64 [trees, TREE_SIZE]: the ordered trees. Their roots stand in the row of a key, behind its lists."""
    rows = np.zeros((len(graphs.trees), layout.TREE_SIZE), dtype=np.int64)
    first = 1 + len(graphs.plan.key) + layout.AFTER_LISTS + layout.LIST_SIZE * len(graphs.lists)
    for number, (row, (t, asked)) in enumerate(zip(rows, graphs.trees.items(), strict=True)):
        row[layout.T_SOURCE] = graphs.steps[t].source
        row[layout.T_COLUMN] = first + number
        row[layout.T_BARRIERS] = mask(graphs.steps[t].transition.absences)
        row[layout.T_LOW] = ordered.AFTER if asked.low is not None and asked.low.operator == ">" else ordered.BEFORE
        row[layout.T_HIGH] = ordered.BEFORE if asked.high is not None and asked.high.operator == "<" else ordered.AFTER
        row[layout.T_UNEQUAL] = asked.unequal is not None
    return rows


def _measures(measures: Measures, attributes: Sequence[tuple[str, Kind]]) -> Ints:
    """int64 [A + B, 3]: function, row of the attribute, row of its mantissas; -1 for none."""
    rows = np.full((len(measures.all), 3), -1, dtype=np.int64)
    summed = [name for name, _ in measures.summed]
    for row, measure in zip(rows, measures.all, strict=True):
        row[0] = _FUNCTIONS[measure.function]
        if measure.attribute is not None:
            row[1] = next(at for at, one in enumerate(attributes) if one == (measure.attribute, measure.kind))
        if measure.function == "sum" and measure.attribute is not None:
            row[2] = summed.index(measure.attribute)
    return rows


def _measured(graphs: Graphs, measures: Measures) -> Flags:
    return np.array(
        [
            [place.negative is None and place.state.component == measure.component for measure in measures.all]
            for place in graphs.places
        ],
        dtype=np.bool_,
    )
