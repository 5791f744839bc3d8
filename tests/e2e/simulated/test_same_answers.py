"""The same bytes by every path: `replay`, and all services on a log, at several block sizes, for every text case."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from saffron.engine.events.decoding.ndjson import decode_ndjson
from saffron.engine.events.raw import batch_of_lines
from saffron.engine.kernels import generated
from saffron.engine.operators.aggregates import registered
from saffron.language import compile_query
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.replay import fused
from saffron.runtime.replay.fused import Query
from saffron.runtime.replay.replay import Replay
from tests.e2e.simulated.system import TOPICS, Source, at_rest, close, makers, settings, undated
from tests.memory.memory_log import MemoryLog
from tests.patterns.aggregates import known
from tests.patterns.case import Case
from tests.patterns.test_cases import RUNNABLE, ids
from tests.unit.interpreted import interpret_all
from tests.unit.runtime.world import World


def replayed(queries: Mapping[str, str], events: bytes, *, interpret: bool = True) -> list[bytes]:
    """What `saffron replay` writes, `detected_at` left out."""
    run = Replay([Query(name, text) for name, text in queries.items()], interpret=interpret)
    return [text for merged in run.results([batch_of_lines(events)]) for texts in merged.json() for text in texts]


def by_the_log(queries: Mapping[str, str], events: bytes, directory: Path, block_events: int) -> list[bytes]:
    """What a read_committed reader finds after the events have gone through every service."""
    world = World(1, directory / "snapshots")
    world.topics(*topic_specs("t.", 1))
    chosen = replace(settings(directory, 1), block_events=block_events, poll_records=1000, disorder_ms=0)
    for name, make in makers(chosen).items():
        world.add(name, make)
    source = Source(world, 1, world.random)
    for number, (name, text) in enumerate(queries.items(), 1):
        source.query(_name_of(text, name), text)
        world.settle(lambda n=number: sum(len(one.controls) for one in world.blocks(TOPICS.admitted, 0)) >= n)  # type: ignore[misc]
    producer = MemoryLog(world.broker).producer()
    _, columns = decode_ndjson(events)
    stamp = max(world.now, int(columns.ts.max()))  # no event is of the future
    for line in events.splitlines():
        producer.send(TOPICS.events, 0, line, timestamp=stamp)
    producer.flush(1)
    close(world, 1)
    world.settle(lambda: at_rest(world, 1))
    topics = TOPICS.complex_events, TOPICS.trends
    return [text for topic in topics for text in undated(world.read(topic, 0, committed_only=True))]


def _name_of(text: str, name: str) -> str:
    return compile_query(text, None, name=name, lenient=True, aggregates=frozenset(registered())).name


COMPILED = {
    "any_two_of_three_types",
    "into_two_levels",
    "not_leading",
    "sasepp_example_any",
    "sasepp_example_next",
    "timeouts_of_a_choice",
    "trend_greta_example6_A",
    "window_opened_by_predicate",
}
"""A kernel takes a second or two to compile: those of these cases are, of every kind one; all others run as Python."""


@pytest.fixture
def sparing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    case = request.node.callspec.params.get("case")
    if case is None or case.path.stem not in COMPILED:
        interpret_all(monkeypatch)


@pytest.mark.usefixtures("sparing")
@pytest.mark.parametrize("block_events", [3, 1000])
@pytest.mark.parametrize("case", RUNNABLE, ids=ids)
def test_every_path_gives_the_same_bytes(case: Case, block_events: int, tmp_path: Path) -> None:
    queries = {**case.beside(), "case": case.sections["query"]}
    with known(case.sections.get("aggregates", "").split()):
        answers = replayed(queries, case.events())
        assert answers, "a case without results proves nothing"
        assert by_the_log(queries, case.events(), tmp_path, block_events) == answers


@pytest.mark.usefixtures("sparing")
@pytest.mark.parametrize("records", [1, 6])
@pytest.mark.parametrize("case", RUNNABLE, ids=ids)
def test_a_replay_that_compiles_after_some_records_gives_the_same_bytes(
    case: Case, records: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generated, "is_kept", lambda source: False)
    monkeypatch.setattr(fused, "INTERPRETED_RECORDS", records)
    monkeypatch.setattr(fused, "INTERPRETED_SECONDS", 0.0)
    queries = {**case.beside(), "case": case.sections["query"]}
    with known(case.sections.get("aggregates", "").split()):
        assert replayed(queries, case.events()) == replayed(queries, case.events(), interpret=False)


COMPOSED = {
    "rise": "PATTERN SEQ(Stock a, Stock b) WHERE [symbol] AND b.price > a.price WITHIN 5 s "
    "RETURN b.symbol, b.price - a.price AS gain INTO Rise PUBLISH",
    "quiet": "PATTERN SEQ(Rise r, NOT Stock s) WHERE [symbol] WITHIN 2 s RETURN r.gain AS last INTO Quiet PUBLISH",
    "steeper": "PATTERN SEQ(Rise r, Rise s) WHERE [symbol] AND s.gain > r.gain WITHIN 9 s RETURN s.gain",
    "resting": "PATTERN SEQ(Quiet q, Stock s) WHERE strict-contiguity WITHIN 9 s RETURN q.last, s.symbol",
    "still": "PATTERN SEQ(Rise r, NOT Stock s EVERY 700 ms) WHERE [symbol] WITHIN 2 s "
    "RETURN r.gain AS last INTO Still PUBLISH",
    "woken": "PATTERN SEQ(Still q, NOT Rise FOR 1 s, Stock s) WITHIN 9 s RETURN q.last, s.symbol",
}
"""Queries over each other's results; `Quiet` is known when a window closes, `Still` when a NOT's time is over."""


@pytest.mark.usefixtures("sparing")
@pytest.mark.parametrize("block_events", [1, 3, 1000])
def test_results_of_results_go_every_path(block_events: int, tmp_path: Path) -> None:
    draw, at, lines = random.Random(7), 0, []
    for _ in range(120):
        at += draw.choice([200, 400, 900, 3000])
        event = {"type": "Stock", "ts": at, "symbol": draw.choice("xy"), "price": draw.randrange(1, 20)}
        lines.append(orjson.dumps(event))
    events = b"\n".join(lines) + b"\n"
    answers = replayed(COMPOSED, events)
    assert {orjson.loads(text)["query"] for text in answers} == set(COMPOSED)
    assert by_the_log(COMPOSED, events, tmp_path, block_events) == answers
