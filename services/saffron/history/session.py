"""The Spark session of a backfill: local on this machine, or of a cluster."""

from __future__ import annotations

import contextlib
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from saffron.distribution import install
from saffron.errors import SaffronError
from saffron.history.spark_errors import translated_errors
from saffron.runtime.replay.fused import BLOCK_EVENTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MEMORY = "2g"
_NEEDED: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BLOCK_EVENTS),
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
}
"""Settings that any session needs: times as in a replay, batches as large as the engine's blocks, nanoseconds read."""
_ONE_A_TASK = {"spark.sql.files.openCostInBytes": str(1 << 40)}
"""Setting that makes files seem so large that no two share a task."""


@contextlib.contextmanager
def opened(master: str, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """A context with this process's session, or a new one that is closed at the end.

    Raises SaffronError if PySpark or Java is missing, or the master does not answer.
    """
    try:
        from pyspark.sql import SparkSession

        from saffron.spark import gateway, jars
        from saffron.spark.session import close_session, open_session

        gateway.class_path([])
    except ImportError as error:
        raise SaffronError(f"PySpark is not installed, which backfill runs on: {install('spark')}") from error
    if (active := SparkSession.getActiveSession()) is not None:
        yield active
        return
    with tempfile.TemporaryDirectory(prefix="saffron-history-") as folder:
        local = master.startswith("local")
        jvm = gateway.submitted() or gateway.start(
            jars.fetched(),  # not needed, but with them the class archive of the model builder fits
            Path(folder),
            memory=java_options(master, conf),
            environment=gateway.ALONE if local else {},
        )
        try:
            with translated_errors():
                session = open_session(jvm, settings(master, conf, Path(folder), submitted=jvm.submitted))
            try:
                yield session
            finally:
                if not jvm.submitted:
                    close_session(session)
        finally:
            jvm.close()


def java_options(master: str, conf: Mapping[str, str]) -> list[str]:
    """The JVM's options for a driver's settings. Spark's launcher would set them; a running JVM cannot."""
    memory = conf.get("spark.driver.memory", _MEMORY).lower().removesuffix("b")
    collector = "-XX:+UseSerialGC" if master.startswith("local") and _cores(master) < 4 else "-XX:+UseParallelGC"
    return [f"-Xmx{memory}", collector, *shlex.split(conf.get("spark.driver.extraJavaOptions", ""))]


def settings(master: str, conf: Mapping[str, str], scratch: Path, *, submitted: bool) -> Mapping[str, str]:
    """The settings of a session; `conf`, the user's, takes precedence. `submitted`: spark-submit has set the master.

    `scratch`: a directory for files that Spark would leave in the working directory.
    """
    found = {
        "spark.app.name": "saffron backfill",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(scratch),
    }
    if not submitted:
        found["spark.master"] = master
    if master.startswith("local"):
        found |= {"spark.sql.shuffle.partitions": str(_cores(master)), "spark.sql.adaptive.enabled": "false"}
    return {**found, **conf}


def _cores(master: str) -> int:
    """The number of tasks that a local master runs at once."""
    threads = master.removeprefix("local").strip("[]").split(",")[0]
    return int(threads) if threads.isdigit() else (os.cpu_count() or 1) if threads == "*" else 1


@contextlib.contextmanager
def prepared(session: SparkSession, *, one_file_a_task: bool) -> Iterator[None]:
    """A context with the session's settings that the work needs; the old ones are restored at the end."""
    needed = {**_NEEDED, **(_ONE_A_TASK if one_file_a_task else {})}
    before = {name: session.conf.get(name) for name in needed}
    for name, value in needed.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # the JVM may be gone
            for name, value in before.items():
                session.conf.set(name, value or "")
