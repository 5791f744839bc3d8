"""The explanation of EMIT and PUBLISH: what results hold, and where they go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saffron.language.plan.delivery import USUAL, Delivery
from saffron.language.plan.formulas import formula
from saffron.language.plan.trend_plan import TrendPlan


def delivery_fields(delivery: Delivery, names: Sequence[str], trends: TrendPlan | None = None) -> dict[str, str]:
    """The lines, by name; none where the query has neither clause and its results are written as usual."""
    fields: dict[str, str] = {}
    if delivery.values:
        fields["emit"] = "values: results have no events"
    if not delivery.written:
        fields["publish"] = "none: only other queries read the results (PUBLISH writes them, too)"
    if delivery.topic is not None:
        key = "" if delivery.key is None else f", keyed by {formula(delivery.key, names, trends=trends)}"
        form = "" if delivery.row is None else f" as {delivery.row.form}"
        fields["publish"] = f"to topic {delivery.topic}{form}{key}"
    if delivery.row is not None:
        fields["row"] = ", ".join(f"{one.name} {one.type.value}" for one in delivery.row.fields)
    return fields


def delivery_json(delivery: Delivery, names: Sequence[str], trends: TrendPlan | None = None) -> dict[str, Any]:
    """EMIT and PUBLISH as JSON; {} where the query has neither clause and its results are written as usual."""
    if delivery == USUAL:
        return {}
    key = None if delivery.key is None else formula(delivery.key, names, trends=trends)
    return {
        "delivery": {
            "events": not delivery.values,
            "written": delivery.written,
            "topic": delivery.topic,
            "key": key,
            "form": None if delivery.row is None else delivery.row.form,
        }
    }
