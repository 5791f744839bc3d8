"""Results in Avro under faults: each exactly once, and the same as JSON; nothing before the registry has answered."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from tests.e2e.simulated.system import TOPICS
from tests.e2e.simulated.test_recovery import live
from tests.unit.windowing.fake_registry import running


def test_every_result_stands_exactly_once_in_avro_too(tmp_path: Path) -> None:
    total: Counter[str] = Counter()
    with running() as registry:

        def asleep(turn: int) -> None:
            registry.down = turn < 100

        avro: dict[str, Any] = {"results_format": "avro", "results_registry": registry.url}
        for seed in range(3):
            total += live(seed, tmp_path / str(seed), turns=400, each_turn=asleep, **avro)
    assert total[TOPICS.complex_events] > 100
    assert total[TOPICS.trends] > 30
    assert set(registry.subjects) == {f"{TOPICS.complex_events}-value", f"{TOPICS.trends}-value"}
    assert [one["schemaType"] for one in registry.schemas.values()] == ["AVRO", "AVRO"]


ROWS = {
    "alarms": "PATTERN SEQ(Stock a, Stock b) WHERE [symbol] AND b.price > a.price WITHIN 3 seconds "
    "RETURN b.symbol AS symbol, b.price AS price PUBLISH 'alarms' AS JSON SCHEMA KEY b.symbol",
    "counts": "PATTERN Stock S+ WHERE [symbol] GROUP BY symbol WITHIN 2 seconds RETURN COUNT(*) AS n "
    "PUBLISH 'counts' AS AVRO KEY symbol",
}


def test_every_row_stands_exactly_once_whatever_dies_and_while_the_registry_sleeps(tmp_path: Path) -> None:
    total: Counter[str] = Counter()
    with running() as registry:

        def asleep(turn: int) -> None:
            registry.down = turn < 150

        for seed in range(3):
            more: dict[str, Any] = {"results_registry": registry.url, "result_bytes": 1_300}
            total += live(seed, tmp_path / str(seed), turns=400, each_turn=asleep, beside=ROWS, **more)
    assert min(total["alarms"], total["counts"]) > 50
    assert set(registry.subjects) == {"counts-value"}
