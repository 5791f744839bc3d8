"""What a plan will do, for people (text, SVG) and for programs (JSON)."""

from __future__ import annotations

import textwrap
from typing import Any

from saffron.language.automaton import FINAL, Move, build, within_formula
from saffron.language.complexity import Complexity, match_complexity, trend_complexity
from saffron.language.consistency import postponing
from saffron.language.drawing import draw_automaton, draw_pattern, draw_template
from saffron.language.errors import printable
from saffron.language.formulas import formula, window_line
from saffron.language.outline import condition_lines, link_lines, outline, outline_json, strategy_line
from saffron.language.plan import MatchPlan, Output, Plan, ReturnItem, TrendPlan, Window

WIDTH = 100


def explain_text(plan: Plan) -> str:
    """The plan for a terminal: strategy, key, window, cost, and the automaton or the template."""
    lines = _match_text(plan) if isinstance(plan, MatchPlan) else _trend_text(plan)
    return "".join(printable(line) + "\n" for line in lines)


def explain_json(plan: Plan) -> dict[str, Any]:
    """The plan as JSON values: the same content as `explain_text`, in parts."""
    return _match_json(plan) if isinstance(plan, MatchPlan) else _trend_json(plan)


def explain_svg(plan: Plan) -> str:
    """The automaton or the template as a self-contained SVG document."""
    title = f"{plan.name}: {plan.text}"
    if isinstance(plan, MatchPlan):
        return draw_automaton(build(plan), within_formula(plan), title) if plan.flat else draw_pattern(plan, title)
    return draw_template(plan, title)


# ---------------------------------------------------------------- match queries


def _match_text(plan: MatchPlan) -> list[str]:
    cost = match_complexity(plan)
    time = {"time": "events with equal ts are never adjacent"} if plan.strict else {}
    return [
        f"match query {plan.name}",
        *_fields(
            stream=plan.stream,
            strategy=strategy_line(plan),
            **time,
            key=_key_line(plan.key),
            window=window_line(plan.window, trends=False),
            **_output_fields(plan),
            cost=_cost_line(cost),
        ),
        "",
        *(_automaton_lines(plan) if plan.flat else _pattern_lines(plan)),
        *_postponing_lines(plan),
        *_return_lines(plan),
    ]


def _output_json(plan: MatchPlan) -> dict[str, Any]:
    """What is reported, where it is not simply every match."""
    fields: dict[str, Any] = {}
    if plan.output is not Output.ALL or plan.timeouts:
        fields |= {"output": plan.output.value, "timeouts": plan.timeouts}
    if plan.consume:
        fields["consume"] = [plan.components[component].variable for component in plan.consume]
    if plan.into is not None:
        fields["into"] = plan.into
    if plan.confidence is not None:
        fields["confidence"] = plan.confidence
    return fields


def _output_fields(plan: MatchPlan) -> dict[str, str]:
    found = _output_json(plan)
    fields: dict[str, str] = {}
    if "output" in found:
        fields["output"] = found["output"] + (" with timeouts" if plan.timeouts else "")
    if "confidence" in found:
        fields["likely"] = f"confidence >= {plan.confidence}"
    if "consume" in found:
        fields["consume"] = ", ".join(found["consume"])
    if "into" in found:
        fields["into"] = found["into"]
    return fields


def _automaton_lines(plan: MatchPlan) -> list[str]:
    lines = ["automaton (NFA^b)"]
    within = within_formula(plan)
    for state in build(plan):
        lines.append(f"  {state.name}")
        for move in state.moves:
            lines.extend(_move_lines(move, state.name, within))
    return [*lines, f"  {FINAL}  a match"]


def _postponing_lines(plan: MatchPlan) -> list[str]:
    """When conditions are asked that a plan could ask late."""
    found = postponing(plan)
    names = _names(plan)
    texts = [formula(one.check.expr, names) for one in found]
    width = max(map(len, texts), default=0)
    lines = [
        f"  {text:<{width}}  {one.asked.value}: {one.consistency.value}" for text, one in zip(texts, found, strict=True)
    ]
    return ["", "when conditions are asked (SASE++)", *lines] if lines else []


def _pattern_lines(plan: MatchPlan) -> list[str]:
    """The parts of a pattern that is no plain row of components."""
    sections = {
        "pattern": list(outline(plan.pattern, plan)),
        "what may follow what": link_lines(plan),
        "conditions": condition_lines(plan),
    }
    lines: list[str] = []
    for name, content in sections.items():
        if content:
            lines += ["", name, *(f"  {line}" for line in content)]
    return lines[1:]


def _move_lines(move: Move, source: str, within: str) -> list[str]:
    """An edge and its formula, wrapped at its conjuncts."""
    target = "stay" if move.target == source else f"-> {move.target}"
    head = f"    {move.kind:<8} {target:<8} "
    conjuncts = list(move.formula) or (["true"] if not move.within else [])
    conjuncts += [within] if move.within else []
    lines, line = [], head + conjuncts[0]
    for conjunct in conjuncts[1:]:
        if len(line) + len(conjunct) + 5 > WIDTH:
            lines.append(line)
            line = " " * len(head) + "AND " + conjunct
        else:
            line += " AND " + conjunct
    return [*lines, line]


