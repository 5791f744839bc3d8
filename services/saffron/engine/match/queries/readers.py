"""Queries among others (INTO, N11): the plan of a query that reads results of others, and the readers of a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from saffron.engine.match.queries.registered import StandingMatchQuery
from saffron.engine.operators.composition import Derived, bound, made_by, read_by, reads, still_made
from saffron.engine.operators.standing import Compiler
from saffron.errors import SaffronError
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.schema.schema import Schema

Queries = Mapping[str, StandingMatchQuery]


def plan_beside(queries: Queries, standing: StandingMatchQuery, schema: Schema, compiler: Compiler) -> Plan:
    """The plan of a query, bound to the stream's types and those that others make.

    Which of these it reads is kept in `StandingMatchQuery.derived`, so that it is bound to the same ones again.
    """
    others = _others(queries, standing)
    derived = made_by(others.values()) if standing.derived is None else standing.derived
    plan = bound(compiler, standing.text, schema, standing.name, others, derived)
    standing.derived = read_by(plan, derived)
    if standing.derived and standing.earliest:
        why = "reads results of other queries, of which there are none in the past: add it without --from earliest"
        raise SaffronError(f"query {standing.name} {why}")
    return plan


def readable(queries: Queries, standing: StandingMatchQuery) -> Derived:
    """The types made by other queries that a query may read when it is bound anew."""
    return still_made(standing.derived or {}, made_by(_others(queries, standing).values()))


def must_widen(queries: Queries, reader: StandingMatchQuery) -> bool:
    """True if other queries now make other kinds of values than those that a reader was bound to."""
    known, made = reader.derived or {}, readable(queries, reader)
    return any(made[one] != known[one] for one in known)


def readers_of(queries: Queries, standing: StandingMatchQuery) -> Iterator[StandingMatchQuery]:
    """The queries that read the results of this one."""
    plan = None if standing.runs is None else standing.runs.plan
    if isinstance(plan, MatchPlan) and plan.into is not None:
        for other in queries.values():
            if other.runs is not None and reads(other.runs.plan, plan):
                yield other


def _others(queries: Queries, standing: StandingMatchQuery) -> dict[str, Plan]:
    """The plans of the other queries that are bound."""
    return {name: one.runs.plan for name, one in queries.items() if one.runs and one is not standing}
