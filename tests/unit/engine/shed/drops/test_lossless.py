"""How many more events may go for nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.engine.shed.drops.allocation import Candidate, allocate
from saffron.engine.shed.drops.loss_curve import LossCurve
from saffron.engine.shed.drops.lossless import LOST, LosslessShares
from tests.unit.engine.shed.candidates import candidate


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 0.9), st.floats(0.5, 2), st.floats(0.1, 5)), min_size=1, max_size=3),
    st.floats(0.0, 1.0),
)
def test_a_share_is_raised_as_far_as_no_more_is_lost(queries: list[tuple[float, float, float]], share: float) -> None:
    """Of each query some events are worth nothing, and the others as much as a power says."""
    given_ = {f"q{i}": candidate(power, worth, free=free) for i, (free, power, worth) in enumerate(queries)}

    def lost(one: float) -> float:
        return sum(given_[name].worth * given_[name].lost(part) for name, part in allocate(given_, one).items())

    most, step = lost(np.floor(share * 64) / 64) + LOST * sum(worth for _, _, worth in queries), 1 / 64
    raised = LosslessShares().share(share, lambda: given_)
    assert raised >= share
    assert raised == share or lost(raised) <= most
    assert raised + step > 1 or lost(raised + step) > most
    on_curves = [float(np.floor(free * 64) / 64) for free, _, _ in queries]
    if share < min(on_curves):
        assert raised > sum(on_curves) / len(queries) - step, "all that is worth nothing to any query"


def test_what_is_lossless_follows_what_is_known_now() -> None:
    known = LosslessShares()
    assert known.share(0.1, lambda: {"q": candidate(1.0, free=0.5)}) == 0.5
    assert known.share(0.1, lambda: {"q": candidate(1.0)}) == 0.5, "nothing new is known"
    known.forget()
    assert known.share(0.1, lambda: {"q": candidate(1.0)}) == 0.1


def test_what_was_promised_to_be_lossless_and_was_not_is_no_longer() -> None:
    promised = LossCurve(np.zeros(65))
    one = Candidate(promised.towards_random(0.25, 3.0), 1.0, 1.0)
    assert one.lost(0.5) == pytest.approx(0.25 * (1 - 0.5**3))
    assert LosslessShares().share(0.1, lambda: {"q": one}) == 0.1
    assert LosslessShares().share(0.1, lambda: {"q": Candidate(promised, 1.0, 1.0)}) == 1.0
