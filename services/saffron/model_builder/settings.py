"""What the job tells Spark: small local mode on a JVM of our own, or as spark-submit was told."""

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
    """What a session is told; where the work is done, and how much at once, only if that is here (`local`).

    `scratch`: directory for whatever Spark would leave in the working directory.
    """
    return {**_SETTINGS, **(_LOCAL if local else {}), "spark.sql.warehouse.dir": str(scratch)}
