"""The explanation of an aggregate query: graphs and their dependencies, panes, indexes, cost (T2, T4, T6, T8)."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from saffron.counted import counted
from saffron.language.cost.complexity import trend_complexity
from saffron.language.explain.delivery import delivery_fields, delivery_json
from saffron.language.explain.explained import WIDTH, common, cost_line, engine_field, fields_of, key_line, variables_of
from saffron.language.explain.template_text import (
    Graph,
    between,
    dependencies,
    found_by,
    graphs,
    marks_of,
    state_names,
)
from saffron.language.plan.formulas import amount, attribute_shown, attribute_written, formula, window_line
from saffron.language.plan.trend_plan import TrendPlan
from saffron.language.trends.edge_index import EdgeIndex
from saffron.language.trends.shared_panes import shares_panes


def trend_text(plan: TrendPlan, engine: str = "") -> list[str]:
    """The explanation, line by line. `engine`: see `explain_text`."""
    numbers = {"numbers": "integers of any size"} if plan.exact else {}
    lines = [
        f"aggregate query {plan.name}",
        *fields_of(
            stream=plan.stream,
            strategy=_strategy_line(plan),
            time="events with equal ts are never adjacent" if plan.strict else "by (ts, arrival)",
            key=key_line(plan.key),
            group=", ".join(map(attribute_written, plan.group)) or "none: one result for each window",
            window=window_line(plan.window, trends=True),
            panes=_panes_line(plan),
            **numbers,
            **delivery_fields(plan),
            cost=cost_line(trend_complexity(plan)),
            **engine_field(engine),
        ),
    ]
    for graph in graphs(plan):
        lines += ["", graph.title, *_template_lines(graph, plan)]
    waiting = dependencies(plan)
    if waiting:
        lines += ["", "dependencies", *(f"  {name}: {', '.join(others)} first" for name, others in waiting.items())]
    names = variables_of(plan)
    lines += ["", "returns", *_return_lines(plan, names)]
    if plan.having is not None:
        lines += ["", "having", f"  {formula(plan.having, names, trends=plan)}"]
    return lines


def _strategy_line(plan: TrendPlan) -> str:
    """The strategy of the pattern, and those of steps that differ."""
    found = [plan.strategy.value]
    for graph in graphs(plan):
        names = state_names(graph.template, plan)
        found += [
            f"{link.strategy.value} from {names[link.source]} to {names[link.target]}"
            for link in graph.template.transitions
            if graph.negative is None and link.strategy is not plan.strategy
        ]
    return ", ".join(dict.fromkeys(found))


def _pane(plan: TrendPlan) -> int | None:
    """The size of a pane, the greatest common divisor of WITHIN and SLIDE; None where events open windows."""
    return None if plan.window.slide is None else math.gcd(plan.window.size, plan.window.slide)


def _panes_line(plan: TrendPlan) -> str:
    """The line about panes: their size, and the windows of an event."""
    pane, windows = _pane(plan), plan.window.overlapping
    if pane is None or windows is None:
        return "none: an event lies in each window that is open when it comes"
    if shares_panes(plan):
        return f"{amount(plan.window, plan.window.slide or 0)} each; an event counts once, in its pane"
    number = plan.window.size // pane
    lies = counted(windows, "window")
    return f"{amount(plan.window, pane)} each, {number} to a window; an event lies in {lies}"


def _template_lines(graph: Graph, plan: TrendPlan) -> list[str]:
    """The lines of a graph: one for each state, and two or more for each transition, with its predecessors' index."""
    template = graph.template
    if not template.states:
        return ["  none: no sequence of events matches both"]
    variables, names = variables_of(plan), state_names(template, plan)
    lines: list[str] = []
    for at, state in enumerate(template.states):
        local = "".join(f" AND {formula(expr, variables, conjunct=True)}" for expr in template.local[at])
        marks = marks_of(template, at)
        text = f"  {names[at]:<6} type = {plan.components[state.component].types}{local}"
        lines.append(text + (f"  ({', '.join(marks)})" if marks else ""))
    for link, index in zip(template.transitions, graph.indexes, strict=True):
        conditions = " AND ".join(formula(expr, variables, conjunct=True) for expr in link.conditions) or "true"
        words = between(link, names, template)
        lines.append(f"  {names[link.source]} -> {names[link.target]}  {conditions}")
        note = "; ".join([*words, f"predecessors: {found_by(index, variables)}"])
        lines += textwrap.wrap(note, WIDTH, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False)
    return lines


def _return_lines(plan: TrendPlan, names: list[str]) -> list[str]:
    lines = []
    for item in plan.returns:
        text = formula(item.expr, names, trends=plan)
        lines.append(f"  {item.name}" if text == item.name else f"  {item.name} = {text}")
    return lines


# ---------------------------------------------------------------- for programs


def trend_json(plan: TrendPlan) -> dict[str, Any]:
    """The content of `trend_text` as JSON values. `states` and `transitions` are those of the (left) template."""
    names = variables_of(plan)
    first, *others = graphs(plan)
    return {
        "kind": "aggregate",
        **common(plan, trend_complexity(plan)),
        "group": list(map(attribute_shown, plan.group)),
        "strict": plan.strict,
        "exact": plan.exact,
        **delivery_json(plan),
        "panes": {"size": _pane(plan), "windows": plan.window.overlapping},
        **_template_json(first, plan),
        "graphs": [{"title": one.title, "negative": one.negative, **_template_json(one, plan)} for one in others],
        "dependencies": dependencies(plan),
        "returns": [{"name": item.name, "expression": formula(item.expr, names, trends=plan)} for item in plan.returns],
        "having": None if plan.having is None else formula(plan.having, names, trends=plan),
    }


def _template_json(graph: Graph, plan: TrendPlan) -> dict[str, Any]:
    """The states and transitions of a graph as JSON. NOTs are numbers from 0 on, unlike in the text."""
    template, variables = graph.template, variables_of(plan)
    names = state_names(template, plan)
    return {
        "states": [
            {
                "name": names[at],
                "variable": variables[state.component],
                "type": str(plan.components[state.component].types),
                "start": state.start,
                "end": state.end,
                "not_before": list(state.leading),
                "not_behind": list(state.trailing),
                "conditions": [formula(expr, variables) for expr in template.local[at]],
            }
            for at, state in enumerate(template.states)
        ],
        "transitions": [
            {
                "from": names[link.source],
                "to": names[link.target],
                "conditions": [formula(expr, variables) for expr in link.conditions],
                "strategy": link.strategy.value,
                "not_between": list(link.absences),
                "index": _index_json(index, variables),
            }
            for link, index in zip(template.transitions, graph.indexes, strict=True)
        ],
    }


def _index_json(index: EdgeIndex, names: list[str]) -> dict[str, Any]:
    return {
        "search": index.search.name.lower(),
        "key": None if index.key is None else formula(index.key, names),
        "equalities": [[formula(one.earlier, names), formula(one.later, names)] for one in index.equalities],
        "ranges": [[one.operator, formula(one.later, names)] for one in index.bounds],
        "each_pair": [formula(one, names) for one in index.rest],
    }
