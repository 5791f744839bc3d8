"""What orders say of partial matches, and the curve of what dropping them loses."""

from __future__ import annotations

import numpy as np
import pytest

from saffron.engine.models.transitions.ages import A_BIN, AGES, LEFT_BINS
from saffron.engine.models.transitions.ages import SHARES as PARTS
from saffron.engine.models.transitions.markov import lookup, remaining_time_table
from saffron.engine.models.transitions.partial_match import partial_match_models
from saffron.engine.models.transitions.trainer import TransitionCounts, train_transitions
from saffron.engine.shed.drops.partial_curve import partial_curve
from saffron.engine.shed.drops.shedders import BY_UTILITY
from saffron.engine.shed.drops.utility_tables import UtilityTables
from tests.reference.shedding import partial_lost
from tests.unit.engine.shed.shedders import shedder


def counted(forward: int, dead: int = 3, window: int = 40) -> TransitionCounts:
    counts = TransitionCounts("q", 1, 4, window, True)
    for source in (1, 2):
        counts.add(source, source, 100)
        counts.add(source, source + 1, forward)
        counts.add(source, -1, dead)
    counts.add(0, 1, 50)
    return counts


@pytest.mark.parametrize("forward", [2, 10, 60])
def test_the_curve_of_partial_matches_is_that_of_a_walk(forward: int) -> None:
    model = train_transitions(counted(forward), (1, 1), {})
    utility = partial_match_models([model])["q"].utility
    curve = partial_curve(model, utility)
    assert (curve.saved[0], curve.lost[0], curve.saved[-1], curve.lost[-1]) == (0, 0, 1, 1)
    assert (np.diff(curve.saved) >= 0).all()
    for level in np.quantile(utility[:, 1:-1], [0.25, 0.5, 0.75]).tolist():
        saved, lost = partial_lost(model.matrix, utility <= level)
        assert curve.at(saved) == pytest.approx(lost, abs=0.06)


def test_the_curve_by_ages_is_that_of_dropping_the_least_useful_alive() -> None:
    counts = counted(10)
    for state in (1, 2):
        for left in range(LEFT_BINS):  # what has much left has hardly ever completed, by the ages that were seen
            age = left * A_BIN
            counts.followed[state, age] = counts.followed[state, AGES + age] = (40, 0 if left > 7 else 20 * PARTS)
    model = train_transitions(counts, (1, 1), {})
    table = partial_match_models([model])["q"]
    curve = partial_curve(model, table.utility)
    tables = table.utility, table.loss, remaining_time_table(model.matrix, np.ones(4), model.bin_size, 40)
    cells = [
        (lifted * worth, count * time, count * lifted * lost)
        for state in range(model.states)
        for age, (count, lifted) in enumerate(zip(model.seen[state], model.lift[state], strict=True))
        for left in [(age // A_BIN + 0.5) / LEFT_BINS * model.expected_events]
        for worth, lost, time in [[lookup(one, model.bin_size, state, left) for one in tables]]
    ]
    cells.sort(key=lambda cell: cell[0])
    for part in range(1, len(cells), 37):
        saved, lost = (sum(cell[k] for cell in cells[:part]) / sum(cell[k] for cell in cells) for k in (1, 2))
        assert curve.at(saved) == pytest.approx(lost, abs=0.02)
    assert curve.at(0.5) < 0.1 < train_transitions(counted(10), (1, 1), {}).expected[-1, 1]


def test_partial_matches_without_a_model_are_drawn() -> None:
    tables = UtilityTables(seed=5)
    tables.use({}, {"q": 1.0})
    assert tables.of("q", BY_UTILITY) == {"utility": [], "loss": [], "bin": 1, "per_ms": 0.0, "by": "random", "seed": 5}
    assert tables.curve("q", BY_UTILITY) is None


def test_names_say_what_a_partial_match_is_worth() -> None:
    counts = counted(10)
    for count in (100, 300, 50):
        counts.add_time({(1, 1): count, (2, 2): 2 * count}, 10 * count + 4000 * count)
    model = train_transitions(counts, (1, 1), {})
    tables = UtilityTables(seed=5)
    tables.use({"q": model}, {"q": 2.0})
    orders = [shedder(name).partial for name in ("pspice", "pspice--", "pm-bl")]
    by_time, plain, drawn = (tables.of("q", order) for order in orders if order is not None)
    assert by_time["by"] == plain["by"] == "utility"
    assert by_time["utility"] != plain["utility"]
    assert drawn["by"] == "random"
    assert by_time["loss"] == drawn["loss"] == model.expected.tolist()
    live = model.completion[:, 1:-1] > 0
    ratio = np.array(plain["utility"])[:, 1:-1][live] / model.completion[:, 1:-1][live]
    assert np.allclose(ratio, ratio[0]), "w P, but for one factor"
    assert tables.of("q", BY_UTILITY) is by_time, "made once"
    tables.use({"q": model}, {"q": 3.0})
    assert tables.of("q", BY_UTILITY) is not by_time
