"""Texts about an aggregate query's templates: names of states, events in between, ways to find predecessors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from saffron.language.plan.formulas import formula
from saffron.language.plan.pattern import Strategy
from saffron.language.plan.trend_plan import Template, Transition, TrendPlan
from saffron.language.trends.edge_index import Comparison, EdgeIndex, Search
from saffron.language.trends.trend_graphs import predecessors

SKIPPING = {
    Strategy.STRICT: "nothing in between",
    Strategy.PARTITION: "nothing of the key in between",
    Strategy.NEXT: "what does not fit is skipped",
    Strategy.ANY: "",
}


@dataclass(frozen=True)
class Graph:
    """A template with its title and its transitions' indexes. `negative`: its NOT, None for a template of trends."""

    title: str
    template: Template
    indexes: tuple[EdgeIndex, ...]
    negative: int | None = None


def graphs(plan: TrendPlan) -> Iterator[Graph]:
    """All templates of a plan, those of trends first."""
    indexes = predecessors(plan)
    if not plan.sides:
        yield Graph("template (GRETA)", plan.template, next(indexes))
    else:
        yield Graph("template of the left side (GRETA)", plan.template, next(indexes))
        yield Graph("template of the right side", plan.sides[0], next(indexes))
        yield Graph("template of what both sides match", plan.sides[1], next(indexes))
    for number, negative in enumerate(plan.negatives):
        yield Graph(f"negative graph, NOT {number + 1}", negative, next(indexes), number)


def dependencies(plan: TrendPlan) -> dict[str, list[str]]:
    """Title of a graph -> the NOTs that it depends on; an event passes their graphs first (T4, T8)."""
    found: dict[str, list[str]] = {}
    for graph in graphs(plan):
        absent = {number for link in graph.template.transitions for number in link.absences}
        absent |= {number for state in graph.template.states for number in (*state.leading, *state.trailing)}
        if absent:
            name = graph.title.split(", ")[-1] if graph.negative is not None else graph.title.removesuffix(" (GRETA)")
            found[name] = [f"NOT {number + 1}" for number in sorted(absent)]
    return found


def state_names(template: Template, plan: TrendPlan) -> list[str]:
    """Names of a template's states: `A`, or `A:1`, `A:2` if several states have one component."""
    components = [state.component for state in template.states]
    names = []
    for at, component in enumerate(components):
        name = plan.components[component].variable
        number = components[: at + 1].count(component)
        names.append(f"{name}:{number}" if components.count(component) > 1 else name)
    return names


def nots(absences: tuple[int, ...]) -> str:
    """`NOT 1, 2`, or "" without absences."""
    return f"NOT {', '.join(str(number + 1) for number in absences)}" if absences else ""


def marks_of(template: Template, state: int) -> list[str]:
    """The marks of a state: `start after NOT 1`, `end before NOT 2`."""
    found = template.states[state]
    marks = []
    if found.start:
        marks.append(" after ".join(filter(None, ["start", nots(found.leading)])))
    if found.end:
        marks.append(" before ".join(filter(None, ["end", nots(found.trailing)])))
    return marks


def between(transition: Transition, names: list[str], template: Template) -> list[str]:
    """Texts about the events between two adjacent ones, and about the waits that the transition ends."""
    words = [nots(transition.absences), SKIPPING[transition.strategy]]
    others = [template.transitions[one] for one in transition.ends if template.transitions[one] is not transition]
    if others:
        words.append("and waits for " + ", ".join(names[one.target] for one in others) + " no longer")
    return [word for word in words if word]


def found_by(index: EdgeIndex, names: list[str]) -> str:
    """The way to find predecessors: `an ordered tree by A.x, below NEXT(A).x`."""
    where = str(index.search.value)
    if index.search is not Search.TREE:
        return where
    if index.key is None and not index.equalities:
        return f"{where} of one value: those that fit"
    equal = [f"{formula(one.earlier, names)} = {formula(one.later, names)}" for one in index.equalities]
    ranges = [_range(one, names) for one in index.bounds]
    ordered = "" if index.key is None else f" by {formula(index.key, names)}"
    each = f" for each {' and '.join(equal)}" if equal else ""
    return where + ordered + each + (f", {' and '.join(ranges)}" if ranges else "")


_RANGES = {"<": "below", "<=": "up to", ">": "above", ">=": "from", "!=": "below and above"}


def _range(comparison: Comparison, names: list[str]) -> str:
    """The text of a bound: `below NEXT(A).x`."""
    return f"{_RANGES[comparison.operator]} {formula(comparison.later, names)}"
