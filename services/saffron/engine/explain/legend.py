"""The meaning of the names in a match kernel's text, by the query: one line a name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from saffron.engine.match.core.automaton import Feature, State, What
from saffron.engine.match.core.kernel_layout import Names, lane_array
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pairs import rest_of_name

_WHAT = {
    What.FIRST: "{} of the first event of {}",
    What.LAST: "{} of the last event of {}",
    What.SPREAD: "sum of squared distances of {} in {} from their mean",
    What.MEAN: "mean of {} in {}",
    What.NUMBER: "how many {} in {} are not null",
    What.SUM: "sum of {} in {}",
    What.MIN: "least {} in {}",
    What.MAX: "greatest {} in {}",
    What.MIN_REST: "of the least {} in {}, what is left behind the nearest float64",
    What.MAX_REST: "of the greatest {} in {}, what is left behind the nearest float64",
}


def components(plan: MatchPlan, *, flat: bool) -> Iterator[str]:
    """The components by their numbers, and their bits in the mask of an event. `flat`: closures have a bit more."""
    for number, part in enumerate(plan.components):
        kind = "events" if part.closure else "an event"
        bits = f"mask bit {2 * number if flat else number}"
        if flat and part.closure:
            bits += f" for the first, {2 * number + 1} for others"
        yield f"component {number}: {part.variable}, {kind} of type {part.types}; {bits}"


def attributes(names: Names) -> Iterator[str]:
    """Columns, and the values of the event at hand."""
    for number, (name, kind) in enumerate(names.attributes.items()):
        yield f"c{number}, x{number}: {attribute(name)} ({kind.value}), the column and the event's own value"
    if any(kind.is_number for kind in names.attributes.values()):
        yield "rN: xN as float64; kN: 1.0, or 0.0 where xN is null; zN: rN, or 0.0 where xN is null"


def constants(names: Names) -> Iterator[str]:
    """The array of constants; a string stands there by its code."""
    for number, value in enumerate(names.constants):
        yield f"constants[{number}]: {value!r}"


def states(plan: MatchPlan, found: Iterable[State], *, flat: bool) -> Iterator[str]:
    """The legend of pools of runs, and of a run's features."""
    for state in found:
        c = state.index
        who = f"runs that have bound {plan.components[c].variable} last" if flat else "all runs"
        yield f"pool {c}: {who}; arrays F{c}, I{c} (values), H{c} (chain of events), G{c} (where each key's runs are)"
        for feature in state.features:
            yield f"{lane_array(state, feature)}: {carried(feature, plan)}"


def carried(feature: Feature, plan: MatchPlan) -> str:
    """A value that a run carries, in words."""
    if feature.component < 0:
        return f"the run's own: {feature.name}"
    variable = plan.components[feature.component].variable
    if feature.what is What.LENGTH:
        return f"number of events of {variable}"
    of = attribute(feature.name)
    if feature.what is What.PREVIOUS:
        return f"{of} of {variable}, {feature.back - 1} before the last"
    if feature.what is What.NTH:
        return f"{of} of event {feature.back} of {variable}"
    if feature.what is What.FOLD:
        words = f"{feature.function}({of}) of {variable} so far"
    else:
        words = _WHAT[feature.what].format(of, variable)
    return f"{words}, before the last event" if feature.back else words


def attribute(name: str) -> str:
    """An attribute as the user knows it; of those that hold a rest, whose."""
    whole = rest_of_name(name)
    return name if whole is None else f"what float64 leaves of {whole}"
