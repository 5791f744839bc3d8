"""Models that are learned from what an overloaded system sees, over and over, stay what they are without overload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.models.reader import records
from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.models.transitions.trainer import TransitionCounts, train_transitions
from saffron.engine.shed.load.settings import Overload
from saffron.experiments.virtual import VirtualReplay, VirtualRun
from saffron.experiments.virtual_models import Records
from saffron.experiments.virtual_pace import Rate
from saffron.language.cost.shedders import NONE
from saffron.runtime.replay.fused import Query

TEXT = """QUERY q PATTERN SEQ(A a, B b, C c)
WHERE skip-till-next-match { a.x = b.x AND b.x = c.x } WITHIN 120 EVENTS"""
EVENTS = 24_000
BOUND_MS, COST_NS = 100.0, 10_000.0
"""The latency bound, and what a check costs: little, so that a block, which is 5 ms long, has some thirty events."""
GENERATIONS = 2
"""Models in a row, each learned while the one before decided what goes."""


def stream() -> list[bytes]:
    random = np.random.default_rng(11)
    kinds = random.choice(list("ABCD"), EVENTS, p=[0.25, 0.15, 0.1, 0.5])
    rows = zip(kinds.tolist(), random.integers(0, 6, EVENTS).tolist(), strict=True)
    return [orjson.dumps({"type": kind, "ts": at, "x": x}) for at, (kind, x) in enumerate(rows)]


def learned(events: RawBatch, shedder: str, models: Records | None) -> tuple[TransitionModel, Records]:
    """The transition model of what a run observes behind its training share, and what to begin the next one with."""
    run = VirtualRun(Overload(BOUND_MS, exempt=0.4), Rate.of("1.6x"), shedder, stated={"": COST_NS}, models=models)
    replay = VirtualReplay([Query("q", TEXT)], run)
    counts: TransitionCounts | None = None
    for _ in replay.results([events]):
        for row in observed(replay):
            if counts is None:
                counts = TransitionCounts("q", 1, row["states"], row["window"]["size"], row["window"]["events"])
            counts.add(row["from"], row["to"], row["count"])
    assert counts is not None
    model = train_transitions(counts, (1, 0), {})
    others = [one for one in models or replay.models() if b"transitions" not in one[0]]
    return model, [*others, *records(model)]


def observed(replay: VirtualReplay) -> Sequence[Mapping[str, Any]]:
    return replay._chains[0].engines.matcher.observations().get("observations.transitions", ())


def last(model: TransitionModel) -> NDArray[np.float64]:
    """Completion probabilities by state at the start of a window."""
    found: NDArray[np.float64] = np.asarray(model.completion)[-1]
    return found


def test_models_stay_what_they_are_without_overload() -> None:
    events = batch_of_values(stream())
    true, _ = learned(events, NONE, None)
    for shedder in ("auto", "pspice"):
        models: Records | None = None
        for _ in range(GENERATIONS):
            model, models = learned(events, shedder, models)
        assert last(model) == pytest.approx(last(true), rel=0.15), shedder
