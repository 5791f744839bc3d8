"""Even dropping: what does not fit first, then types by what a match needs of them for the time that they take."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.shed.drops.evenly import UNKNOWN, Even, beginnings, even_of
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Kind, Schema

SCHEMA = Schema({"x": Kind.FLOAT}, dict.fromkeys("ABCD", ("x",)), {}, given=True)
SHARES = st.floats(0.0, 1.0)


def planned(pattern: str) -> MatchPlan:
    plan = compile_query(f"PATTERN {pattern} WITHIN 100 EVENTS", SCHEMA)
    assert isinstance(plan, MatchPlan)
    return plan


@pytest.mark.parametrize(
    ("pattern", "first"),
    [
        ("SEQ(A a, B b)", {"a"}),
        ("SEQ(A? a, B b, C c)", {"a", "b"}),
        ("SEQ(A+ a[], B b) OR SEQ(C c, D d)", {"a", "c"}),
        ("SEQ(NOT D d, A a, B b)", {"a"}),
        ("ANY(2, A a, B b, C c)", {"a", "b", "c"}),
    ],
)
def test_what_a_match_begins_with(pattern: str, first: set[str]) -> None:
    plan = planned(pattern)
    assert {plan.components[place].variable for place in beginnings(plan.pattern)} == first


@given(SHARES, st.integers(1, 9))
def test_where_nothing_is_known_each_event_is_as_good_as_any_other(share: float, length: int) -> None:
    assert UNKNOWN.lost(share, length) == pytest.approx(1 - (1 - share) ** length)
    assert UNKNOWN.begun(share) == pytest.approx(share)


@given(SHARES, SHARES, st.tuples(*[st.floats(0.01, 1.0)] * 3))
def test_the_share_wanted_goes_and_loses_what_its_rates_lose(
    spare: float, share: float, sizes: tuple[float, ...]
) -> None:
    frequency = [one / sum(sizes) for one in sizes]
    even = even_of(planned("SEQ(A a, B b, C c)"), spare, frequency)
    beyond = max(0.0, share - spare) / (1 - spare) if spare < 1 else 0.0
    rates = even.rates(beyond)
    assert np.dot(rates, frequency) == pytest.approx(beyond, abs=1e-6)
    assert even.lost(share, 3) == pytest.approx(1 - (1 - rates).prod(), abs=1e-6)
    assert even.lost(min(share, spare), 3) == 0.0


def test_a_step_of_several_types_is_served_by_each_of_them() -> None:
    """Its events go at the mean of the rates of its types, None standing for those that the pattern does not name."""
    even = even_of(planned("SEQ(A a, (A | B) e, ANY x)"), 0.0, [0.2, 0.3, 0.5])
    assert even.types == ("A", "B", None)
    assert even.taken == ((0,), (0, 1), (0, 1, 2))
    assert even.needed == (3, 2, 1)
    rates = even.rates(0.4)
    means = [rates[0], np.average(rates[:2], weights=[0.2, 0.3]), np.average(rates, weights=[0.2, 0.3, 0.5])]
    assert even.lost(0.4, 3) == pytest.approx(1 - (1 - np.array(means)).prod())


def test_a_type_that_begins_matches_goes_more_often() -> None:
    even = even_of(planned("SEQ(A a, B b)"), 0.0, [0.5, 0.5])
    first, second = even.rates(0.2)
    assert first == pytest.approx(3 * second)


def test_for_the_time_that_is_saved_less_is_lost_than_where_types_are_not_told_apart() -> None:
    """The work that is left is the product of the events and of the partial matches that are left."""
    for sizes in product((0.1, 0.3, 0.6), repeat=3):
        even = even_of(planned("SEQ(A a, B b, C c)"), 0.0, [one / sum(sizes) for one in sizes])
        assert lost_for(even, 0.7) <= lost_for(UNKNOWN, 0.7) + 0.01


def lost_for(even: Even, left: float) -> float:
    """What is lost where only this share of the work is left."""
    shares = np.linspace(0.0, 1.0, 2001).tolist()
    share = next(one for one in shares if (1 - one) * (1 - even.begun(one)) <= left)
    return even.lost(share, 3)
