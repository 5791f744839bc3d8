"""Which aggregate queries one graph can serve, and what explain says of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from saffron.language import parse
from saffron.language.plan.trend_plan import TrendPlan
from saffron.language.scope.scope import Scope
from saffron.language.trends.plan import bind_trend
from saffron.language.trends.sharing import sharing, sharing_key, united, why_not_shared
from tests.unit.language.samples import LETTERS

DOWN = "PATTERN A+ WHERE A.x > NEXT(A).x WITHIN 10 s RETURN COUNT(*)"
PLAIN = "PATTERN SEQ(A+, B) WITHIN 10 s RETURN COUNT(*)"


def plan(text: str, name: str = "q") -> TrendPlan:
    return bind_trend(parse(text), Scope(text, LETTERS, lenient=False), name)


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (DOWN, DOWN.replace("COUNT(*)", "SUM(A.y), MAX(A.x) AS best HAVING COUNT(*) > 2"), ""),
        (DOWN, DOWN.replace("A+", "A+ v").replace("A.x >", "v.x >").replace("(A)", "(v)"), ""),
        (DOWN, DOWN.replace(">", ">="), "other conditions"),
        (DOWN, DOWN.replace("WHERE", "WHERE A.y > 3 AND"), "other conditions"),
        (DOWN, DOWN.replace("WHERE", "WHERE strict-contiguity AND"), "another pattern"),
        (DOWN, DOWN.replace("A+", "A{2,}"), "another pattern"),
        (DOWN, f"FROM elsewhere {DOWN}", "another stream"),
        (DOWN, DOWN.replace("WHERE", "WHERE [k] AND"), "another key"),
        (DOWN.replace("WHERE", "WHERE [k] AND"), DOWN.replace("WITHIN", "GROUP BY k WITHIN"), "other groups"),
        (DOWN, f"{DOWN} TIME STRICT", "another TIME"),
        (DOWN, f"{DOWN} EXACT", "only one is EXACT"),
        (DOWN, DOWN.replace("10 s", "20 s"), "windows of another length or kind"),
        (DOWN, DOWN.replace("10 s", "10000 EVENTS"), "windows of another length or kind"),
        (DOWN, DOWN.replace("10 s", "10 s OPEN ON B"), "windows of another length or kind"),
        (DOWN, DOWN.replace("10 s", "10 s SLIDE 5 s"), "other windows: huge numbers would be rounded otherwise"),
        (f"{DOWN} EXACT", DOWN.replace("10 s", "10 s SLIDE 5 s") + " EXACT", ""),
        (PLAIN, PLAIN.replace("10 s", "10 s SLIDE 5 s"), ""),
        (PLAIN, PLAIN.replace("10 s", "10 s SLIDE 100 ms"), "other windows: huge numbers would be rounded otherwise"),
        (PLAIN, PLAIN.replace("10 s", "10 s SLIDE 4 s"), "windows that begin at other times"),
    ],
)  # fmt: skip
def test_why_queries_need_graphs_of_their_own(one: str, other: str, reason: str) -> None:
    assert why_not_shared(plan(one), plan(other)) == why_not_shared(plan(other), plan(one)) == reason
    assert (united(plan(one), plan(other)) is None) == bool(reason)


def test_a_graph_for_several_has_the_aggregates_and_the_windows_of_all() -> None:
    one = plan("PATTERN A+ a WITHIN 10 s RETURN SUM(a.y), COUNT(*)")
    other = plan("PATTERN A+ b WITHIN 10 s SLIDE 5 s RETURN MAX(b.y), COUNT(*) HAVING COUNT(*) > 1")
    found = united(one, other)
    assert found is not None
    assert [aggregate.function for aggregate in found.aggregates] == ["sum", "count", "max"]
    assert found.window.slide == 5000
    assert (found.returns, found.having, found.name, found.text) == ((), None, "", "")
    assert united(found, one) == found
    assert sharing_key(found) == sharing_key(one) == sharing_key(replace(other, name="x"))


def test_explain_says_with_whom() -> None:
    others = [plan(DOWN, "a"), plan(DOWN, "b"), plan(f"{DOWN} EXACT", "c")]
    assert sharing(plan(DOWN), others) == "one graph with a, b; not with c: only one is EXACT"
    assert sharing(plan(PLAIN), others[:1]) == "a graph of its own; not with a: another pattern"
    assert sharing(plan(PLAIN), []) == ""
