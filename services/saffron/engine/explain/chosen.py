"""The explanation of a plan with the engine that runs it. It loads no kernel: whoever explains needs no Numba."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from saffron.engine.match.planning.engine import engine_of
from saffron.engine.operators.composition import made_by, read_by, with_types
from saffron.engine.operators.engine_choice import EngineChoice
from saffron.engine.trends.core.engine import engine_of_graphs
from saffron.engine.trends.core.graphs import graphs_of
from saffron.errors import SaffronError
from saffron.language import explain_json, explain_text
from saffron.language.cost.shedders import AUTO
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.schema.schema import Schema

_NOTHING_KNOWN = Schema({}, {}, {})


def schema_of(plan: Plan, schema: Schema | None, others: Iterable[Plan] = ()) -> Schema:
    """The schema by which a plan's engine is chosen. `schema`: the stream's, None where it is not known: then times
    are exact. `others`: plans whose results it may read (INTO)."""
    return with_types(schema or _NOTHING_KNOWN, read_by(plan, made_by(others)))


def choice_of(plan: Plan, schema: Schema, shed: str = AUTO) -> EngineChoice:
    """The engine that runs a plan under a shedder. SaffronError where none can."""
    if isinstance(plan, MatchPlan):
        return engine_of(plan, schema, shed=shed)
    return engine_of_graphs(graphs_of(plan, schema.kinds))


def plan_text(plan: Plan, schema: Schema, shed: str = AUTO) -> str:
    """The plan for a terminal, as `explain_text`, with its engine."""
    shown = _engine(plan, schema, shed)
    return explain_text(plan, shed, f"{shown['name'] or 'none'}: {shown['reason']}")


def plan_json(plan: Plan, schema: Schema, shed: str = AUTO) -> dict[str, Any]:
    """The explanation of a plan as JSON; `engine.name` is None where no engine can run the plan."""
    return explain_json(plan, shed) | {"engine": _engine(plan, schema, shed)}


def _engine(plan: Plan, schema: Schema, shed: str) -> dict[str, str | None]:
    try:
        choice = choice_of(plan, schema, shed)
    except SaffronError as error:
        return {"name": None, "reason": str(error)}
    return {"name": choice.engine.value, "reason": choice.reason}
