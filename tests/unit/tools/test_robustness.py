"""What a quiet stretch teaches costs no more than knowing nothing: `auto` beside even dropping, on streams that change
behind what trains."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from experiments.catalogue import text
from experiments.changing import quiet, shift, turns
from experiments.robustness import decided, row_of
from experiments.run import Load, Outcome, Runs
from experiments.unseen import logins, machines
from experiments.virtual import Done, Task

from saffron.experiments.virtual_pace import Rate

EVENTS = 3_000
MARGIN = 0.1
"""Two standard errors of the difference at some 100 true matches, and a little."""


@pytest.mark.parametrize(
    ("stream", "train"), [(quiet, 0.02), (turns, 0.16), (shift, 0.2), (logins, 0.03), (machines, 0.1)]
)
def test_a_model_taught_by_another_stretch_loses_no_more_than_even_dropping(
    stream: Callable[[int, Path, int], Path], train: float, tmp_path: Path
) -> None:
    queries = {"q": text(stream.__name__)}
    load = Load(queries, stream(1, tmp_path, EVENTS), Rate(1.4, relative=True), {"q": 1.0}, seconds=2.0, train=train)
    runs = Runs(load, 1)
    missed = {name: runs.outcome(name).missed for name in ("auto", "pm-bl", "bl")}
    assert missed["auto"] <= min(missed["pm-bl"], missed["bl"]) + MARGIN


def done(seed: int, auto: float, partial: float, events: float) -> Done:
    """One seed of a point."""
    shares = {"auto": auto, "pm-bl": partial, "bl": events}
    found = {name: Outcome(share, 0.01, 0.0, 0.0, 900.0, 0, 0, 8.0) for name, share in shares.items()}
    return Done(Task("r-quiet", 3.0, seed, tuple(shares), None, 0.03), 0.0, found)


def test_a_row_is_beside_the_better_of_what_knows_nothing() -> None:
    row = row_of([done(0, 0.2, 0.3, 0.25), done(1, 0.4, 0.1, 0.25), done(2, 0.3, 0.5, 0.25)])
    assert row["worse, points"] == pytest.approx(100 * (0.3 - 0.25))
    assert row["+-"] == pytest.approx(4.3027 * 10 / 3**0.5, rel=1e-4), "Student's t"
    assert row_of([done(0, 0.2, 0.3, 0.25)])["+-"] == pytest.approx(1.96 * 2**0.5)


def test_a_row_runs_until_its_interval_lies_on_one_side_of_what_is_allowed() -> None:
    assert not decided([])
    assert decided([done(0, 0.2, 0.3, 0.25)])  # 5 points better, 2.8 of them uncertain
    assert not decided([done(0, 0.3, 0.3, 0.29)])
    assert decided([done(0, 0.4, 0.3, 0.25)])
    assert not decided([done(0, 0.4, 0.3, 0.25)], 2), "of a generated stream"
    assert not decided([done(0, 0.2, 0.3, 0.25), done(1, 0.4, 0.1, 0.25), done(2, 0.3, 0.5, 0.25)])
