"""The plans of the match queries in force that may lose events; their conditions on single events classify events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.engine.events.schema_record import schema_from_record
from saffron.engine.operators.containment import is_of_query
from saffron.engine.operators.standing import compile_text
from saffron.engine.shed.drops.view import View
from saffron.errors import SaffronError
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Schema


class Plans:
    """The plans of one chain's match queries. They are bound again when queries or the schema change."""

    def __init__(self) -> None:
        self._bound_for: tuple[Mapping[str, int], Mapping[str, Any] | None] = ({}, None)
        self._plans: dict[str, MatchPlan] = {}

    def of(self, view: View) -> Mapping[str, MatchPlan]:
        """The plans of the queries in force, by name; none without a schema that can be read (readers report a bad
        one)."""
        wanted = wanted_in(view)
        if (wanted, view.schema) != self._bound_for:
            self._bound_for = wanted, view.schema
            try:
                self._plans = {} if view.schema is None else _bound(view, schema_from_record(view.schema), wanted)
            except SaffronError:
                self._plans = {}
        return self._plans


def wanted_in(view: View) -> dict[str, int]:
    """Queries that may lose events, with their versions."""
    return {
        name: view.queries[name] for name, (traits, slot) in view.sheddable.items() if traits.drops_events and slot >= 0
    }


def _bound(view: View, schema: Schema, wanted: Mapping[str, int]) -> dict[str, MatchPlan]:
    found = {name: _plan(view.texts[name], schema, name) for name in wanted}
    return {name: plan for name, plan in found.items() if plan is not None}


def _plan(text: str, schema: Schema, name: str) -> MatchPlan | None:
    """The plan of a query that may lose events.

    None if it aggregates, or reads other queries' results: the stream's events do not show what it can take.
    """
    try:
        plan = compile_text(text, schema, name)
    except Exception as error:  # windowing reports the error
        if not is_of_query(error):
            raise
        return None
    return plan if isinstance(plan, MatchPlan) else None
