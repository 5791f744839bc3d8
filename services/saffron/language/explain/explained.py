"""The common parts of explanations of match and aggregate queries."""

from __future__ import annotations

import textwrap
from typing import Any

from saffron.language.cost.complexity import Complexity
from saffron.language.plan.clauses import Window
from saffron.language.plan.formulas import attribute_shown, attribute_written, formula
from saffron.language.plan.plan import Plan

WIDTH = 100


def fields_of(**fields: str) -> list[str]:
    """Lines `  name     value`; long values wrap below their beginning."""
    return [line for name, value in fields.items() for line in wrapped(f"  {name:<9}{value}")]


def wrapped(line: str) -> list[str]:
    """A line of an explanation's head, wrapped to WIDTH below its value."""
    return textwrap.wrap(line, WIDTH, subsequent_indent=" " * 11, break_long_words=False, break_on_hyphens=False)


def variables_of(plan: Plan) -> list[str]:
    """The variable of each component."""
    return [component.variable for component in plan.components]


def key_line(key: tuple[str, ...]) -> str:
    return f"[{', '.join(map(attribute_written, key))}], each value on its own" if key else "none"


def cost_line(cost: Complexity) -> str:
    return f"{cost.name}, {cost.bound}: {cost.reason}"


def engine_field(engine: str) -> dict[str, str]:
    """The field of the engine, unless it is unknown ("")."""
    return {"engine": engine} if engine else {}


def common(plan: Plan, cost: Complexity) -> dict[str, Any]:
    """The JSON fields that explanations of match and aggregate queries have in common."""
    return {
        "query": plan.name,
        "stream": plan.stream,
        "text": plan.text,
        "strategy": plan.strategy.value,
        "key": list(map(attribute_shown, plan.key)),
        "window": _window_json(plan.window),
        "complexity": {"class": cost.name, "bound": cost.bound, "reason": cost.reason},
    }


def _window_json(window: Window) -> dict[str, Any]:
    """A window as JSON; "slide" and "opens_on" are null without SLIDE and OPEN ON."""
    opens = window.opens
    return {
        "size": window.size,
        "slide": window.slide,
        "unit": "events" if window.events else "ms",
        "opens_on": None
        if opens is None
        else {"type": opens.type, "condition": None if opens.expr is None else formula(opens.expr, [opens.type])},
    }
