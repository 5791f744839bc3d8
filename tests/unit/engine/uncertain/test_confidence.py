"""Confidence by hand: the definition of requirement X2, and the examples of the SASE++ paper."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

import pytest

from saffron.schema.schema import Distribution
from tests.reference.match.worlds import Vague
from tests.unit.engine.uncertain.streams import Answer, answers, chances, columns_of, event, results, runs_of


def found(
    text: str, events: Sequence[Vague], law: Distribution = "uniform", *, compiled: bool = False
) -> dict[Answer, float]:
    return answers(results(runs_of(text, law, compiled=compiled), columns_of(events)))


def stream(*given: tuple[str, int, int], law: Distribution = "uniform") -> list[Vague]:
    return [event(seq, kind, lo, hi, law, k="u", x=0) for seq, (kind, lo, hi) in enumerate(given)]


def test_two_events() -> None:
    """a in 1..2, b in 2..3: in order in three worlds of four."""
    assert found("PATTERN SEQ(A a, B b) WITHIN 9 ms CONFIDENCE >= 0", stream(("A", 1, 2), ("B", 2, 3))) == {
        (((0,), (1,)), None): 0.75
    }


def test_the_same_instant_is_not_before() -> None:
    assert found("PATTERN SEQ(A a, B b) WITHIN 9 ms CONFIDENCE >= 0", stream(("A", 1, 1), ("B", 1, 1))) == {}


def test_an_event_that_comes_first_may_happen_last() -> None:
    text = "PATTERN SEQ(A a, B b) WITHIN 9 ms CONFIDENCE >= 0"
    (match,) = found(text, stream(("B", 0, 5), ("A", 3, 4))).items()
    assert match[0] == (((1,), (0,)), None)
    assert match[1] == pytest.approx(1.5 / 6, abs=1e-15)


@pytest.mark.parametrize("size", [1, 2, 5, 10, 25])
def test_n_events_over_one_interval(size: int) -> None:
    """All increasing choices of 3 out of `size` instants."""
    text = "PATTERN SEQ(A a, B b, C c) WITHIN 99 ms CONFIDENCE >= 0"
    events = stream(("A", 10, 9 + size), ("B", 10, 9 + size), ("C", 10, 9 + size))
    chance = comb(size, 3) / size**3
    assert list(found(text, events).values()) == ([chance] if chance else [])


def test_within_takes_the_worlds_away_that_last_longer() -> None:
    """a in 0..3, b in 4..7: b - a <= 3 in 6 worlds of 16."""
    events = stream(("A", 0, 3), ("B", 4, 7))
    chances_by_size = {
        size: sum(found(f"PATTERN SEQ(A a, B b) WITHIN {size} ms CONFIDENCE >= 0", events).values())
        for size in range(1, 9)
    }
    assert chances_by_size == {
        size: sum(b - a <= size for a in range(4) for b in range(4, 8)) / 16 for size in range(1, 9)
    }


def test_an_uncorrelated_closure_lists_its_events_by_seq_in_whatever_order_they_happen() -> None:
    """b's at 2..5 both, in any order, or at once: what counts is that they lie between a and c."""
    text = "PATTERN SEQ(A a, B+ b[], C c) WITHIN 99 ms CONFIDENCE >= 0.3"
    events = stream(("A", 1, 1), ("B", 2, 5), ("B", 2, 5), ("C", 4, 4))
    assert found(text, events) == {
        (((0,), (1,), (3,)), None): 0.5,
        (((0,), (2,), (3,)), None): 0.5,
    }
    assert found(text.replace("0.3", "0.25"), events)[((0,), (1, 2), (3,)), None] == 0.25


def test_a_correlated_closure_is_a_match_for_each_order() -> None:
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE b[last].x >= 0 WITHIN 99 ms CONFIDENCE >= 0"
    events = stream(("A", 1, 1), ("B", 2, 5), ("B", 2, 5), ("C", 9, 9))
    both = {key[0][1]: chance for key, chance in found(text, events).items() if len(key[0][1]) == 2}
    assert both == {(1, 2): 6 / 16, (2, 1): 6 / 16}


def test_the_papers_query_6() -> None:
    """Section 4: loads 0.1, 0.2, 0.15, 0.19, 0.25 that may each have been measured at any time of a task. A match has
    them in the order of non-decreasing values: 2^5 - 1 of them, however they arrived, each as likely as its order."""
    loads = (10, 20, 15, 19, 25)
    events = [event(0, "A", 0, 0, x=0)]
    events += [event(number, "B", 1, 15, x=load) for number, load in enumerate(loads, 1)]
    events.append(event(6, "C", 20, 20, x=0))
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].x >= b[i-1].x WITHIN 600 ms CONFIDENCE >= 0"
    matches = found(text, events)
    assert len(matches) == 2**5 - 1
    for ((_, taken, _), _), chance in matches.items():
        assert [loads[seq - 1] for seq in taken] == sorted(loads[seq - 1] for seq in taken)
        assert chance == pytest.approx(comb(15, len(taken)) / 15 ** len(taken), rel=1e-15)
    likely = found(text.replace("CONFIDENCE >= 0", "CONFIDENCE >= 0.4"), events)
    assert {len(taken) for ((_, taken, _), _) in likely} == {1, 2}


def test_the_papers_interval() -> None:
    """Section 2.3: an event in [10,15], uniform, before one at 13: at 10, 11 or 12."""
    events = stream(("A", 10, 15), ("B", 13, 13))
    assert list(found("PATTERN SEQ(A a, B b) WITHIN 9 ms CONFIDENCE >= 0", events).values()) == [0.5]


@pytest.mark.parametrize("law", ["uniform", "triangular", (1.0, 0.0, 3.0), (1.0,), (0.0, 0.0, 1.0, 2.0)])
def test_distributions(law: Distribution) -> None:
    """P(a at or before t) is P(a before b) with b at t + 1."""
    n = 7
    for cut in range(1, n + 1):
        events = [event(0, "A", 0, n - 1, law), event(1, "B", cut, cut)]
        events.sort(key=lambda one: one.lo)
        chance = sum(chances(law, n)[:cut], Fraction(0))
        values = list(found("PATTERN SEQ(A a, B b) WITHIN 99 ms CONFIDENCE >= 0", events, law).values())
        assert values == ([pytest.approx(float(chance), abs=1e-15)] if chance else [])


def test_a_threshold_that_is_met_exactly() -> None:
    events = stream(("A", 1, 10), ("B", 4, 4))
    assert found("PATTERN SEQ(A a, B b) WITHIN 99 ms CONFIDENCE >= 0.3", events)
    assert not found("PATTERN SEQ(A a, B b) WITHIN 99 ms CONFIDENCE >= 0.300001", events)


def test_long_matches_stay_probabilities() -> None:
    """The weights of 120 intervals of 1000 instants are beyond float64, but for powers of two taken out."""
    events = [event(0, "A", 0, 0, x=0)]
    events += [event(k, "B", 1000 * k, 1000 * k + 999, x=k) for k in range(1, 121)]
    events.append(event(121, "C", 200_000, 200_000, x=0))
    text = (
        "PATTERN SEQ(A a, B+ b[], C c) WHERE b[1].x = 1 AND b[i].x = b[i-1].x + 1 AND b.len >= 119 "
        "WITHIN 1 hour CONFIDENCE >= 0"
    )
    assert list(found(text, events, compiled=True).values()) == [1.0, 1.0]
