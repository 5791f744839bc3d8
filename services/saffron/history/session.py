"""Where history is worked on: a Spark of our own on this machine, or one of a cluster."""

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
from saffron.history.spark_errors import plainly
from saffron.runtime.replay.fused import BLOCK_EVENTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MEMORY = "2g"
_NEEDED: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BLOCK_EVENTS),
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
}
"""What the work asks of any session: times as a replay reads them, batches as large as the engines' blocks."""
_ONE_A_TASK = {"spark.sql.files.openCostInBytes": str(1 << 40)}
"""Files are taken for so large that none shares a task with another."""


@contextlib.contextmanager
def opened(master: str, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """The session that this process has, else one for the time being.

    SaffronError: PySpark or Java is missing, or the master does not answer.
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
            with plainly():
                session = open_session(jvm, settings(master, conf, Path(folder), submitted=jvm.submitted))
            try:
                yield session
            finally:
                if not jvm.submitted:
                    close_session(session)
        finally:
            jvm.close()


def java_options(master: str, conf: Mapping[str, str]) -> list[str]:
    """What Spark's own launcher would make of the settings of a driver, which a running JVM cannot take any more."""
    memory = conf.get("spark.driver.memory", _MEMORY).lower().removesuffix("b")
    collector = "-XX:+UseSerialGC" if master.startswith("local") and _cores(master) < 4 else "-XX:+UseParallelGC"
    return [f"-Xmx{memory}", collector, *shlex.split(conf.get("spark.driver.extraJavaOptions", ""))]


def settings(master: str, conf: Mapping[str, str], scratch: Path, *, submitted: bool) -> Mapping[str, str]:
    """What the session is told; the user's word counts most. Where spark-submit has said where to work, we do not."""
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
    """How many tasks a local master runs at once."""
    asked = master.removeprefix("local").strip("[]").split(",")[0]
    return int(asked) if asked.isdigit() else (os.cpu_count() or 1) if asked == "*" else 1


@contextlib.contextmanager
def prepared(session: SparkSession, *, apart: bool) -> Iterator[None]:
    """The session as the work needs it, and as it was before. `apart`: each file is a task of its own."""
    needed = {**_NEEDED, **(_ONE_A_TASK if apart else {})}
    before = {name: session.conf.get(name) for name in needed}
    for name, value in needed.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # the JVM may be gone
            for name, value in before.items():
                session.conf.set(name, value or "")
