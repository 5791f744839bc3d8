"""Spark's settings: small local mode on a JVM of our own, or those of spark-submit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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
    """The settings of a session. `local`: with those of local mode, which spark-submit would set otherwise.

    `scratch`: a directory for files that Spark would leave in the working directory.
    """
    return {**_SETTINGS, **(_LOCAL if local else {}), "spark.sql.warehouse.dir": str(scratch)}
