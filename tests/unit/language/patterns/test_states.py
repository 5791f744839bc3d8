"""States counted by the shape of a pattern, against positions that are walked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.patterns.positions import Positions
from saffron.language.patterns.states import Counted, count
from saffron.language.plan.pattern import Choice, InOrder, Interleaved, Loop, Shape, Take
from tests.unit.language.samples import LETTERS

HOUR = " WITHIN 1 h"


def walked(shape: Shape) -> Counted:
    positions = Positions(shape)
    found = {edge.position for edge in positions.edges(positions.first())}
    last = sum(not any(stance.edges for stance in positions.after(one)) for one in found)
    return Counted(len(found), last)


def shapes(depth: int) -> st.SearchStrategy[Shape]:
    take = st.builds(Take, st.integers(0, 5))
    if depth == 0:
        return take
    inner = shapes(depth - 1)
    parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
    bounds = st.tuples(st.integers(1, 2), st.one_of(st.none(), st.integers(0, 2)))
    loops = st.builds(lambda body, at: Loop(depth, body, at[0], None if at[1] is None else sum(at)), inner, bounds)
    any_of = parts.flatmap(lambda some: st.integers(1, len(some)).map(lambda least: Interleaved(some, least)))
    return st.one_of(take, st.builds(InOrder, parts), st.builds(Choice, parts), loops, any_of)


@given(shapes(2))
def test_counted_is_walked(shape: Shape) -> None:
    assert count(shape) == walked(shape)


@pytest.mark.parametrize(
    ("pattern", "states"),
    [
        (" AND ".join(["A"] * 13), "8,191"),
        ("ANY(8, " + ", ".join(["A"] * 14) + ")", "9,908"),
        ("SEQ(A, ((B{30})){200}, C)", "6,002"),
        ("SEQ(A, (SEQ(A{60}, B{60})){60}, C)", "7,202"),
    ],
)
def test_too_many_states_are_an_error_of_the_pattern(pattern: str, states: str) -> None:
    text = f"QUERY q PATTERN {pattern}{HOUR}"
    with pytest.raises(QueryError, match=f"the pattern has {states} states; at most 5,000 are kept") as found:
        compile_query(text, LETTERS)
    assert text[found.value.start : found.value.end] == pattern
    assert "^" in str(found.value)
    assert "instead of {n,m}" in found.value.hint


def test_what_could_be_run_still_can() -> None:
    for pattern in ("ANY(6, " + ", ".join(["A"] * 14) + ")", " AND ".join(["A"] * 12), "SEQ(A, B{1000}, C)"):
        compile_query(f"QUERY q PATTERN {pattern}{HOUR}", LETTERS)
