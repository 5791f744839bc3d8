"""Streams without a schema whose queries take long to compile, or for ever: the same answers, and no stream stops."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from saffron.runtime.kernels.warm import Request, Warmed
from saffron.windowing import service
from saffron.windowing.hop import BlockLimits
from tests.e2e.simulated import system
from tests.e2e.simulated.system import FALLS, RALLY, TOPICS, Source, at_rest, check, close, make_system
from tests.unit.runtime.world import World

PARTITIONS = 2


class Slow:
    """Compiles for `steps` looks of its service, one request at a time; None: for ever."""

    steps: int | None = 0

    def __init__(self, kernels: Path) -> None:
        del kernels
        self._asked: list[Request] = []
        self._left = self.steps

    def prepare(self) -> None:
        pass

    def ask(self, request: Request) -> None:
        self._asked.append(request)

    def step(self) -> list[Warmed]:
        if not self._asked or self._left is None:
            return []
        self._left -= 1
        if self._left > 0:
            return []
        self._left = self.steps
        return [Warmed(self._asked.pop(0))]

    def close(self) -> None: ...


def live(seed: int, directory: Path) -> tuple[World, Counter[str]]:
    """Two queries before the first event, events under faults, rest, and the reckoning."""
    world = make_system(seed, directory, partitions=PARTITIONS)
    source = Source(world, PARTITIONS, random.Random(seed + 1))
    source.query("rally", RALLY)
    source.query("falls", FALLS)
    turns = itertools.count()
    try:
        world.run(300, lambda: source.events(4) if (turn := next(turns)) > 60 and turn % 12 == 0 else None)
        close(world, PARTITIONS)
        world.settle(lambda: at_rest(world, PARTITIONS))
        return world, sum((check(world, partition) for partition in range(PARTITIONS)), Counter())
    except BaseException as error:
        raise AssertionError(f"seed {seed}: {error!r}\n" + "\n".join(world.history[-40:])) from error


@pytest.mark.parametrize("steps", [1, 30, None])
def test_answers_do_not_depend_on_how_long_compiling_takes(
    steps: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Warmer(Slow):
        pass

    Warmer.steps = steps
    monkeypatch.setattr(system, "AtOnce", Warmer)
    monkeypatch.setattr(service, "BlockLimits", partial(BlockLimits, compile_ms=400))
    total: Counter[str] = Counter()
    for seed in range(3):
        world, counts = live(seed, tmp_path / str(seed))
        total += counts
        for partition in range(PARTITIONS):
            assert_schema_before_events(world, partition)
    assert total[TOPICS.complex_events] > 20
    assert total[TOPICS.trends] > 10


def assert_schema_before_events(world: World, partition: int) -> None:
    """One schema, in force before the first event."""
    found: list[tuple[int, Any]] = [
        (control.position, control.body)
        for block in world.blocks(TOPICS.windows, partition)
        for control in block.controls
        if control.kind == "schema"
    ]
    assert [position for position, _ in found] == [0]
