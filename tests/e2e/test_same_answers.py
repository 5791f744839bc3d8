"""The same bytes by every path: `replay`, and all services on a log, at several block sizes, for every text case."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest

from saffron.engine.events import batch_of_lines
from saffron.engine.match import kinds
from saffron.engine.match.program import Program, compile_program
from saffron.language import compile_query
from saffron.language.plan import MatchPlan
from saffron.runtime.fused import Query
from saffron.runtime.memory_log import MemoryLog
from saffron.runtime.replay import Replay
from saffron.runtime.topics import topic_specs
from tests.e2e.system import TOPICS, Source, at_rest, blocks, close, makers, settings, undated
from tests.patterns.case import Case
from tests.patterns.test_cases import RUNNABLE, ids
from tests.unit.runtime.world import World


def replayed(case: Case) -> list[bytes]:
    """What `saffron replay` writes, `detected_at` left out."""
    run = Replay([Query("case", case.sections["query"])])
    return [
        text for merged in run.results([batch_of_lines(case.events())]) for texts in merged.json() for text in texts
    ]


def by_the_log(case: Case, directory: Path, block_events: int) -> list[bytes]:
    """What a read_committed reader finds after the case has gone through every service."""
    world = World(1, directory / "snapshots")
    world.topics(*topic_specs("t.", 1))
    chosen = replace(settings(directory, 1), block_events=block_events, poll_records=1000, disorder_ms=0)
    for name, make in makers(chosen).items():
        world.add(name, make)
    source = Source(world, 1, world.random)
    text = case.sections["query"]
    source.query(compile_query(text, None, name="case").name, text)
    world.settle(lambda: any(block.controls for block in blocks(world, TOPICS.admitted, 0)))
    producer = MemoryLog(world.broker).producer()
    for line in case.events().splitlines():
        producer.send(TOPICS.events, 0, line, timestamp=world.now)
    producer.flush(1)
    close(world, 1)
    world.settle(lambda: at_rest(world, 1))
    topics = TOPICS.complex_events, TOPICS.trends
    return [text for topic in topics for text in undated(world.read(topic, 0, committed_only=True))]


def compile_sparingly(plan: MatchPlan, *, compiled: bool) -> Program:
    """A general kernel takes two seconds to compile: a tenth of them are, the others run as plain Python."""
    return compile_program(plan, compiled=compiled and (plan.flat or crc32(plan.text.encode()) % 10 == 0))


@pytest.mark.parametrize("block_events", [1, 5, 1000])
@pytest.mark.parametrize("case", RUNNABLE, ids=ids)
def test_every_path_gives_the_same_bytes(
    case: Case, block_events: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinds, "compile_program", compile_sparingly)
    answers = replayed(case)
    assert answers, "a case without results proves nothing"
    assert by_the_log(case, tmp_path, block_events) == answers
