"""The way a plan is run follows from its shape."""

from __future__ import annotations

import pytest

from saffron.engine.events.strings import Strings
from saffron.engine.match.queries.fastest import fastest
from saffron.engine.match.runs.graph import Linking
from saffron.engine.match.runs.parts import Source
from saffron.engine.match.runs.scan import Scanning
from saffron.engine.match.runs.stepping import Stepping
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Kind, Schema

SCHEMA = Schema(
    {"v": Kind.INT, "k": Kind.INT},
    dict.fromkeys("ABC", ("v", "k")),
    {"A": frozenset(), "B": frozenset(), "C": frozenset()},
)
ANY = "skip-till-any-match"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Linking, f"SEQ(A a, B+ b[], C c) WHERE {ANY} {{ [k] AND b[i].v > b[i-1].v AND c.v > b[last].v }}"),
        (Linking, f"SEQ(A a, B b) WHERE {ANY} {{ a.v < b.v AND b.v % 3 = 1 }}"),
        (Linking, f"SEQ(A a, B+ b[], C c) WHERE {ANY} {{ c.v > a.v }}"),
        (Linking, f"SEQ(A a, B+ b[], C c, A d) WHERE {ANY} {{ c.v > a.v AND d.v < max(b[].v) }}"),
        (Linking, f"SEQ(A a, B+ b[]) WHERE {ANY} {{ b[i].v > b[i-2].v AND b.len > 3 }}"),
        (Linking, f"SEQ(A a, B b, C c) WHERE {ANY} {{ a.v + b.v < c.v }}"),
        (Scanning, f"SEQ(A a, B b, C c, A d) WHERE {ANY} {{ a.v < c.v }}"),
        (Scanning, f"SEQ(A a, B+ b[]) WHERE {ANY} {{ b[i].v > avg(b[..i-1].v) }}"),
        (Scanning, f"SEQ(A a, B+ b[], C c) WHERE {ANY} {{ c.v > sum(b[].v) }}"),
        (Scanning, "SEQ(A+ a[], A b) WHERE a[1].v % 5 = 0"),
        (Scanning, "SEQ(A a, B b)"),
        (Stepping, "SEQ(A+ a[], A b) WHERE [k] AND b.v < a[1].v"),
        (Stepping, "SEQ(A a, B? b, C c)"),
    ],
)
def test_choice(kind: type[Source], text: str) -> None:
    plan = compile_query(f"PATTERN {text} WITHIN 10 ms", SCHEMA, name="q")
    assert isinstance(plan, MatchPlan)
    assert type(fastest(plan, SCHEMA, Strings(), compiled=False).source) is kind
