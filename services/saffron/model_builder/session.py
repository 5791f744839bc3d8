"""Spark: in small local mode on a JVM of our own, or as spark-submit was told."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saffron.model_builder.gateway import Gateway

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTINGS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.stopTimeout": "10s",
}
_LOCAL: Mapping[str, str] = {
    "spark.master": "local[2]",
    "spark.app.name": "saffron model-builder",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    # Batches are small: interpreting expressions is sooner done than compiling them, and the first batch is not cold.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def settings(scratch: Path, *, local: bool) -> Mapping[str, str]:
    """What a session is told; where the work is done, and how much at once, only if that is here (`local`)."""
    return {**_SETTINGS, **(_LOCAL if local else {}), "spark.sql.warehouse.dir": str(scratch)}


def open_session(gateway: Gateway, scratch: Path) -> SparkSession:
    """A session on the gateway's JVM. `scratch`: directory for whatever Spark would leave in the working directory."""
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    for name, value in settings(scratch, local=not gateway.submitted).items():
        builder = builder.config(name, value)
    with _environment(gateway):
        session: SparkSession = builder.getOrCreate()
    return session


@contextlib.contextmanager
def _environment(gateway: Gateway) -> Iterator[None]:
    """PySpark finds a JVM only by the environment, and adds to it: no process started later may look for that JVM."""
    before = dict(os.environ)
    os.environ.update(gateway.environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
