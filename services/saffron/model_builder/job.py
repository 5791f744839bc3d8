"""The streaming query, which passes records of the observation topics to `Batches`, batch by batch."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saffron.errors import SaffronError
from saffron.model_builder import cell_sums, feature_rows
from saffron.model_builder.batch import Batches, BatchResult
from saffron.model_builder.feature_rows import FeatureRow
from saffron.runtime.log.security.java_security import java_settings
from saffron.runtime.log.security.security import Security

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery


@dataclass(frozen=True)
class Source:
    """The source of observations. `interval_ms`: between two batches. `features`: the one of `topics` with features."""

    bootstrap: str
    security: Security
    topics: tuple[str, ...]
    group: str
    checkpoint: Path
    interval_ms: int
    features: str = ""
    most_records: int = 50_000

    def options(self) -> Mapping[str, str]:
        """Options of Spark's Kafka source. failOnDataLoss is off: records lost to retention must not stop the job."""
        return {
            "kafka.bootstrap.servers": self.bootstrap,
            **{f"kafka.{name}": value for name, value in java_settings(self.security).items()},
            "kafka.isolation.level": "read_committed",
            "kafka.metadata.max.age.ms": "30000",
            "kafka.default.api.timeout.ms": "15000",
            "kafka.request.timeout.ms": "10000",
            "subscribe": ",".join(self.topics),
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": str(self.most_records),
            "failOnDataLoss": "false",
            "groupIdPrefix": self.group,
        }


class Job:
    """The streaming query, one at a time. After a failure, `start` resumes it from the checkpoint."""

    def __init__(
        self,
        session: SparkSession,
        source: Source,
        batches: Batches,
        report: Callable[[BatchResult], None],
        is_unused: Callable[[str], bool],
    ) -> None:
        """`report` is called after each batch, in the thread that Spark calls back in. `is_unused`: whether a topic has
        never had a record.
        """
        self._session = session
        self._source = source
        self._batches = batches
        self._report = report
        self._is_unused = is_unused
        self._query: StreamingQuery | None = None
        self._failure: BaseException | None = None
        self._busy = threading.Lock()

    def start(self) -> None:
        """Start the query; it runs in the JVM."""
        self._failure = None
        reader = self._session.readStream.format("kafka").options(**self._source.options())
        self._query = (
            reader.load()
            .writeStream.foreachBatch(self._batch)
            .option("checkpointLocation", str(self._source.checkpoint))
            .trigger(processingTime=f"{self._source.interval_ms} milliseconds")
            .start()
        )

    def failure(self) -> BaseException | None:
        """The error that ended the query; None while it runs. An error of our own code is returned as raised."""
        query = self._query
        if query is None or query.isActive:
            return None
        return self._failure or query.exception() or SaffronError("the streaming query ended by itself")

    def progress(self) -> Progress | None:
        """The progress of the newest batch; None before the first."""
        last: Any = self._query.lastProgress if self._query is not None else None
        return None if last is None else Progress.of(json.loads(last.json))

    def stop(self) -> None:
        """Stop the query, between two batches if the current one ends within 5 s. An interrupted batch is repeated."""
        if self._query is None:
            return
        held = self._busy.acquire(timeout=5.0)
        try:
            self._query.stop()
        finally:
            if held:
                self._busy.release()

    def _batch(self, records: DataFrame, number: int) -> None:
        """Process a batch, in Spark's callback thread; an error is kept for `failure`."""
        from pyspark.sql import functions as f

        with self._busy:
            try:
                others = records.where(f.col("topic") != self._source.features)
                features: list[FeatureRow] = []
                if not self._is_unused(self._source.features):  # a second pass over the records
                    features = feature_rows.collected(records.where(f.col("topic") == self._source.features))
                self._report(self._batches.run(number, cell_sums.collected(others), features))
            except BaseException as error:
                self._failure = error
                raise


@dataclass(frozen=True)
class Progress:
    """Spark's progress report of a batch. `behind`: records not yet read in the worst partition.

    `lags`: (topic, partition) -> records not yet read, for the partitions that Spark reports.
    """

    batch: int
    rows_per_second: float
    behind: int
    lags: Mapping[tuple[str, str], int]

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Progress:
        """The progress of a report of Spark's, parsed from JSON."""
        behind = 0
        lags: dict[tuple[str, str], int] = {}
        for source in body.get("sources", ()):
            behind = max(behind, int(float((source.get("metrics") or {}).get("maxOffsetsBehindLatest", 0))))
            ends = source.get("endOffset") or {}
            for topic, latest in (source.get("latestOffset") or {}).items():
                read = ends.get(topic, {})
                lags |= {(topic, part): max(0, last - read[part]) for part, last in latest.items() if part in read}
        return cls(int(body.get("batchId", -1)), float(body.get("inputRowsPerSecond") or 0.0), behind, lags)
