"""The text of a random flat plan, as a user would write it."""

from __future__ import annotations

from saffron.language.plan.formulas import attribute_written, formula
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.syntax.lexing.tokens import name_text


def text_of(plan: MatchPlan) -> str:
    """A query that means what the plan says."""
    names = [name_text(component.variable) for component in plan.components]
    parts = [
        f"{part.types}{'+' if part.closure else ''} {name}" for part, name in zip(plan.components, names, strict=True)
    ]
    keys = [f"[{', '.join(map(attribute_written, plan.key))}]"] if plan.key else []
    conditions = dict.fromkeys(f"({formula(condition.expr, names)})" for condition in plan.conditions)
    where = " AND ".join([*keys, *conditions])
    returns = ", ".join(f"{formula(item.expr, names)} AS {item.name}" for item in plan.returns)
    clauses = [
        f"PATTERN SEQ({', '.join(parts)})",
        f"WHERE {plan.strategy.value} {{ {where} }}",
        _within(plan),
        f"RETURN {returns}" if returns else "",
    ]
    return " ".join(filter(None, clauses))


def _within(plan: MatchPlan) -> str:
    window = plan.window
    unit = "EVENTS" if window.events else "ms"
    text = f"WITHIN {window.size} {unit}"
    if window.slide is not None:
        text += f" SLIDE {window.slide} {unit}"
    if window.opens is not None:
        text += f" OPEN ON {window.opens.type}"
        if window.opens.expr is not None:
            text += f" WHERE {formula(window.opens.expr, [window.opens.type])}"
    return text
