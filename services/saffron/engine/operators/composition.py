"""Queries over results of queries (INTO, N11): who reads whom, and the schema that a reader is bound to.

Every operator that binds queries asks here, so that all of them decide alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

from saffron.carets import quoted
from saffron.engine.operators.containment import is_of_query
from saffron.engine.operators.standing import Compiler
from saffron.errors import SaffronError, SchemaError
from saffron.language.binder import Bound
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.language.plan.trend_plan import TrendPlan
from saffron.language.scope.composition import attributes_of
from saffron.schema.event_types import type_names
from saffron.schema.schema import Kind, Schema, widened

B = TypeVar("B")

Derived = Mapping[str, Mapping[str, Kind]]
"""Type of events that queries make -> their attributes."""
Binder = Callable[[str, Schema | None, str], Bound]
"""A `Compiler` that also returns warnings: (text, schema, name) -> `Bound`."""


def made_by(plans: Iterable[Plan]) -> Derived:
    """The event types that these queries make (INTO). If two make one type, its events have the attributes of both."""
    made: dict[str, dict[str, Kind]] = {}
    for plan in plans:
        if isinstance(plan, MatchPlan) and plan.into is not None:
            _join(made.setdefault(plan.into, {}), attributes_of(plan))
    return made


def still_made(known: Derived, made: Derived) -> Derived:
    """The types that a query that has read `known` may read now. A type that nobody makes any more stays as it was."""
    found = {name: dict(attributes) for name, attributes in known.items()}
    for name, attributes in made.items():
        _join(found.setdefault(name, {}), attributes)
    return found


def with_types(schema: Schema, derived: Derived) -> Schema:
    """The schema of a reader: the stream's, and the types that queries make; a number's kind has the values of both."""
    if not derived:
        return schema
    kinds, types = dict(schema.kinds), dict(schema.types)
    for name, attributes in derived.items():
        _join(kinds, attributes)
        types[name] = tuple(dict.fromkeys((*types.get(name, ()), *attributes)))
    return replace(schema, kinds=kinds, types=types, derived=frozenset(derived))


def _join(kinds: dict[str, Kind], more: Mapping[str, Kind]) -> None:
    """Attributes with others; of kinds that have nothing in common the first one stays."""
    for name, kind in more.items():
        known = kinds.get(name, kind)
        kinds[name] = widened(known, kind) or known


def types_of(plan: Plan) -> frozenset[str]:
    """The event types that a query names, those that must not be there included."""
    return frozenset(type_names(component.types for component in plan.components))


def read_by(plan: Plan, derived: Derived) -> Derived:
    """The types derived by other queries (INTO) that this one reads."""
    types = types_of(plan)
    return {name: attributes for name, attributes in derived.items() if name in types}


def reads(reader: Plan, maker: Plan) -> bool:
    """True if results of `maker` are events to `reader`."""
    return (
        isinstance(reader, MatchPlan)
        and isinstance(maker, MatchPlan)
        and maker.into is not None
        and maker.into in types_of(reader)
    )


def bound(
    compiler: Compiler,
    text: str,
    schema: Schema | None,
    name: str,
    others: Mapping[str, Plan],
    derived: Derived | None = None,
) -> Plan:
    """The plan of the query `name` beside the others. `derived`: the types that they make, if known already.

    QueryError: the text is wrong, or names what neither the stream nor another query has. SaffronError: the query would
    read its own results.
    """
    return _beside(compiler, lambda plan: plan, text, schema, name, others, derived)


def bound_beside(bind_one: Binder, text: str, schema: Schema | None, name: str, others: Mapping[str, Plan]) -> Bound:
    """The bound plan of a query beside others, with its warnings; see `bound`."""
    return _beside(bind_one, lambda found: found.plan, text, schema, name, others, None)


def _beside(
    bind_one: Callable[[str, Schema | None, str], B],
    plan_of: Callable[[B], Plan],
    text: str,
    schema: Schema | None,
    name: str,
    others: Mapping[str, Plan],
    derived: Derived | None,
) -> B:
    """The query bound beside the others: the value of `bind_one`, of which `plan_of` gives the plan.

    The query knows the stream's types, and those types of other queries that it reads. A trend query may read the
    stream alone (SaffronError); other errors, and `derived`: see `bound`.
    """
    known = made_by(others.values()) if derived is None else derived
    found = bind_one(text, schema if schema is None else with_types(schema, known), name)
    if known and isinstance(plan_of(found), TrendPlan):
        found = bind_one(text, schema, name)
        if schema is not None and (made := types_of(plan_of(found)) & (known.keys() - schema.types.keys())):
            shown = ", ".join(sorted(made))
            raise SaffronError(f"query {name}: trends are those of the stream alone, and {shown} is made by a query")
        return found
    if schema is not None and (used := read_by(plan_of(found), known)).keys() != known.keys():
        # Results that it does not read make no attribute wider for it: it is given the stream's columns.
        found = bind_one(text, with_types(schema, used), name)
    if told := cycle(plan_of(found), others, name):
        raise SaffronError(f"query {name}: {told}")
    return found


def bind_together(queries: Sequence[tuple[str, str]], schema: Schema | None, bind_one: Binder) -> list[Bound]:
    """Queries (name, text) that are added at once, in this order. `bind_one`: of text, schema and name; see `bound`."""
    found: dict[int, Bound] = {}
    names = [bind_one(text, None, given).plan.name for given, text in queries]  # what is wrong in itself comes first
    order = makers_first(
        lambda text, of, name: bind_one(text, of, name).plan, {f"{n:06}": text for n, (_, text) in enumerate(queries)}
    )
    plans: dict[str, Plan] = {}
    for at in map(int, order):
        name = names[at]
        others = {other: plan for other, plan in plans.items() if other != name}
        found[at] = bound_beside(bind_one, queries[at][1], schema, name, others)
        plans[name] = found[at].plan
    return [found[at] for at in range(len(queries))]


def standing_plans(compiler: Compiler, texts: Mapping[str, str], schema: Schema | None, stream: str) -> dict[str, Plan]:
    """The plans of the stream's standing queries by name, without those that do not bind."""
    plans: dict[str, Plan] = {}
    for name in makers_first(compiler, texts):
        try:
            plan = bound(compiler, texts[name], schema, name, plans)
        except Exception as error:
            if not is_of_query(error):
                raise
            continue
        if plan.stream == stream:
            plans[name] = plan
    return plans


