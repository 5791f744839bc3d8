"""Aggregate and match queries that come, go and come back: the service of each rests while there is none.

Every answer is that of an undisturbed operator, whatever dies, and with or without rests.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from pathlib import Path

import pytest

from saffron.runtime.results import rest
from tests.e2e.simulated.system import FALLS, RALLY, TOPICS, Source, at_rest, check, close, make_system

PARTITIONS = 2
QUERIES = {"rally": RALLY, "falls": FALLS}


def live(seed: int, directory: Path) -> Counter[str]:
    """One seed: each query is added late, removed, and added again; the number of results by topic."""
    world = make_system(seed, directory, partitions=PARTITIONS)
    source = Source(world, PARTITIONS, random.Random(seed + 1))
    turns, draw = itertools.count(), random.Random(seed + 2)
    changes = {
        turn: (name, op)
        for name in QUERIES
        for turn, op in zip(sorted(draw.sample(range(40, 400), 3)), ("add", "remove", "add"), strict=True)
    }

    def each() -> None:
        turn = next(turns)
        if turn % 6 == 0:
            source.events(3)
        if turn in changes:
            name, op = changes[turn]
            since = draw.choice(("now", "earliest"))
            source.query(name, QUERIES[name] if op == "add" else None, since=since)

    try:
        world.run(500, each)
        close(world, PARTITIONS)
        world.settle(lambda: at_rest(world, PARTITIONS))
        return sum((check(world, partition) for partition in range(PARTITIONS)), Counter())
    except BaseException as error:
        raise AssertionError(f"seed {seed}: {error!r}\n" + "\n".join(world.history[-40:])) from error


@pytest.mark.parametrize("rest_ms", [0, 30, rest.REST_MS])
def test_answers_do_not_depend_on_rests(rest_ms: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "REST_MS", rest_ms)
    total = sum((live(seed, tmp_path / str(seed)) for seed in range(6)), Counter[str]())
    assert total[TOPICS.complex_events] > 50
    assert total[TOPICS.trends] > 20
