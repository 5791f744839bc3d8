"""The whole path on the in-memory log: real services, real operators, faults between any two steps, from seeds."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.e2e.simulated.system import FALLS, RALLY, RESULT_BYTES, TOPICS, Source, at_rest, check, close, make_system

PARTITIONS = 2
CHUNKS, NIGHTLY = 6, 60
"""Of ten seeds each."""
_DATED = 30
"""Bytes that say when a result was detected, at most."""
Turn = Callable[[int], None]
SILENT = "PATTERN SEQ(Stock a, NOT Stock b EVERY 900 ms) WHERE [symbol] WITHIN 4 seconds"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    nightly = metafunc.config.getoption("--nightly")
    metafunc.parametrize("chunk", range(NIGHTLY if nightly else CHUNKS))


def live(
    seed: int,
    directory: Path,
    *,
    turns: int,
    each_turn: Turn = lambda _: None,
    beside: Mapping[str, str] = MappingProxyType({}),
    **changes: Any,
) -> Counter[str]:
    """One seed: events and changes under faults, rest, and the reckoning; returns the number of results by topic.

    `each_turn`: does something more, by the turn's number. `beside`: more queries. `changes`: of settings.
    """
    changes = {"result_bytes": RESULT_BYTES, **changes}
    world = make_system(seed, directory, partitions=PARTITIONS, **changes)
    source = Source(world, PARTITIONS, random.Random(seed + 1))
    counter = itertools.count()
    source.query("rally", RALLY)
    source.query("falls", FALLS)
    for name, text in beside.items():
        source.query(name, text)

    def each() -> None:
        turn = next(counter)
        each_turn(turn)
        if turn % 12 == 0:
            source.events(4)
        if turn % 60 == 59:
            source.change()

    try:
        world.run(turns, each)
        close(world, PARTITIONS)
        world.settle(lambda: at_rest(world, PARTITIONS))
        for topic in (TOPICS.complex_events, TOPICS.trends):
            for partition in range(PARTITIONS):
                records = world.read(topic, partition, committed_only=True)
                assert all(len(one.value or b"") <= changes["result_bytes"] + _DATED for one in records)
        return sum((check(world, partition) for partition in range(PARTITIONS)), Counter())
    except BaseException as error:
        raise AssertionError(f"seed {seed}: {error!r}\n" + "\n".join(world.history[-40:])) from error


def test_every_result_stands_exactly_once_whatever_dies(chunk: int, tmp_path: Path) -> None:
    seeds = range(chunk * 10, chunk * 10 + 10)
    total = sum((live(seed, tmp_path / str(seed), turns=400) for seed in seeds), Counter())
    assert total[TOPICS.complex_events] > 500, "a test without results proves nothing"
    assert total[TOPICS.trends] > 100
    assert total[TOPICS.dead_letters] > 50, "results that are too large"


def test_absences_stand_exactly_once_whatever_dies(chunk: int, tmp_path: Path) -> None:
    alone, silent = Counter[str](), Counter[str]()
    for seed in range(chunk * 2, chunk * 2 + 2):
        alone += live(seed, tmp_path / f"{seed}-alone", turns=300)
        silent += live(seed, tmp_path / str(seed), turns=300, beside={"silent": SILENT})
    assert silent[TOPICS.complex_events] > alone[TOPICS.complex_events] + 10


PUBLISHED = {
    "alarms": "PATTERN SEQ(Stock a, Stock b) WHERE [symbol] AND b.price > a.price WITHIN 3 seconds "
    "RETURN b.price AS price EMIT VALUES PUBLISH 'alarms' KEY b.symbol",
    "counts": "PATTERN Stock S+ WHERE [symbol] GROUP BY symbol WITHIN 2 seconds RETURN COUNT(*) "
    "PUBLISH 'alarms' KEY symbol",
    "plain": "PATTERN Stock a WHERE a.price > 11 WITHIN 1 second PUBLISH 'plain'",
    "rise": "PATTERN SEQ(Stock a, Stock b) WHERE [symbol] AND b.price > a.price WITHIN 3 seconds "
    "RETURN b.symbol, b.price - a.price AS gain INTO Rise",
    "steep": "PATTERN Rise r WHERE r.gain > 1 WITHIN 1 second RETURN r.gain AS gain PUBLISH 'alarms' KEY r.symbol",
}


def test_published_results_stand_exactly_once_whatever_dies(chunk: int, tmp_path: Path) -> None:
    total = Counter[str]()
    for seed in range(chunk * 5, chunk * 5 + 5):
        kept = 10**9 if seed % 2 else 80  # without a snapshot, the place is known from the topics of PUBLISH alone
        total += live(seed, tmp_path / str(seed), turns=300, beside=PUBLISHED, snapshot_ms=kept)
    assert total["alarms"] > 200
    assert total["plain"] > 20
