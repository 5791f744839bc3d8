"""Under a bound, on the in-memory log: features are chosen, stand in the stream, and change no answer."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from saffron.engine.models.features.features import FeatureSpec
from saffron.engine.shed.observing import SAMPLE_EVENTS
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.process.config import SHED
from tests.e2e.simulated.system import ANY, TOPICS, Source, at_rest, check, close, makers, settings
from tests.unit.runtime.world import NO_CHAOS, World


def test_blocks_tell_of_features_and_results_are_those_of_the_blocks(tmp_path: Path) -> None:
    world = World(3, tmp_path / "snapshots", NO_CHAOS)
    world.topics(*topic_specs("t.", 1))
    chosen = replace(settings(tmp_path, 1), overload=SHED, block_events=512, poll_records=600)
    for name, make in makers(chosen).items():
        world.add(name, make)
    source = Source(world, 1, random.Random(3))
    source.query("any", ANY)
    turns = iter(range(10**9))

    def live() -> None:
        if next(turns) % 10 == 5:
            source.events(250)

    world.run(SAMPLE_EVENTS // 12, live)
    told = [
        control.body
        for one in world.blocks(TOPICS.admitted, 0)
        for control in one.controls
        if control.kind == "features"
    ]
    assert len(told) == 1
    spec = FeatureSpec.of(told[0]["specification"])
    assert spec.identity == told[0]["spec"]
    close(world, 1)
    world.settle(lambda: at_rest(world, 1))
    found = world.blocks(TOPICS.admitted, 0)
    kept = [control.body["features"] for one in found for control in one.controls if control.kind == "checkpoint"]
    assert kept[-1] == told[0]
    assert any(one.features for one in found)
    assert check(world, 0)[TOPICS.complex_events] > 0
