"""Everything that a first start would wait for: the connector's jars, and a class archive for Spark's JVM.

The archive holds the classes that a short run of the real job loads, parsed and linked: with it a session stands in
half the time, for half of the processor's time. It belongs to one Java and one set of jars, and is only ever a
shortcut: without it, or with one that does not fit, the job starts as well, only later.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from saffron.model_builder import gateway, jars, rows, session
from saffron.runtime import jvm
from saffron.runtime.jars import Progress

_CLASSES = (
    "org.apache.kafka.clients.consumer.KafkaConsumer",
    "org.apache.kafka.clients.admin.KafkaAdminClient",
    "org.apache.spark.sql.kafka010.KafkaSourceProvider",
    "org.apache.spark.sql.kafka010.KafkaMicroBatchStream",
    "org.apache.spark.sql.kafka010.KafkaOffsetReaderAdmin",
    "org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer",
)
"""Of the connector, which the rehearsal cannot use without a broker."""


def prepare(progress: Progress = lambda line: None) -> None:
    """Fetch the jars and make the archive, where they are missing. JarError, JavaError, GatewayError."""
    connector = jars.ensure(progress)
    java = jvm.find_java(newest=gateway.NEWEST_JAVA)
    archive = jvm.archive_path(java, gateway.archive_stem(gateway.class_path(connector)))
    if archive.exists():
        return
    progress(f"making Spark's class archive {archive} (once; half a minute)")
    archive.parent.mkdir(parents=True, exist_ok=True)
    fresh = archive.with_name(f"{archive.name}.{os.getpid()}")
    try:
        with tempfile.TemporaryDirectory(prefix="saffron-spark-") as folder:
            _rehearse(connector, Path(folder), fresh)
        os.replace(fresh, archive)
    finally:
        fresh.unlink(missing_ok=True)


def _rehearse(connector: list[Path], folder: Path, archive: Path) -> None:
    """One batch of a streaming query over a file, as the job would run it over Kafka; the JVM's end writes it."""
    source = folder / "source"
    source.mkdir()
    (source / "one.txt").write_text('{"query": "q", "transitions": [[0, 0, 1, 0]]}\n', "utf-8")
    with (folder / "jvm.log").open("wb") as log:
        jvm_process = gateway.start(connector, folder, record=archive, output=log)
        try:
            spark = session.open_session(jvm_process, folder)
            for name in _CLASSES:
                spark._jvm.java.lang.Class.forName(name)
            records = spark.readStream.text(str(source)).selectExpr(
                "'topic' as topic", "0 as partition", "0L as offset", "cast(value as binary) as value"
            )
            query = (
                records.writeStream.foreachBatch(lambda batch, number: rows.collected(batch) and None)
                .option("checkpointLocation", str(folder / "checkpoint"))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            spark.stop()
        finally:
            jvm_process.close(patience=120.0)
