"""Spark sums observations to the same model, byte for byte, as replay's trainer learns from the same rows."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest

from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.models.transitions.observations import transition_messages
from saffron.engine.models.transitions.trainer import TransitionCounts, train_transitions
from saffron.engine.models.transitions.transition_costs import MOST_CELLS
from saffron.model_builder.books import Books

pytestmark = pytest.mark.slow

TIMES = {(0, 0): 30, (0, 1): 400, (1, 1): 8, (1, 2): 700, (1, -1): 90, (2, 2): 3, (2, 3): 50, (1, -2): 0}
NO_SAMPLES = (
    b"no JSON",
    b"{}",
    b'{"query": "q", "transitions": [[0, 1, 5]], "nanoseconds": 70}',
    b"""{"query": "q", "query_version": 1, "stream": "s", "states": -9223372036854775808, "transitions": [[0, 0, 1]],
    "window": {"size": 9, "events": true}, "nanoseconds": 5}""",
)
"""With a time, but without what would make them samples of query q."""


_RUN = """
import os
import sys
from pathlib import Path
import orjson
from saffron.model_builder import cell_sums
from saffron.model_builder.settings import settings
from saffron.spark import gateway
from saffron.spark.session import open_session
from saffron.model_builder.books import Books

folder = Path(sys.argv[1])
jvm = gateway.start([], folder)
try:
    spark = open_session(jvm, settings(folder, local=True))
    assert "PYSPARK_GATEWAY_PORT" not in os.environ, "a process started later would look for this JVM"
    books = Books()
    for number, values in enumerate(orjson.loads(sys.stdin.buffer.read())):
        records = [("t", offset % 2, offset, bytearray(value.encode())) for offset, value in enumerate(values)]
        frame = spark.createDataFrame(records, "topic string, partition int, offset bigint, value binary")
        books.add(number, cell_sums.collected(frame))
    print(orjson.dumps(books.body()).decode())
    spark.stop()
finally:
    jvm.close()
"""
"""Batches of messages in, the books out. A process of its own, for the JVM's sake."""


def message(
    cells: dict[tuple[int, int], int],
    nanoseconds: int,
    states: int = 4,
    query: str = "q",
    followed: Sequence[Sequence[int]] = (),
) -> bytes:
    """As a matcher writes it."""
    shared = {"query": query, "query_version": 1, "states": states, "window": {"size": 50, "events": True}}
    known = {**shared, "nanoseconds": nanoseconds, "events": 9}
    given = [{**known, "from": a, "to": b, "count": n} for (a, b), n in cells.items()]
    given[0]["followed"] = followed
    ((_, value),) = transition_messages(given, stream="events", partition=0)
    return value


def intervals(rng: random.Random, number: int) -> list[bytes]:
    found = []
    for _ in range(number):
        cells = {cell: rng.randrange(1, 3000) for cell in rng.sample(sorted(TIMES), rng.randrange(2, len(TIMES)))}
        spent = sum(TIMES[cell] * count for cell, count in cells.items())
        found.append(message(cells, round(spent * rng.uniform(0.8, 1.2)), followed=followed(rng)))
    return found


def followed(rng: random.Random) -> list[list[int]]:
    """What came of partial matches of some ages: much more of high ones; and rows that no such automaton has."""
    some = [[rng.randrange(1, 3), rng.randrange(256), rng.randrange(1, 40)] for _ in range(20)]
    told = [[state, age, number, number * (age % 128) * 9] for state, age, number in some]
    return [*told, [3, 0, 1, 0], [1, 256, 1, 0]]


def of_spark(folder: Path, batches: Sequence[Sequence[bytes]]) -> dict[str, TransitionCounts]:
    """The books' counts by query, after batches over two partitions."""
    given = orjson.dumps([[value.decode() for value in batch] for batch in batches])
    done = subprocess.run([sys.executable, "-c", _RUN, folder], input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return {query: book.counts for query, book in Books.of(orjson.loads(done.stdout)).queries.items()}


def of_replay(values: Sequence[bytes]) -> TransitionCounts:
    """What replay's trainer keeps of the same messages, added one by one."""
    first = orjson.loads(values[0])
    counts = TransitionCounts(first["query"], 1, first["states"], 50, True)
    for body in map(orjson.loads, values):
        cells: dict[tuple[int, int], int] = {(a, b): n for a, b, n in body["transitions"]}
        for (source, target), count in cells.items():
            counts.add(source, target, count)
        counts.add_time(cells, body["nanoseconds"])
        for row in body["followed"]:
            counts.add_followed(*row)
        counts.events += body["events"]
    return counts


def trained(counts: TransitionCounts) -> TransitionModel:
    return train_transitions(counts, (1, 1), {})


def test_times_make_the_same_model_in_any_order_and_batches(tmp_path: Path) -> None:
    given = intervals(random.Random(5), 60)
    large = [message({(0, 0): (1 << 30) - 1, (0, 1): (1 << 30) - 7}, (1 << 50) - 3, query="large")] * 2
    cells = {(0, target): target + 1 for target in range(MOST_CELLS + 1)}
    wide = [message(cells, 999, MOST_CELLS + 2, "wide")] * 2
    found = of_spark(tmp_path, [[*given[40:], *large], [*wide, *NO_SAMPLES, *reversed(given[:40])]])
    for sent in (given, large, wide):
        alone = of_replay(sent)
        counts = found.pop(alone.query)
        assert counts == alone
        assert counts.costs.samples == len(sent)
        assert trained(counts).encode() == trained(alone).encode()
        assert trained(counts).remaining_ns.any()
        assert len(trained(counts).lift) == (4 if sent is given else 0)
        assert bool(counts.costs.products) == (sent is not wide), "there are too many to tell apart"
    assert not found
