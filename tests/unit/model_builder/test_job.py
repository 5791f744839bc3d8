"""What the job tells Spark, and what Spark tells it; the JVM's class path."""

from __future__ import annotations

from pathlib import Path

import pytest

from saffron.model_builder import gateway, jars, session
from saffron.model_builder.job import Progress, Source
from saffron.runtime.security import Security


def test_the_source_reads_only_what_is_committed_from_the_beginning() -> None:
    options = Source("b:1", Security(), ("t.transitions", "t.latency"), "t.model-builder", Path("c"), 10_000).options()
    assert options["kafka.isolation.level"] == "read_committed"
    assert options["subscribe"] == "t.transitions,t.latency"
    assert options["startingOffsets"] == "earliest"
    assert options["groupIdPrefix"] == "t.model-builder"
    assert int(options["maxOffsetsPerTrigger"]) > 0


def test_progress_is_that_of_the_worst_source() -> None:
    sources = [{"metrics": {"maxOffsetsBehindLatest": "12"}}, {"metrics": {"maxOffsetsBehindLatest": "7"}}]
    assert Progress.of({"batchId": 4, "inputRowsPerSecond": 2.5, "sources": sources}) == Progress(4, 2.5, 12, {})


@pytest.mark.parametrize("body", [{}, {"sources": [{}]}, {"sources": [{"metrics": None}], "inputRowsPerSecond": None}])
def test_progress_without_numbers_is_nought(body: dict[str, object]) -> None:
    assert Progress.of(body) == Progress(-1, 0.0, 0, {})


def test_the_lag_of_each_partition_is_what_lies_behind_the_batch() -> None:
    source = {"endOffset": {"t": {"0": 5, "1": 9}}, "latestOffset": {"t": {"0": 8, "1": 9, "2": 4}}}
    assert Progress.of({"sources": [source]}).lags == {("t", "0"): 3, ("t", "1"): 0}


def test_jars_that_are_given_are_not_looked_for() -> None:
    assert jars.given_or_ensured("/a/x.jar,/b/y.jar") == [Path("/a/x.jar"), Path("/b/y.jar")]


def test_the_class_path_is_sparks_own_and_the_connectors_in_a_fixed_order() -> None:
    found = gateway.class_path([Path("/connector.jar")])
    assert found[-1] == Path("/connector.jar")
    assert found[:-1] == sorted(found[:-1])
    assert any(path.name.startswith("spark-core") for path in found)


def test_a_jar_installed_again_has_another_archive(tmp_path: Path) -> None:
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"one")
    first = gateway.archive_stem([jar])
    assert gateway.archive_stem([jar]) == first
    jar.write_bytes(b"other")
    assert gateway.archive_stem([jar]) != first


def test_a_jvm_that_submitted_the_program_is_used_as_it_is(tmp_path: Path) -> None:
    keys = {"PYSPARK_GATEWAY_PORT": "25333", "PYSPARK_GATEWAY_SECRET": "s"}
    found = gateway.submitted({**keys, "PATH": "/bin"})
    assert found is not None
    assert (found.submitted, found.environment) == (True, keys)
    found.close()
    assert gateway.submitted({}) is None
    here, there = (session.settings(tmp_path, local=local) for local in (True, False))
    assert here["spark.master"] == "local[2]"
    assert not any(name.startswith("spark.master") or "shuffle" in name for name in there)
    assert there["spark.sql.session.timeZone"] == "UTC"
