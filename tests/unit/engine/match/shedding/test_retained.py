"""What spared partial matches tell of those that were dropped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from saffron.engine.events.block import Control
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.match.shedding.retained import ANY_LAST, Retained, chances, drawn
from saffron.language.plan.match_plan import MatchPlan
from tests.unit.engine.match import cases


def ints(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def note(
    spared: Retained, at: int, first: int, last: int, *, until: int = 100, weight: float = 20.0, alike: int = 1
) -> None:
    spared.note(at, ints(first), ints(last), ints(until), np.array([0.5]), np.array([weight]), ints(alike))


def test_chances_are_the_share_together_and_the_more_the_more_is_expected() -> None:
    expected = np.random.default_rng(1).exponential(1.0, 10_000)
    found = chances(expected, 0.05, alike=False)
    assert found.mean() == pytest.approx(0.05, rel=0.02)
    assert (np.diff(found[np.argsort(expected)]) >= 0).all()
    assert set(chances(expected, 0.05, alike=True).tolist()) == {0.05}
    assert set(chances(np.zeros(3), 0.05, alike=False).tolist()) == {0.05}


def test_draws_are_even_and_depend_on_seed_query_and_first_event() -> None:
    first = np.arange(20_000)
    one = drawn(3, "q", first)
    assert np.histogram(one, 10, (0, 1))[0].min() > 1_800
    assert np.array_equal(one, drawn(3, "q", first))
    for other in (drawn(4, "q", first), drawn(3, "r", first)):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.03


def test_a_match_counts_where_the_noted_one_came_before_it() -> None:
    spared = Retained()
    note(spared, 10, 3, 7)
    spared.match(ints(3, 7, 12))
    assert spared.notes[3][0].lost == 1
    spared.match(ints(3, 9, 12))  # another way had been taken
    spared.match(ints(4, 7, 12))  # of another run
    assert spared.notes[3][0].lost == 1
    note(spared, 10, 5, ANY_LAST)
    spared.match(ints(5, 9, 12))
    assert spared.notes[5][0].lost == 1


def test_what_comes_of_a_noted_one_is_known() -> None:
    spared = Retained()
    note(spared, 10, 3, 7)
    assert spared.are_known(ints(2, 3, 3, 3, 4), ints(9, 5, 7, 9, 9)).tolist() == [False, False, True, True, False]


def test_losses_are_corrected_by_weight_once_windows_are_over() -> None:
    spared = Retained()
    for first in range(200):
        note(spared, 300, first, first, until=first, weight=10.0)
        spared.match(ints(first, 400))
    assert spared.ratio == 1.0
    spared.passed(200)
    assert spared.ratio == pytest.approx(2.0, rel=0.03)
    assert spared.corrected(50.0) == pytest.approx(100.0, rel=0.03)
    assert not spared.notes


def test_a_match_of_one_of_two_that_are_alike_counts_half() -> None:
    spared = Retained()
    for first in range(200):
        note(spared, 300, first, first, until=first, alike=2)
        spared.match(ints(first, 400))
    spared.passed(200)
    assert spared.ratio == pytest.approx(1.0)


def test_little_that_was_seen_says_little() -> None:
    spared = Retained()
    note(spared, 10, 3, 7)
    spared.passed(200)
    assert 0.5 < spared.ratio < 1.0


def test_more_are_spared_at_first() -> None:
    spared = Retained()
    assert spared.share(0.05) == 0.25
    for first in range(400):
        note(spared, 10, first, first)
    assert spared.share(0.05) == 0.05


def test_a_record_gives_the_same_back() -> None:
    spared = Retained()
    note(spared, 10, 3, 7, until=5)
    note(spared, 10, 4, 8)
    spared.passed(50)
    again = Retained.of(orjson.loads(orjson.dumps(spared.record())))
    assert again == spared


# ---------------------------------------------------------------- in the operator


TEXT = "PATTERN SEQ(A a, B b) WHERE skip-till-next-match { [k] } WITHIN 40 ms"


def run(cuts: Sequence[int], restart: int | None) -> dict[str, float]:
    """An order halfway, which takes most partial matches; the model promises a tenth of a match for each."""
    plan = cases.plan_of(TEXT)
    random = np.random.default_rng(5)
    fields = {"x": 1, "f": 0.5, "s": "a", "t": True, "g": "a"}
    events = [
        {"seq": i, "ts": i // 10, "type": "B" if i >= 400 else "A", "k": int(random.integers(0, 9)), **fields}
        for i in range(800)
    ]
    worth = {"by": "random", "seed": 1, "utility": [], "loss": [[0.1, 0.1, 0.1]], "bin": 1, "per_ms": 1.0}
    body = {"n": 40, "exempt": 0.2, "queries": {"q": worth}}
    given = [cases.schema_control(), cases.query_control("add", "q", slot=0, shed="pspice"), Control(400, "keep", body)]
    operator = operator_of(plan)
    for number, block in enumerate(cases.blocks(events, cuts, None, given)):
        if number == restart:
            state, operator = operator.snapshot(), operator_of(plan)
            operator.restore(state)
        cases.results(operator, [block])
    return dict(operator.statistics()["loss_ratio"])


def operator_of(plan: MatchPlan) -> MatchOperator:
    return MatchOperator(partition=3, compiled=False, compiler=lambda *_: plan)


def test_the_ratio_is_the_same_however_cut_and_after_a_restart() -> None:
    whole = run([], None)
    assert set(whole) == {"q"}
    assert whole["q"] > 3, "each of them completes, ten times what the model says"
    assert run(range(0, 800, 90), None) == whole
    assert run(range(0, 800, 90), 6) == whole
