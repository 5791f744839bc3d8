"""The estimated share of matches found that are none beside the true one, where events are dropped."""

from __future__ import annotations

import numpy as np
import orjson
import pytest

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.match.shedding import sample
from saffron.engine.shed.load.settings import Overload
from saffron.experiments.virtual import VirtualReplay, VirtualRun
from saffron.experiments.virtual_pace import Rate
from saffron.runtime.replay.fused import Query

NOT = """QUERY q PATTERN SEQ(A a, NOT B b, C c)
WHERE skip-till-any-match { b.x = a.x AND c.x = a.x } WITHIN 250 EVENTS"""
NEXT = "QUERY q PATTERN SEQ(A a, B b, C c) WHERE skip-till-next-match { b.x = c.x } WITHIN 250 EVENTS"


def stream(events: int = 10_000) -> RawBatch:
    random = np.random.default_rng(7)
    kinds = random.choice(list("ABCD"), events, p=[0.3, 0.1, 0.55, 0.05]).tolist()
    numbers = random.integers(0, 30, events).tolist()
    rows = enumerate(zip(kinds, numbers, strict=True))
    return batch_of_values([orjson.dumps({"type": k, "ts": 1000 * i, "x": x}) for i, (k, x) in rows])


@pytest.mark.parametrize(
    ("text", "bound", "cost"), [(NOT, 100.0, 15_000.0), (NEXT, 1000.0, 150_000.0)], ids=["not", "next"]
)
def test_the_estimate_is_near_the_truth(text: str, bound: float, cost: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short stream needs a large sample: of a fifth of first events some thirty false matches come.

    `cost`, ns a check, decides how many events come within 5 ms, which are a block: few, but not one alone.
    """
    monkeypatch.setattr(sample, "SHARE", 0.2)
    monkeypatch.setattr(sample, "LEAST_SHARE", 0.2)
    monkeypatch.setattr(sample, "BUDGET", 1e9)
    run = VirtualRun(Overload(bound), Rate.of("2x"), "bl", truth=True, stated={"": cost})
    replay = VirtualReplay([Query("q", text)], run)
    for _ in replay.results([stream()]):
        pass
    figures = replay.figures()
    false = 1 - figures["precision"]
    assert false > 0.04
    assert figures["estimated_false"]["q"] == pytest.approx(false, rel=0.3, abs=0.005)
    assert figures["estimated_in_all"]["false"] == pytest.approx(figures["estimated_false"]["q"], abs=2e-6)
    assert figures["estimated_in_all"]["loss"] == pytest.approx(figures["estimated_loss"]["q"], abs=2e-6)
