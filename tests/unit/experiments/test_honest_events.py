"""The estimated share of missed matches beside the true one, where events are dropped and no sample is taken."""

from __future__ import annotations

import numpy as np
import orjson
import pytest

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.shed.load.settings import Overload
from saffron.experiments.virtual import VirtualReplay, VirtualRun
from saffron.experiments.virtual_pace import Rate
from saffron.runtime.replay.fused import Query

KLEENE = """QUERY q PATTERN SEQ(A a, B+ b[], C c)
WHERE skip-till-next-match { [k] AND b[i].x > 3 AND c.x > 26 } WITHIN 250 EVENTS OUTPUT LONGEST"""
SIX = """QUERY q PATTERN SEQ(A a, B b, C c, D d, E e, F f)
WHERE skip-till-next-match { [k] } WITHIN 250 EVENTS OUTPUT FIRST"""


def stream(kinds: str, events: int = 15_000) -> RawBatch:
    random = np.random.default_rng(7)
    drawn = zip(
        random.choice(list(kinds), events).tolist(),
        random.integers(0, 3, events).tolist(),
        random.integers(0, 30, events).tolist(),
        strict=True,
    )
    return batch_of_values(
        [orjson.dumps({"type": kind, "ts": 1000 * i, "k": k, "x": x}) for i, (kind, k, x) in enumerate(drawn)]
    )


@pytest.mark.parametrize(
    ("text", "kinds", "train"), [(KLEENE, "ABC", 0.3), (SIX, "ABCDEF", 0.002)], ids=["kleene", "untrained"]
)
def test_the_estimate_is_near_the_truth(text: str, kinds: str, train: float) -> None:
    run = VirtualRun(Overload(200.0), Rate.of("2x"), "gspice-h", truth=True, stated={"": 15_000.0}, train=train)
    replay = VirtualReplay([Query("q", text)], run)
    for _ in replay.results([stream(kinds)]):
        pass
    figures = replay.figures()
    missed = 1 - figures["recall"]
    assert missed > 0.1
    assert figures["estimated_loss"]["q"] == pytest.approx(missed, rel=0.12)
