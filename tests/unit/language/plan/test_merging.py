"""Which queries' equivalent runs go on as one, in which values they have to agree, and why not."""

from __future__ import annotations

import pytest

from saffron.language import compile_query, explain_json, explain_text
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.merging import merging
from tests.unit.language.samples import LETTERS


def plan_of(text: str) -> MatchPlan:
    plan = compile_query(f"PATTERN {text}", LETTERS, name="q")
    assert isinstance(plan, MatchPlan)
    return plan


@pytest.mark.parametrize(
    ("text", "closure", "values"),
    [
        ("SEQ(A+ a[], B b) WITHIN 9 ms", 0, ()),
        ("SEQ(A+ a[], B b) WHERE a[1].x > 3 AND b.x > 3 WITHIN 9 ms", 0, ()),
        ("SEQ(A+ a[], B b) WHERE a[i].x > a[i-1].x AND b.x < a[last].x WITHIN 9 ms", 0, ("a[last].x",)),
        ("SEQ(A+ a[], B b) WHERE a[i].x > max(a[..i-1].x) AND b.x < min(a[].x) WITHIN 9 ms", 0, None),
        ("SEQ(A a, B+ b[], C c) WHERE b[i].x > a.x WITHIN 9 ms", 1, ("a.x",)),
        ("SEQ(A+ a[], B+ b[], C c) WHERE b[i].x > b[i-1].x AND c.x > b.len WITHIN 9 ms", 0, ()),
        ("SEQ(A+ a[], B b) WHERE partition-contiguity { [k] } WITHIN 9 ms OUTPUT LONGEST", 0, ()),
        ("SEQ(A+ a[], B b) WHERE partition-contiguity { [k] AND a[i].x > 3 AND b.x > 3 } WITHIN 9 ms", 0, ()),
    ],
)
def test_runs_that_merge(text: str, closure: int, values: tuple[str, ...] | None) -> None:
    found = merging(plan_of(text))
    assert found.component == closure
    assert found.values == (("max(a[].x)", "min(a[].x)") if values is None else values)
    assert "go on as one" in found.reason


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SEQ(A+ a[], B? b) WITHIN 9 ms", "a table of states"),
        ("SEQ(A+ a[], B b) WITHIN 9 ms OUTPUT ALL WITH TIMEOUTS", "a table of states"),
        ("SEQ(A a, B b) WITHIN 9 ms", "without a Kleene closure"),
        ("SEQ(A+ a[], B b) WHERE skip-till-any-match WITHIN 9 ms", "each event splits a run"),
        ("SEQ(A+ a[], B b) WITHIN 9 ms OUTPUT COMPRESSED", "collapsed results"),
        ("SEQ(A a, B+ b[]) WITHIN 9 ms", "ends a match of every run"),
        ("SEQ(A+ a[], B b) WHERE a[i].x > avg(a[..i-1].x) WITHIN 9 ms", "avg(a[].x), an aggregate over all"),
        ("SEQ(A+ a[], B b) WHERE b.x > a.len WITHIN 9 ms", "a.len, how many events"),
        ("SEQ(A+ a[], B b) WHERE b.x > count(a[]) WITHIN 9 ms", "how many events"),
        ("SEQ(A+ a[], B b) WHERE a[i].x > a[i-2].x WITHIN 9 ms", "a[i-2].x, for which"),
        ("SEQ(A+ a[], B b) WHERE partition-contiguity { a[i].x > a[i-1].x } WITHIN 9 ms", "breaks a[i].x > a[i-1].x"),
        ("SEQ(A+ a[], B b) WHERE strict-contiguity { a[i].x > min(a[..i-1].x) } WITHIN 9 ms", "few live at once"),
        ("SEQ(A+ a[], B b) WHERE b.ts - a[1].ts > 3 WITHIN 9 ms", "a[1].ts, the time"),
    ],
)
def test_runs_that_stay_as_they_are(text: str, why: str) -> None:
    found = merging(plan_of(text))
    assert found.component is None
    assert found.values == ()
    assert found.reason.startswith("each run stays its own: ")
    assert why in found.reason


def test_explanations_say_so() -> None:
    plan = plan_of("SEQ(A+ a[], B b) WHERE a[i].x > a[i-1].x WITHIN 9 ms")
    reason = "runs in a[i] that agree in a[last].x go on as one"
    assert f"\n  merging  {reason}\n" in explain_text(plan)
    assert explain_json(plan)["merging"] == {"closure": "a", "values": ["a[last].x"], "reason": reason}
    assert explain_json(plan_of("SEQ(A a, B b) WITHIN 9 ms"))["merging"]["closure"] is None
