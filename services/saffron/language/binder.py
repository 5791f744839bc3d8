"""The binder: a query's syntax tree to a plan, with names and kinds checked against the stream's schema.

`binding.match_plan` binds match queries, `trends.plan` aggregate queries. `scope` looks up names and checks types;
`binding.refusals` refuses clauses that a kind of query cannot have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from saffron.language.binding.match_plan import bind_match
from saffron.language.cost.complexity import match_complexity
from saffron.language.plan.clauses import Output
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.language.scope.scope import Scope
from saffron.language.syntax.parsing.parser import parse
from saffron.language.syntax.tree import Query
from saffron.language.trends.plan import bind_trend, is_aggregate
from saffron.schema.computed import ComputedRead
from saffron.schema.schema import Schema


@dataclass(frozen=True)
class Bound:
    """A bound query. `warnings`: about conditions that are probably a mistake, rendered like errors.

    `weight`: its weight among other queries when load is shed (WEIGHT, else 1).
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
    """The bound form of a query, or of its text.

    `schema`: None checks no name and guesses kinds; such a plan can be explained, not run.
    `name`: of the query, unless its text has QUERY name.
    `lenient`: unknown types and attributes are warnings; such an attribute is null.
    `aggregates`: names of user-defined aggregates, functions from the numbers of a list to a number. The engine that
    runs the plan must have them.
    `unseen`: for a registered query: types and attributes that an inferred schema lacks may come later. They are in
    the plan's `waits`; bind the query again once they have come.

    Raises QueryError: stage "syntax"; "schema" (an unknown name, a wrong kind); "plan" (cannot be run).
    """
    tree = parse(query) if isinstance(query, str) else query
    scope = Scope(tree.text, schema, lenient, frozenset(name.lower() for name in aggregates), unseen)
    binder = bind_trend if is_aggregate(tree) else bind_match
    plan = binder(tree, scope, tree.name or name)
    computed = tuple(ComputedRead(name, tuple(types)) for name, types in scope.computed.items())
    plan = replace(
        plan,
        waits=tuple(scope.waits),
        unseen=tuple(scope.unseen_names),
        computed=computed,
        timestamps=tuple(scope.timestamps),
    )
    if isinstance(plan, MatchPlan):
        _warn_of_cost(plan, tree, scope)
    weight = 1.0 if tree.weight is None else float(tree.weight.value)
    return Bound(plan, tuple(scope.warnings), weight)


def _warn_of_cost(plan: MatchPlan, query: Query, scope: Scope) -> None:
    """Warn of a query that can have exponentially many results (X7)."""
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
