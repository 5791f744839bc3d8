"""The class archive of Spark's JVM: classes that a rehearsal of the real work has loaded, parsed and linked.

It halves the time and the CPU time of a session's start. It belongs to one Java and one set of jars. Without a fitting
archive Spark starts too, only more slowly.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from saffron.runtime.local import jvm
from saffron.runtime.local.jars import Progress
from saffron.spark import gateway
from saffron.spark.gateway import Gateway


def ensure(connector: Sequence[Path], rehearse: Callable[[Gateway, Path], None], progress: Progress) -> None:
    """Make the archive if it is missing. Raises JavaError, GatewayError.

    `rehearse`: uses the JVM like the real work; its second argument is a scratch directory.
    """
    java = jvm.find_java(newest=gateway.NEWEST_JAVA)
    archive = jvm.archive_path(java, gateway.archive_stem(gateway.class_path(connector)))
    if archive.exists():
        return
    progress(f"making Spark's class archive {archive} (once; half a minute)")
    archive.parent.mkdir(parents=True, exist_ok=True)
    fresh = jvm.unfinished(archive)
    try:
        with tempfile.TemporaryDirectory(prefix="saffron-spark-") as folder:
            _record(connector, Path(folder), fresh, rehearse)
        if fresh.exists():
            jvm.keep_archive(fresh, archive)
        else:
            progress(f"{java.source} writes no class archive: Spark starts without one")
    finally:
        fresh.unlink(missing_ok=True)


def _record(connector: Sequence[Path], folder: Path, archive: Path, rehearse: Callable[[Gateway, Path], None]) -> None:
    """Run the rehearsal in a JVM that writes the archive when it ends."""
    with (folder / "jvm.log").open("wb") as log:
        process = gateway.start(connector, folder, record=archive, output=log)
        try:
            rehearse(process, folder)
        finally:
            process.close(patience=120.0)
