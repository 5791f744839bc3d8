"""From a query's tree to a plan: names and kinds checked against the stream's schema, conditions on their edges.

`match_plan` binds match queries, `trend_plan` aggregate queries; `scope` knows the names, `typed` the kinds, `refusals`
the clauses that a query of its kind cannot have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from saffron.language.binding.match_plan import bind_match
from saffron.language.cost.complexity import match_complexity
from saffron.language.plan.plan import MatchPlan, Output, Plan
from saffron.language.scope.scope import Scope
from saffron.language.syntax.parser import parse
from saffron.language.syntax.tree import Query
from saffron.language.trends.plan import bind_trend, is_aggregate
from saffron.schema.schema import Schema


@dataclass(frozen=True)
class Bound:
    """A query that can be run. `warnings`: rendered as errors are, of conditions that are surely not meant so.

    `weight`: of the query among others when load is shed (WEIGHT, else 1).
    """

    plan: Plan
    warnings: tuple[str, ...]
    weight: float


def bind(
    query: Query | str,
    schema: Schema | None,
    *,
    name: str,
    lenient: bool = False,
    aggregates: frozenset[str] = frozenset(),
    unseen: bool = False,
) -> Bound:
    """Bind a query, or its text, to a schema.

    `name`: of the query, unless its text says QUERY name.
    `lenient`: unknown types and attributes are warnings; such an attribute is null.
    `aggregates`: names of user-defined ones, functions from the numbers of a list to a number; the plan says which
    are used (lower case), and an engine that runs it must know them.
    `unseen`: types and attributes that an inferred schema lacks may come yet: as a standing query has to take it. The
    plan says what it `waits` for; it is to be bound anew once that has come.
    `schema` None: no name is checked and kinds are guessed; such a plan can be explained, not run.

    Raises QueryError: stage "syntax"; "schema" (an unknown name, a wrong kind); "plan" (not run by this version).
    """
    tree = parse(query) if isinstance(query, str) else query
    scope = Scope(tree.text, schema, lenient, frozenset(name.lower() for name in aggregates), unseen)
    binder = bind_trend if is_aggregate(tree) else bind_match
    plan = replace(binder(tree, scope, tree.name or name), waits=tuple(scope.waits), unseen=tuple(scope.unseen_names))
    if isinstance(plan, MatchPlan):
        _warn_of_cost(plan, tree, scope)
    weight = 1.0 if tree.weight is None else float(tree.weight.value)
    return Bound(plan, tuple(scope.warnings), weight)


def _warn_of_cost(plan: MatchPlan, query: Query, scope: Scope) -> None:
    """Before a query is started that can have exponentially many results (X7)."""
    cost = match_complexity(plan)
    if cost.name == "exponential" and plan.output is Output.ALL:
        fewer = "skip-till-next-match, OUTPUT FIRST or LONGEST, a shorter WITHIN; or count them: RETURN COUNT(*)"
        if plan.confidence is not None or (scope.schema is not None and scope.schema.times):
            fewer = "a higher CONFIDENCE, below which the search ends, or a shorter WITHIN"
        hint = f"{cost.reason[:1].upper()}{cost.reason[1:]}.\nFewer: {fewer}."
        scope.warn(f"the number of matches can grow exponentially, {cost.bound}", query.pattern.span, hint)


def compile_query(
    text: str,
    schema: Schema | None,
    *,
    name: str = "query",
    lenient: bool = False,
    aggregates: frozenset[str] = frozenset(),
    unseen: bool = False,
) -> Plan:
    """The plan of a query's text; raises QueryError (see `bind`)."""
    return bind(text, schema, name=name, lenient=lenient, aggregates=aggregates, unseen=unseen).plan
