"""A query that fails, at whatever step, on the whole path under faults: it stops, and stays stopped; the others go on.

Its committed results are a prefix of its right ones, those of the others are theirs to the byte; a new version of it
heals it. A process that dies in the same query and block again and again has the query failed, too.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from saffron.engine.events.block import Block
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.operators.operator import ResultOperator
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.runtime.log import Record, TopicPartition
from saffron.windowing import hop
from tests.e2e.simulated.system import ANY, FALLS, RALLY, TOPICS, Source, at_rest, close, make_system, undated
from tests.memory.memory_log import Killed
from tests.unit.engine.containment.faults import SHARED, Fault, injected
from tests.unit.runtime.world import Chaos, World
from tests.unit.windowing.fake_registry import running

PARTITIONS = 2
PAIRS = """PATTERN SEQ(Stock a, Stock b) WHERE skip-till-next-match { [symbol] AND a.price < b.price }
WITHIN 3 seconds RETURN a.price AS low INTO Pair PUBLISH"""
TWICE = "PATTERN SEQ(Pair p, Pair q) WHERE skip-till-next-match { q.low > p.low } WITHIN 6 seconds"
HIGHEST = FALLS.replace("COUNT(*)", "COUNT(*), MAX(S.price)")
QUERIES = {"rally": RALLY, "any": ANY, "pairs": PAIRS, "twice": TWICE, "falls": FALLS, "highest": HIGHEST}
READERS = {"pairs": {"twice"}}
PLACES = ("start", "advance", "end", "found", "render", "save", "restore")
NIGHTLY = 20


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    nightly = metafunc.config.getoption("--nightly")
    metafunc.parametrize("seed", range(NIGHTLY if nightly else 1))


class System:
    """All services in their world, with events and faults. `turns`: so many between two changes of ours."""

    def __init__(self, seed: int, directory: Path, **changes: Any) -> None:
        """`changes`: of settings."""
        self.world = make_system(seed, directory, partitions=PARTITIONS, **changes)
        self.source = Source(self.world, PARTITIONS, random.Random(seed + 1))
        for name, text in QUERIES.items():
            self.source.query(name, text)

    def run(self, turns: int) -> None:
        left = iter(range(turns))
        self.world.run(turns, lambda: self.source.events(4) if next(left) % 12 == 0 else None)

    def end(self) -> None:
        close(self.world, PARTITIONS)
        self.world.settle(lambda: at_rest(self.world, PARTITIONS))

    def failed(self) -> set[str]:
        """The queries that have failed on every partition, each with a reason, as windowing says."""
        return self._in_state("failed", lambda one: bool(one["reason"]))

    def active(self) -> set[str]:
        """The queries in force on every partition, as windowing says."""
        return self._in_state("active", lambda one: True)

    def _in_state(self, state: str, holds: Callable[[dict[str, object]], bool]) -> set[str]:
        last: dict[bytes, dict[str, object]] = {}
        for record in self.world.read(TOPICS.query_status, 0, committed_only=True):
            last[record.key or b""] = orjson.loads(record.value or b"null")
        said = (one for one in last.values() if one["service"] == "windowing" and one["state"] == state)
        counts = Counter(str(one["name"]) for one in said if holds(one))
        return {name for name, count in counts.items() if count == PARTITIONS}


def reckoned(world: World, partition: int, may_fail: set[str]) -> set[str]:
    """Every result of a partition stands once, but for those behind the end of failed queries; which have some."""
    standing = world.blocks(TOPICS.admitted, partition)
    found = set()
    for topic, kind in ((TOPICS.complex_events, MatchOperator), (TOPICS.trends, TrendOperator)):
        records = world.read(topic, partition, committed_only=True)
        results = undated(records)
        names = [(record.key or b"").decode() for record in records]
        right, queries = expected(kind(partition=partition, stream="events"), [without_failures(b) for b in standing])
        for name in QUERIES:
            mine = [one for one, query in zip(results, names, strict=True) if query == name]
            whole = [one for one, query in zip(right, queries, strict=True) if query == name]
            assert mine == (whole[: len(mine)] if name in may_fail else whole), name
            found |= {name} if mine else set()
    return found


def without_failures(block: Block) -> Block:
    kept = (one for one in block.controls if one.kind != "query" or one.body["op"] != "fail")
    return replace(block, controls=tuple(kept))


def expected(operator: ResultOperator, standing: Sequence[Block]) -> tuple[list[bytes], list[str]]:
    """What an undisturbed operator says to these blocks, and of which query each is."""
    texts: list[bytes] = []
    names: list[str] = []
    for block in standing:
        results = operator.apply(block)
        texts += results.json(0, len(results))
        names += [results.names[code] for code in results.query.tolist()]
    return texts, names


@pytest.mark.parametrize("place", PLACES)
def test_a_match_query_that_fails_stops_alone(place: str, seed: int, tmp_path: Path) -> None:
    victim = "any" if place in ("start", "end", "found", "save") else "pairs"
    system = System(seed, tmp_path)
    fault = Fault(victim, place, 2 if place in ("advance", "end") else 0, late=seed % 2 == 1)
    with injected(fault):
        system.run(300)
        for _ in range(10):  # a snapshot is also due by the time that steps take, which is measured
            if not fault.raised and place == "save":
                system.run(100)
        system.end()
    assert fault.raised or place == "restore"
    stopped = {victim} | READERS.get(victim, set())
    assert system.failed() <= stopped
    others = set(QUERIES) - stopped
    for partition in range(PARTITIONS):
        assert others <= reckoned(system.world, partition, system.failed())


@pytest.mark.parametrize("place", ["trend make", "trend apply", "trend own", "trend render"])
def test_a_trend_query_that_fails_stops_alone_though_it_shares_a_graph(place: str, seed: int, tmp_path: Path) -> None:
    system = System(seed, tmp_path)
    fault = Fault(SHARED if place in ("trend make", "trend apply") else "highest", place, 0, late=seed % 2 == 1)
    with injected(fault):
        system.run(300)
        system.end()
    assert system.failed() <= {"highest", "falls"}
    for partition in range(PARTITIONS):
        assert {"rally", "any", "pairs"} <= reckoned(system.world, partition, system.failed())


def test_a_process_that_dies_in_a_query_again_and_again_has_it_failed(seed: int, tmp_path: Path) -> None:
    system = System(seed, tmp_path)
    with injected(Fault("any", "advance", at=20, error=Killed)) as fault:
        system.run(500)
        system.end()
    assert fault.raised >= 2
    assert system.failed() == {"any"}
    for partition in range(PARTITIONS):
        assert {"rally", "pairs", "falls"} <= reckoned(system.world, partition, {"any"})


def test_one_death_proves_nothing(seed: int, tmp_path: Path) -> None:
    system = System(seed, tmp_path)
    with injected(Fault("any", "advance", 2, error=Killed)) as fault:
        system.run(300)
        system.end()
    assert fault.raised == 1
    assert not system.failed()
    for partition in range(PARTITIONS):
        assert {"any", "rally"} <= reckoned(system.world, partition, set())


@pytest.mark.parametrize("backlog_ms", [50, 100])  # with 50 the chain starts again amid the results of a block
def test_another_version_heals_it(seed: int, backlog_ms: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hop, "_BACKLOG_MS", backlog_ms)
    system = System(seed, tmp_path)
    with injected(Fault("any", "advance", 2)):
        system.run(200)
        system.world.settle(lambda: system.failed() == {"any"})
    system.source.query("any", ANY)
    system.run(300)
    system.end()
    assert not system.failed()
    for partition in range(PARTITIONS):
        standing = system.world.blocks(TOPICS.admitted, partition)
        right, names = expected(MatchOperator(partition=partition, stream="events"), standing)
        results = undated(system.world.read(TOPICS.complex_events, partition, committed_only=True))
        (again,) = [
            block.first_seq
            for block in standing
            for one in block.controls
            if one.kind == "query"
            and one.body["name"] == "any"
            and one.body["version"] == 2
            and one.body["op"] == "add"
        ]
        whole = [one for one, name in zip(right, names, strict=True) if name == "any" and first(one) >= again]
        mine = [one for one in results if b'"query":"any"' in one and first(one) >= again]
        assert whole
        assert mine == whole
        others = [one for one, name in zip(right, names, strict=True) if name != "any"]
        assert [one for one in results if b'"query":"any"' not in one] == others


def test_a_query_whose_rows_the_registry_refuses_stops_alone_until_it_is_replaced(seed: int, tmp_path: Path) -> None:
    rows = f"{FALLS.replace('COUNT(*)', 'COUNT(*) AS n')} PUBLISH 'rows' AS AVRO"
    with running() as registry:
        registry.closed = True
        system = System(seed, tmp_path, results_registry=registry.url)
        system.source.query("rows", rows)
        system.run(300)
        system.world.settle(lambda: system.failed() == {"rows"})
        assert not any(written(system.world))
        registry.closed = False
        system.source.query("rows", rows)
        system.run(300)
        system.end()
    require_all_once(system, "rows")


FAST = f"{FALLS} PUBLISH 'alarms'"


def publishing(seed: int, directory: Path) -> System:
    """A system whose query `published` has written to its topic."""
    system = System(seed, directory)
    system.source.query("published", FAST)
    system.run(200)
    topics = system.world.broker.topics
    system.world.settle(lambda: "alarms" in topics and bool(written(system.world, "alarms")))
    return system


def require_all_once(system: System, topic: str) -> None:
    """No query has failed, those without PUBLISH have all their results, and a topic of PUBLISH has none twice."""
    assert not system.failed()
    for partition in range(PARTITIONS):
        assert {"rally", "any", "falls"} <= reckoned(system.world, partition, set())
    ids = [dict(record.headers)["ce_id"] for record in written(system.world, topic)]
    assert ids
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("fault", ["right", "size"])
def test_a_query_whose_topic_is_refused_stops_alone_until_it_is_replaced(seed: int, fault: str, tmp_path: Path) -> None:
    system = publishing(seed, tmp_path)
    broker = system.world.broker
    if fault == "right":
        broker.unwritable.add("alarms")
    else:
        broker.configs["alarms"] = {"max.message.bytes": "1"}
    system.run(300)
    system.world.settle(lambda: system.failed() == {"published"})
    broker.unwritable.clear()
    broker.configs["alarms"] = {}
    system.source.query("published", FAST)
    system.run(300)
    system.end()
    require_all_once(system, "alarms")


def test_a_topic_of_publish_that_is_deleted_is_made_again_and_costs_nobody_else_anything(
    seed: int, tmp_path: Path
) -> None:
    system = publishing(seed, tmp_path)
    broker = system.world.broker
    system.world.chaos = replace(system.world.chaos, forget=0, reset=0)  # the topic may hold the only other position
    broker.delete("alarms")
    system.run(400)
    system.end()
    require_all_once(system, "alarms")


def test_rows_that_are_unlike_those_of_a_topic_are_never_written(seed: int, tmp_path: Path) -> None:
    """The records are written straight to `queries`, where no command has checked them."""
    system = System(seed, tmp_path)
    rows = "{} PUBLISH 'rows' AS JSON SCHEMA"
    system.source.query("first", rows.format(FALLS.replace("COUNT(*)", "COUNT(*) AS n")))
    system.run(200)
    system.world.settle(lambda: "first" in system.active())
    system.source.query("second", rows.format(FALLS.replace("COUNT(*)", "COUNT(*) AS other")))
    system.source.query("third", f"{FALLS} PUBLISH 'rows'")
    system.run(300)
    system.world.settle(lambda: system.failed() == {"second", "third"})
    system.end()
    assert system.failed() == {"second", "third"}
    names = {orjson.loads(record.value or b"")["schema"]["name"] for record in written(system.world)}
    assert names == {"saffron.rows.first"}


def written(world: World, topic: str = "rows") -> list[Record]:
    """What a topic holds."""
    partitions = range(len(world.broker.topics[topic]))
    return [record for partition in partitions for record in world.read(topic, partition, committed_only=True)]


def first(result: bytes) -> int:
    """The position of a match's first event."""
    return int(orjson.loads(result)["events"]["a"]["seq"])


def test_blocks_that_are_missing_hold_up_their_own_partition_alone(seed: int, tmp_path: Path) -> None:
    system = System(seed, tmp_path)
    world = system.world
    world.chaos = Chaos(0, 0, 0, 0, 0, 0, 0)
    system.run(200)
    world.settle(lambda: bool(world.blocks(TOPICS.admitted, 0) and world.blocks(TOPICS.admitted, 1)))
    shedders = [process for process in world.processes if process.name.startswith("shedder")]
    for process in shedders:
        process.paused_until = 2**62
    system.run(300)
    cut = TopicPartition(TOPICS.windows, 0)
    before = [world.broker.partition(TopicPartition(TOPICS.admitted, one)).high for one in range(PARTITIONS)]
    world.broker.trim(cut, world.broker.partition(cut).high - 1)
    for process in shedders:
        process.paused_until = 0
    system.run(600)
    found = [world.broker.partition(TopicPartition(TOPICS.admitted, one)).high for one in range(PARTITIONS)]
    assert found[1] > before[1], "the other partition goes on"
    troubles = [one for process in shedders if process.service is not None for one in process.service.shell.troubles]  # type: ignore[attr-defined]
    assert troubles
