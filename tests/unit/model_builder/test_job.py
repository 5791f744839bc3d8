"""What the job tells Spark, and what Spark tells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from saffron.model_builder.job import Progress, Source
from saffron.model_builder.main import is_unused
from saffron.model_builder.settings import settings
from saffron.runtime.log import TopicSpec
from saffron.runtime.log.security.security import Security
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog


def test_the_source_reads_only_what_is_committed_from_the_beginning() -> None:
    options = Source("b:1", Security(), ("t.transitions", "t.latency"), "t.model-builder", Path("c"), 10_000).options()
    assert options["kafka.isolation.level"] == "read_committed"
    assert options["subscribe"] == "t.transitions,t.latency"
    assert options["startingOffsets"] == "earliest"
    assert options["groupIdPrefix"] == "t.model-builder"
    assert int(options["maxOffsetsPerTrigger"]) > 0


def test_a_topic_is_unused_until_its_first_record() -> None:
    broker = MemoryBroker(lambda: 0)
    log = MemoryLog(broker)
    assert not is_unused(log, "features"), "what is not known may hold anything"
    broker.create(TopicSpec("features", 2, {}))
    assert is_unused(log, "features")
    log.producer().send("features", 1, b"first")
    assert not is_unused(log, "features")


def test_progress_is_that_of_the_worst_source() -> None:
    sources = [{"metrics": {"maxOffsetsBehindLatest": "12"}}, {"metrics": {"maxOffsetsBehindLatest": "7"}}]
    assert Progress.of({"batchId": 4, "inputRowsPerSecond": 2.5, "sources": sources}) == Progress(4, 2.5, 12, {})


@pytest.mark.parametrize("body", [{}, {"sources": [{}]}, {"sources": [{"metrics": None}], "inputRowsPerSecond": None}])
def test_progress_without_numbers_is_nought(body: dict[str, object]) -> None:
    assert Progress.of(body) == Progress(-1, 0.0, 0, {})


def test_the_lag_of_each_partition_is_what_lies_behind_the_batch() -> None:
    source = {"endOffset": {"t": {"0": 5, "1": 9}}, "latestOffset": {"t": {"0": 8, "1": 9, "2": 4}}}
    assert Progress.of({"sources": [source]}).lags == {("t", "0"): 3, ("t", "1"): 0}


def test_a_submitted_job_works_where_it_was_told(tmp_path: Path) -> None:
    here, there = (settings(tmp_path, local=local) for local in (True, False))
    assert here["spark.master"] == "local[2]"
    assert not any(name.startswith("spark.master") or "shuffle" in name for name in there)
    assert there["spark.sql.session.timeZone"] == "UTC"
