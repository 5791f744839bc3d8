"""Explanations of a plan, for people (text, SVG) and for programs (JSON)."""

from __future__ import annotations

from typing import Any

from saffron.carets import printable
from saffron.language.cost.complexity import match_complexity
from saffron.language.cost.shedders import AUTO
from saffron.language.cost.shedding import partial_matches
from saffron.language.explain.automaton import FINAL, Move, build, within_formula
from saffron.language.explain.delivery import delivery_fields, delivery_json
from saffron.language.explain.drawing import draw_automaton, draw_pattern
from saffron.language.explain.drawing_trends import draw_trends
from saffron.language.explain.explained import (
    WIDTH,
    common,
    cost_line,
    engine_field,
    fields_of,
    key_line,
    variables_of,
    wrapped,
)
from saffron.language.explain.outline import condition_lines, link_lines, outline, outline_json, strategy_line
from saffron.language.explain.trends import trend_json, trend_text
from saffron.language.plan.clauses import Output, ReturnItem
from saffron.language.plan.consistency import condition_timings
from saffron.language.plan.formulas import formula, window_line
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.merging import merging
from saffron.language.plan.plan import Plan


def explain_text(plan: Plan, shed: str = AUTO, engine: str = "") -> str:
    """The plan for a terminal: strategy, key, window, cost, and the automaton or the template.

    `shed`: its shedder. `engine`: the description of the engine that runs it (`engine.explain`), "" if unknown.
    """
    lines = _match_text(plan, shed, engine) if isinstance(plan, MatchPlan) else trend_text(plan, engine)
    return "".join(printable(line) + "\n" for line in lines)


def explain_json(plan: Plan, shed: str = AUTO) -> dict[str, Any]:
    """The plan as JSON values: the same content as `explain_text`, in parts."""
    return _match_json(plan, shed) if isinstance(plan, MatchPlan) else trend_json(plan)


def explain_svg(plan: Plan) -> str:
    """The automaton or the template as a self-contained SVG document."""
    title = f"{plan.name}: {plan.text}"
    if isinstance(plan, MatchPlan):
        return draw_automaton(build(plan), within_formula(plan), title) if plan.flat else draw_pattern(plan, title)
    return draw_trends(plan, title)


# ---------------------------------------------------------------- match queries


def _match_text(plan: MatchPlan, shed: str, engine: str) -> list[str]:
    """The lines of a match query's explanation. A flat plan has its automaton, any other one its pattern."""
    cost = match_complexity(plan)
    time = {"time": "events with equal ts are never adjacent"} if plan.strict else {}
    return [
        f"match query {plan.name}",
        *fields_of(
            stream=plan.stream,
            strategy=strategy_line(plan),
            **time,
            key=key_line(plan.key),
            window=window_line(plan.window, trends=False),
            **_output_fields(plan),
            **delivery_fields(plan),
            cost=cost_line(cost),
            **engine_field(engine),
            **({"merging": merging(plan).reason} if plan.flat else {}),
        ),
        *wrapped(f"  partial matches: {partial_matches(plan, shed).reason}"),
        "",
        *(_automaton_lines(plan) if plan.flat else _pattern_lines(plan)),
        *_timing_lines(plan),
        *_return_lines(plan),
    ]


def _output_json(plan: MatchPlan) -> dict[str, Any]:
    """The fields of OUTPUT, CONSUME, INTO and CONFIDENCE that differ from the default."""
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
    """The lines of OUTPUT, CONFIDENCE, CONSUME and INTO, by name."""
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


def _timing_lines(plan: MatchPlan) -> list[str]:
    """The evaluation times of conditions that could be postponed."""
    found = condition_timings(plan)
    names = variables_of(plan)
    texts = [formula(one.check.expr, names) for one in found]
    width = max(map(len, texts), default=0)
    lines = [
        f"  {text:<{width}}  {one.time.value}: {one.consistency.value}" for text, one in zip(texts, found, strict=True)
    ]
    return ["", "evaluation time of conditions (SASE++)", *lines] if lines else []


def _pattern_lines(plan: MatchPlan) -> list[str]:
    """The sections of a pattern that is not flat: outline, successions, conditions."""
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
    names = variables_of(plan)
    items = [f"  {item.name} = {formula(item.expr, names)}" for item in plan.returns]
    plain = [
        line.split(" = ")[0] if _is_plain(item, names) else line for line, item in zip(items, plan.returns, strict=True)
    ]
    return ["", "returns", *plain]


def _is_plain(item: ReturnItem, names: list[str]) -> bool:
    """True if an item of RETURN has its expression's text as its name."""
    return item.name == formula(item.expr, names)


def _match_json(plan: MatchPlan, shed: str) -> dict[str, Any]:
    """The explanation of a match query as JSON values, without its engine."""
    names = variables_of(plan)
    return {
        "kind": "match",
        **common(plan, match_complexity(plan)),
        "components": [
            {"variable": part.variable, "type": str(part.types), "closure": part.closure} for part in plan.components
        ],
        **(_automaton_json(plan) if plan.flat else outline_json(plan)),
        **_timing_json(plan),
        **_merging_json(plan),
        **_partial_json(plan, shed),
        **_output_json(plan),
        **delivery_json(plan),
        "returns": [{"name": item.name, "expression": formula(item.expr, names)} for item in plan.returns],
    }


def _merging_json(plan: MatchPlan) -> dict[str, Any]:
    """The merging of equivalent runs as JSON: whether it is done, and the values that the runs must have in common."""
    found = merging(plan)
    closure = None if found.component is None else plan.components[found.component].variable
    return {"merging": {"closure": closure, "values": list(found.values), "reason": found.reason}}


def _partial_json(plan: MatchPlan, shed: str) -> dict[str, Any]:
    """The partial matches of a query under a shedder as JSON: whether there are any, and why."""
    found = partial_matches(plan, shed)
    return {"partial_matches": {"shed": shed, "kept": found.kept, "reason": found.reason}}


def _timing_json(plan: MatchPlan) -> dict[str, Any]:
    """The content of `_timing_lines` as JSON."""
    names = variables_of(plan)
    found = [
        {
            "condition": formula(one.check.expr, names),
            "consistency": one.consistency.value,
            "asked": one.time.value,
        }
        for one in condition_timings(plan)
    ]
    return {"postponing": found} if found else {}


def _automaton_json(plan: MatchPlan) -> dict[str, Any]:
    """The states of a flat plan with their edges, as JSON; the last one is the final state, which has no component."""
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
