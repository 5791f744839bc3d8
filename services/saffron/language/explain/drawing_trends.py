"""The SVG drawing of an aggregate query: the templates of trends, then one for each NOT, all in one row."""

from __future__ import annotations

from saffron.language.explain.drawing import Arrow, Node, draw
from saffron.language.explain.explained import variables_of
from saffron.language.explain.template_text import Graph, between, dependencies, found_by, graphs, nots, state_names
from saffron.language.plan.formulas import formula
from saffron.language.plan.trend_plan import TrendPlan


def draw_trends(plan: TrendPlan, title: str) -> str:
    """The drawing of a plan; its legend has the conditions, and the way to find predecessors."""
    nodes: list[Node] = []
    arrows: list[Arrow] = []
    notes: list[str] = []
    several = bool(plan.sides or plan.negatives)
    for graph in graphs(plan):
        names = state_names(graph.template, plan)
        notes += [f"{graph.title}: {', '.join(names)}"] if several else []
        arrows += _arrows(graph, plan, names, len(nodes))
        for at, state in enumerate(graph.template.states):
            nodes.append(Node(names[at], state.end, state.start))
            notes.append(_note(graph, plan, names[at], at))
    notes += [f"{name}: {', '.join(others)} first" for name, others in dependencies(plan).items()]
    return draw(nodes, arrows, [*notes, ""], title)


def _note(graph: Graph, plan: TrendPlan, name: str, at: int) -> str:
    """The legend's line about a state: type, local conditions, leading and trailing NOTs."""
    variables = variables_of(plan)
    state = graph.template.states[at]
    text = f"{name}: type = {plan.components[state.component].types}"
    text += "".join(f" AND {formula(expr, variables, conjunct=True)}" for expr in graph.template.local[at])
    for word, absent in (("begins after", state.leading), ("ends before", state.trailing)):
        text += f", {word} {nots(absent)}" if absent else ""
    return text


def _arrows(graph: Graph, plan: TrendPlan, names: list[str], first: int) -> list[Arrow]:
    """The edges of a graph; `first` is the index of its first state in the drawing."""
    variables = variables_of(plan)
    found = []
    for link, index in zip(graph.template.transitions, graph.indexes, strict=True):
        conditions = " AND ".join(formula(expr, variables, conjunct=True) for expr in link.conditions) or "true"
        words = [conditions, *between(link, names, graph.template), found_by(index, variables)]
        ends = f"{names[link.source]} -> {names[link.target]}"
        word = "NOT " + ",".join(str(number + 1) for number in link.absences) if link.absences else ""
        found.append(Arrow(first + link.source, first + link.target, word, "; ".join(words), legend=ends))
    return found
