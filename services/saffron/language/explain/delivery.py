"""The explanation of EMIT and PUBLISH: the content and the destination of results."""

from __future__ import annotations

from typing import Any

from saffron.language.explain.explained import variables_of
from saffron.language.plan.delivery import USUAL
from saffron.language.plan.formulas import formula
from saffron.language.plan.plan import Plan
from saffron.language.plan.trend_plan import TrendPlan


def delivery_fields(plan: Plan) -> dict[str, str]:
    """The lines, by name; none where the query has neither clause and its results are written as usual."""
    delivery = plan.delivery
    fields: dict[str, str] = {}
    if delivery.values:
        fields["emit"] = "values: results have no events"
    if not delivery.written:
        fields["publish"] = "none: only other queries read the results (PUBLISH writes them, too)"
    if delivery.topic is not None:
        key = "" if delivery.key is None else f", keyed by {_key(plan)}"
        form = "" if delivery.row is None else f" as {delivery.row.form}"
        fields["publish"] = f"to topic {delivery.topic}{form}{key}"
    if delivery.row is not None:
        fields["row"] = ", ".join(f"{one.name} {one.type.value}" for one in delivery.row.fields)
    return fields


def delivery_json(plan: Plan) -> dict[str, Any]:
    """EMIT and PUBLISH as JSON; {} where the query has neither clause and its results are written as usual."""
    delivery = plan.delivery
    if delivery == USUAL:
        return {}
    return {
        "delivery": {
            "events": not delivery.values,
            "written": delivery.written,
            "topic": delivery.topic,
            "key": _key(plan),
            "form": None if delivery.row is None else delivery.row.form,
        }
    }


def _key(plan: Plan) -> str | None:
    """The key of published messages as text."""
    key = plan.delivery.key
    trends = plan if isinstance(plan, TrendPlan) else None
    return None if key is None else formula(key, variables_of(plan), trends=trends)
