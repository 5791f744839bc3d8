"""Several writers of one record at once, in random order: each change that is done stands, for every reader."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from saffron.control.record_writer import Numbered, RecordWriter
from saffron.control.tables import Tables
from saffron.records.query import QueryRecord
from saffron.records.stream import StreamRecord
from saffron.records.table import KeyedRecords, query_table, stream_table
from saffron.runtime.log.follower import content
from saffron.runtime.log.topics import topic_specs
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.control.world import TOPICS, written

Changed = Callable[[Any], Numbered]
NAME = "x"
STREAM = StreamRecord(NAME, "t", version=1)
QUERY = QueryRecord(NAME, 1, "add", "")
OF_STREAM: tuple[Changed, ...] = (
    lambda now: replace(now, idle=7),
    lambda now: replace(now, silence=8),
    lambda now: replace(now, disorder=9),
    lambda now: replace(now, key="k"),
)


def appended(letter: str) -> Changed:
    return lambda now: replace(now, text=now.text + letter)


class Turns:
    """Waits of random length in place of threads and of the broker's answers."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    async def wait(self) -> None:
        for _ in range(self._draw.randrange(6)):
            await asyncio.sleep(0)

    async def to_thread(self, act: Callable[..., Any], *given: Any) -> Any:
        await self.wait()
        found = act(*given)
        await self.wait()
        return found


async def change(log: MemoryLog, turns: Turns, topic: str, changed: Changed) -> None:
    """One process changes the record."""
    tables = Tables(TOPICS, 100)

    async def send(topic: str, key: bytes, value: bytes | None) -> None:
        await turns.wait()
        written(log, topic, key, value)
        await turns.wait()

    async def make() -> Numbered:
        now = tables.records(topic)[NAME]
        await turns.wait()
        return replace(changed(now), version=now.version + 1)

    await turns.wait()
    await RecordWriter(tables, TOPICS, log, send, "records", turns.to_thread).change(topic, make, lambda one: one)


def at_once(seed: int, topic: str, first: Numbered, changes: Sequence[Changed], table: KeyedRecords[Any]) -> Any:
    """The record that readers have when several processes have changed it at once."""
    turns, log = Turns(seed), MemoryLog(MemoryBroker(lambda: 0))
    log.create_topics(topic_specs("p.", 1))
    written(log, topic, NAME.encode(), first.encode())

    async def run() -> None:
        await asyncio.gather(*(change(log, turns, topic, one) for one in changes))

    asyncio.run(run())
    records = [record for batch in content(log, topic) for record in batch]
    for record in records:
        table.apply(record.key, record.value, record.offset)
    found = table.rows[NAME]
    assert records[-1].value == found.encode(), "compaction leaves what is in force"
    return found


@pytest.mark.parametrize("seed", range(40))
def test_no_change_of_a_stream_is_lost(seed: int) -> None:
    changes = OF_STREAM[: 2 + seed % 3]
    found = at_once(seed, TOPICS.streams, STREAM, changes, stream_table(TOPICS.streams))
    assert [one(found) for one in changes] == [found] * len(changes)


@pytest.mark.parametrize("seed", range(40))
def test_no_change_of_a_query_is_lost_or_made_twice(seed: int) -> None:
    letters = "abcd"[: 2 + seed % 3]
    changes = [appended(letter) for letter in letters]
    found = at_once(seed, TOPICS.queries, QUERY, changes, query_table(TOPICS.queries))
    assert sorted(found.text) == list(letters)
