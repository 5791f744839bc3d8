"""The estimated share of missed matches beside the true one, where dropped partial matches are what is lost."""

from __future__ import annotations

import numpy as np
import orjson
import pytest

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.shed.load.settings import Overload
from saffron.experiments.virtual import VirtualReplay, VirtualRun
from saffron.experiments.virtual_pace import Rate
from saffron.runtime.replay.fused import Query

TEXT = """QUERY q PATTERN SEQ(A a, B b, C c)
WHERE skip-till-next-match { a.x < 8 } WITHIN 250 EVENTS SLIDE 25 EVENTS CONSUME a"""
"""A match lies in many windows: results are several for each partial match that completes."""


def stream(changes: bool) -> RawBatch:
    """Events of four types; with `changes`, the last of a match is three times as rare behind the training share."""
    random = np.random.default_rng(7)
    events = 9_000
    before, behind = [0.3, 0.3, 0.03, 0.37], [0.3, 0.3, 0.01, 0.39]
    half = int(0.3 * events)
    kinds = [*random.choice(list("ABCD"), half, p=before)]
    kinds += [*random.choice(list("ABCD"), events - half, p=behind if changes else before)]
    numbers = random.integers(0, 10, events).tolist()
    rows = enumerate(zip(kinds, numbers, strict=True))
    return batch_of_values([orjson.dumps({"type": str(k), "ts": 1000 * i, "x": x}) for i, (k, x) in rows])


@pytest.mark.parametrize("shedder", ["pspice", "pm-bl"])
@pytest.mark.parametrize("changes", [False, True])
def test_the_estimate_is_near_the_truth(shedder: str, changes: bool) -> None:
    run = VirtualRun(Overload(1000.0), Rate.of("1.6x"), shedder, truth=True, stated={"": 150_000.0})
    replay = VirtualReplay([Query("q", TEXT)], run)
    for _ in replay.results([stream(changes)]):
        pass
    figures = replay.figures()
    missed = 1 - figures["recall"]
    assert figures["precision"] == 1.0
    assert missed > 0.02
    assert figures["estimated_loss"]["q"] == pytest.approx(missed, rel=0.2, abs=0.005)