def _return_lines(plan: MatchPlan) -> list[str]:
    if not plan.returns:
        return ["", "returns the events of each match"]
    names = _names(plan)
    items = [f"  {item.name} = {formula(item.expr, names)}" for item in plan.returns]
    plain = [
        line.split(" = ")[0] if _is_plain(item, names) else line for line, item in zip(items, plan.returns, strict=True)
    ]
    return ["", "returns", *plain]


def _is_plain(item: ReturnItem, names: list[str]) -> bool:
    return item.name == formula(item.expr, names)


def _match_json(plan: MatchPlan) -> dict[str, Any]:
    names = _names(plan)
    return {
        "kind": "match",
        **_common(plan, match_complexity(plan)),
        "components": [
            {"variable": part.variable, "type": part.type, "closure": part.closure} for part in plan.components
        ],
        **(_automaton_json(plan) if plan.flat else outline_json(plan)),
        **_postponing_json(plan),
        **_output_json(plan),
        "returns": [{"name": item.name, "expression": formula(item.expr, names)} for item in plan.returns],
    }


def _postponing_json(plan: MatchPlan) -> dict[str, Any]:
    """As `_postponing_lines`."""
    names = _names(plan)
    found = [
        {
            "condition": formula(one.check.expr, names),
            "consistency": one.consistency.value,
            "asked": one.asked.value,
        }
        for one in postponing(plan)
    ]
    return {"postponing": found} if found else {}


def _automaton_json(plan: MatchPlan) -> dict[str, Any]:
    within = within_formula(plan)
    return {
        "states": [
            {
                "name": state.name,
                "component": plan.components[state.component].variable,
                "edges": [
                    {
                        "edge": move.kind,
                        "to": move.target,
                        "conditions": [*move.formula, *([within] if move.within else [])],
                    }
                    for move in state.moves
                ],
            }
            for state in build(plan)
        ]
        + [{"name": FINAL, "component": None, "edges": []}],
    }


# ---------------------------------------------------------------- aggregate queries


def _trend_text(plan: TrendPlan) -> list[str]:
    names = [component.variable for component in plan.components]
    lines = [
        f"aggregate query {plan.name}",
        *_fields(
            stream=plan.stream,
            strategy=plan.strategy.value,
            time="events with equal ts are never adjacent" if plan.strict else "by (ts, arrival)",
            key=_key_line(plan.key),
            group=", ".join(plan.group) or "none: one result for each window",
            window=window_line(plan.window, trends=True),
            cost=_cost_line(trend_complexity(plan)),
        ),
        "",
        "template (GRETA)",
    ]
    for index, state in enumerate(plan.template.states):
        marks = [word for word, holds in (("start", state.start), ("end", state.end)) if holds]
        local = "".join(f" AND {formula(expr, names, conjunct=True)}" for expr in plan.template.local[index])
        taken = plan.components[state.component]
        lines.append(f"  {taken.variable:<6} type = {taken.type}{local}" + (f"  ({', '.join(marks)})" if marks else ""))
    for transition in plan.template.transitions:
        conditions = " AND ".join(formula(expr, names, conjunct=True) for expr in transition.conditions) or "true"
        lines.append(f"  {names[transition.source]} -> {names[transition.target]}  {conditions}")
    return [*lines, "", "returns", *(f"  {item.name}" for item in plan.returns)]


def _trend_json(plan: TrendPlan) -> dict[str, Any]:
    names = [component.variable for component in plan.components]
    return {
        "kind": "aggregate",
        **_common(plan, trend_complexity(plan)),
        "group": list(plan.group),
        "strict": plan.strict,
        "states": [
            {
                "variable": names[state.component],
                "type": plan.components[state.component].type,
                "start": state.start,
                "end": state.end,
                "conditions": [formula(expr, names) for expr in plan.template.local[index]],
            }
            for index, state in enumerate(plan.template.states)
        ],
        "transitions": [
            {
                "from": names[transition.source],
                "to": names[transition.target],
                "conditions": [formula(expr, names) for expr in transition.conditions],
            }
            for transition in plan.template.transitions
        ],
        "returns": [{"name": item.name, "expression": formula(item.expr, names, trends=plan)} for item in plan.returns],
    }


# ---------------------------------------------------------------- shared


def _names(plan: MatchPlan) -> list[str]:
    return [component.variable for component in plan.components]


def _fields(**fields: str) -> list[str]:
    """`  name     value`, long values wrapped below their beginning."""
    return [
        line
        for name, value in fields.items()
        for line in textwrap.wrap(
            f"  {name:<9}{value}", WIDTH, subsequent_indent=" " * 11, break_long_words=False, break_on_hyphens=False
        )
    ]


def _key_line(key: tuple[str, ...]) -> str:
    return f"[{', '.join(key)}], each value on its own" if key else "none"


def _cost_line(cost: Complexity) -> str:
    return f"{cost.name}, {cost.bound}: {cost.reason}"


def _common(plan: Plan, cost: Complexity) -> dict[str, Any]:
    return {
        "query": plan.name,
        "stream": plan.stream,
        "text": plan.text,
        "strategy": plan.strategy.value,
        "key": list(plan.key),
        "window": _window_json(plan.window),
        "complexity": {"class": cost.name, "bound": cost.bound, "reason": cost.reason},
    }


def _window_json(window: Window) -> dict[str, Any]:
    opens = window.opens
    return {
        "size": window.size,
        "slide": window.slide,
        "unit": "events" if window.events else "ms",
        "opens_on": None
        if opens is None
        else {"type": opens.type, "condition": None if opens.expr is None else formula(opens.expr, [opens.type])},
    }
