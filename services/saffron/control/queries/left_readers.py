"""What becomes of queries that read the results of another one (INTO) when that is replaced or removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from saffron.engine.operators.aggregates import registered
from saffron.engine.operators.composition import reads
from saffron.errors import SaffronError
from saffron.language import bind
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.language.scope.composition import attributes_of


def left_readers(name: str, texts: Mapping[str, str], after: Plan | None) -> Iterator[str]:
    """A sentence on each query that reads results of `name`, and gets no more of them or loses one of their attributes.

    Such queries go on. Those whose text cannot be bound are left out.

    `texts`: of all standing queries. `after`: the plan that the query has from now on; None: it is removed.
    """
    before = _plan(name, texts[name]) if name in texts else None
    if not isinstance(before, MatchPlan) or before.into is None:
        return
    others = {other: text for other, text in texts.items() if other != name}
    plans = {other: plan for other, text in others.items() if (plan := _plan(other, text)) is not None}
    for other, plan in sorted(plans.items()):
        if reads(plan, before):
            makers = [maker for maker, one in plans.items() if reads(plan, one) and _into(one) == before.into]
            if sentence := _sentence(other, before, after, makers):
                yield sentence


def _sentence(reader: str, before: MatchPlan, after: Plan | None, makers: list[str]) -> str:
    """What the reader loses; "" if it loses nothing. `makers`: other queries that make events of this type."""
    reading = f"query {reader} reads {before.into}, the results of {before.name}"
    if _into(after) != before.into:
        rest = f"only those of {', '.join(sorted(makers))}" if makers else "and finds nothing in them"
        return f"{reading}: it stays, gets no more of them, {rest}"
    assert isinstance(after, MatchPlan)
    if gone := sorted(attributes_of(before).keys() - attributes_of(after).keys()):
        return f"{reading}: {', '.join(gone)} is null from now on"
    return ""


def _into(plan: Plan | None) -> str | None:
    return plan.into if isinstance(plan, MatchPlan) else None


def _plan(name: str, text: str) -> Plan | None:
    """The plan of a query without a schema; None: its text is wrong, or reads what is not there."""
    try:
        return bind(text, None, name=name, lenient=True, aggregates=frozenset(registered())).plan
    except SaffronError:
        return None
