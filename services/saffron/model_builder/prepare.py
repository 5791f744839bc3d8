"""The preparation of a first start: the connector's jars, and a class archive for Spark's JVM."""

from __future__ import annotations

from pathlib import Path

from saffron.model_builder import cell_sums
from saffron.model_builder.settings import settings
from saffron.runtime.local.jars import Progress
from saffron.spark import archive, jars
from saffron.spark.gateway import Gateway
from saffron.spark.session import open_session

_CLASSES = (
    "org.apache.kafka.clients.consumer.KafkaConsumer",
    "org.apache.kafka.clients.admin.KafkaAdminClient",
    "org.apache.spark.sql.kafka010.KafkaSourceProvider",
    "org.apache.spark.sql.kafka010.KafkaMicroBatchStream",
    "org.apache.spark.sql.kafka010.KafkaOffsetReaderAdmin",
    "org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer",
)
"""Classes of the connector to archive, as the rehearsal cannot use them without a broker."""


def prepare(progress: Progress = lambda line: None) -> None:
    """Fetch the jars and make the archive if they are missing. Raises JarError, JavaError, GatewayError."""
    archive.ensure(jars.ensure(progress), _rehearse, progress)


def _rehearse(jvm: Gateway, folder: Path) -> None:
    """Run one batch of the streaming query over a file instead of Kafka, so that the JVM loads its classes."""
    source = folder / "source"
    source.mkdir()
    (source / "one.txt").write_text('{"query": "q", "transitions": [[0, 0, 1, 0]]}\n', "utf-8")
    spark = open_session(jvm, settings(folder, local=True))
    for name in _CLASSES:
        spark._jvm.java.lang.Class.forName(name)
    records = spark.readStream.text(str(source)).selectExpr(
        "'topic' as topic", "0 as partition", "0L as offset", "cast(value as binary) as value"
    )
    query = (
        records.writeStream.foreachBatch(lambda batch, number: cell_sums.collected(batch) and None)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()