def require_timestamps(before: Collection[str], plan: Plan) -> None:
    """SchemaError: `timestamp` was the time of events of a type, and is an attribute of theirs from now on.

    `before`: `timestamps` of the same query's plan until now.
    """
    for name in before:
        if name not in plan.timestamps:
            raise SchemaError(
                f"timestamp was read as the time of events of type {quoted(name)}, which have an attribute of that name"
                " now. Write ts for the time; a query that is added from now on reads the attribute"
            )


def makers_first(compiler: Compiler, texts: Mapping[str, str]) -> list[str]:
    """The names in the order in which the queries can be bound; wrong texts, and unreadable ones, last."""
    plans = {}
    for name, text in texts.items():
        try:
            plans[name] = compiler(text, None, name)
        except Exception as error:  # its own binding reports the error
            if not is_of_query(error):
                raise
    return [*in_order(plans), *(name for name in texts if name not in plans)]


def cycle(plan: Plan, others: Mapping[str, Plan], name: str) -> str:
    """A sentence on the cycle by which query `name` would read its own results; "" if there is none."""
    plans = {**others, name: plan}
    came_from: dict[str, str] = {}
    queue = [name]
    while queue:
        maker = queue.pop(0)
        for reader, one in plans.items():
            if not reads(one, plans[maker]):
                continue
            if reader == name:
                path = [maker]
                while path[-1] != name:
                    path.append(came_from[path[-1]])
                return _told([*reversed(path), name], plans)
            if reader not in came_from:
                came_from[reader] = maker
                queue.append(reader)
    return ""


def makers_of(reader: Plan, others: Mapping[str, Plan]) -> list[str]:
    """The queries whose results a query reads, directly or through others, in topological order."""
    found: set[str] = set()
    waiting = [reader]
    while waiting:
        one = waiting.pop()
        new = [name for name, other in others.items() if name not in found and reads(one, other)]
        found.update(new)
        waiting += [others[name] for name in new]
    return [name for name in in_order(others) if name in found]


def _told(path: Sequence[str], plans: Mapping[str, Plan]) -> str:
    steps = [f"{path[0]}"]
    for maker, reader in pairwise(path):
        into = plans[maker]
        steps.append(f"makes {into.into if isinstance(into, MatchPlan) else ''} for {reader}")
    return f"a query cannot read its own results: {', which '.join([' '.join(steps[:2]), *steps[2:]])}"


def in_order(plans: Mapping[str, Plan]) -> list[str]:
    """The names, each query after those whose results it reads, else in the order of names. There are no cycles."""
    waiting = {name: {other for other, one in plans.items() if reads(plan, one)} for name, plan in plans.items()}
    order: list[str] = []
    while waiting:
        ready = min((name for name, makers in waiting.items() if not makers & waiting.keys()), default=min(waiting))
        del waiting[ready]
        order.append(ready)
    return order
