"""Queries that are bound together, to one stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from saffron.engine.operators.composition import Binder, bind_together, makers_first, reads
from saffron.errors import InputError
from saffron.language.plan.plan import Plan
from saffron.runtime.replay.fused import DEFAULT_STREAM, Query
from saffron.schema.schema import Schema


@dataclass(frozen=True)
class BoundQueries:
    """Queries bound together. `stream`: the one that all are over.

    `plans` and `warnings`: in the order given. `queries`: by their own names, each after those whose results it reads.
    `weights`: by name.
    """

    queries: list[Query]
    plans: list[Plan]
    weights: dict[str, float]
    warnings: list[str]
    stream: str


def bind_all(queries: Sequence[Query], schema: Schema | None, bind_one: Binder) -> BoundQueries:
    """The bound queries. QueryError: one is invalid. InputError: two have one name, or are over different streams."""
    found: list[Query] = []
    plans: list[Plan] = []
    weights: dict[str, float] = {}
    warnings: list[str] = []
    for query, bound in zip(queries, bind_together([(q.name, q.text) for q in queries], schema, bind_one), strict=True):
        warnings += bound.warnings
        name = bound.plan.name
        if any(plan.name == name for plan in plans):
            raise InputError(f"two queries are called {name!r}; QUERY at the head of a text names it")
        plans.append(bound.plan)
        weights[name] = bound.weight
        found.append(replace(query, name=name))
    warnings += _unread(plans)
    order = makers_first(lambda text, of, name: bind_one(text, of, name).plan, {q.name: q.text for q in found})
    return BoundQueries(
        sorted(found, key=lambda query: order.index(query.name)), plans, weights, warnings, stream_of(plans)
    )


def _unread(plans: Sequence[Plan]) -> Iterator[str]:
    """A warning for each query whose results are meant for other queries, if no query reads them."""
    for maker in plans:
        if not maker.delivery.written and not any(reads(plan, maker) for plan in plans):
            yield f"the results of {maker.name} are events of other queries, and none reads them; PUBLISH writes them"


def stream_of(plans: Sequence[Plan]) -> str:
    """The stream that all queries read. InputError: there are several, and a replay has one."""
    streams = {plan.stream: plan.name for plan in plans}
    if len(streams) > 1:
        (one, first), (other, second) = list(streams.items())[:2]
        raise InputError(
            f"query {first} is over stream {one}, and {second} over {other} (FROM): replay each stream by itself"
        )
    return next(iter(streams), DEFAULT_STREAM)
