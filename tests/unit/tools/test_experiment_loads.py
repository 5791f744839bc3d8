"""What an experiment's rate is a multiple of: what the engine alone takes of the events that are shed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import orjson
import pytest
from experiments.run import TRAIN, Load, asked, paced, replayed, stated

from saffron.experiments.virtual_pace import Rate
from saffron.language.cost.shedders import NONE

TEXT = """PATTERN SEQ(A a, B b, C c) WHERE skip-till-next-match { a.x = b.x AND b.x = c.x } WITHIN 100 EVENTS"""
EVENTS = 6_000
SECONDS = 2.0
"""How long the load lasts: not long, so that a block, which is 5 ms long, has some ten events."""


def load(path: Path, early: float, late: float) -> Load:
    """`early`, `late`: how many of the events that train, and of those behind them, begin a partial match."""
    random = np.random.default_rng(3)
    begins = random.random(EVENTS) < np.where(np.arange(EVENTS) < TRAIN * EVENTS, early, late)
    kinds = np.where(begins, "A", random.choice(["B", "C", "D"], EVENTS))
    rows = zip(kinds.tolist(), random.integers(0, 5, EVENTS).tolist(), strict=True)
    lines = [orjson.dumps({"type": kind, "ts": 1000 * at, "x": x}) for at, (kind, x) in enumerate(rows)]
    path.write_bytes(b"\n".join(lines))
    return Load({"q": TEXT}, path, Rate(1.2, relative=True), {"q": 1.0}, seconds=SECONDS)


@pytest.mark.parametrize(("early", "late"), [(0.05, 0.5), (0.5, 0.05), (0.2, 0.2)])
def test_the_engine_is_busy_for_as_long_as_the_load_lasts(tmp_path: Path, early: float, late: float) -> None:
    """However many partial matches the training share has; and a fifth more comes than it takes."""
    made = load(tmp_path / "events.ndjson", early, late)
    figures = replayed(made, asked(made, NONE, 0, stated(made), truth=False)).figures()
    assert figures["busy_seconds"] == pytest.approx(SECONDS, rel=0.05)
    assert paced(made).value == pytest.approx(1.2 * (1 - TRAIN) * EVENTS / SECONDS)
    late_s = figures["event_latency_ms"]["max"] / 1000
    assert late_s == pytest.approx(SECONDS - SECONDS / 1.2, abs=SECONDS / 20)
