"""The jars of Spark's Kafka connector, with those dependencies that Spark does not include."""

from __future__ import annotations

from pathlib import Path

from saffron.runtime.local import jars
from saffron.runtime.local.jars import Progress
from saffron.runtime.process.config import user_cache_directory

CONNECTOR = "spark-kafka-4.0.0"
"""The lock file. 4.0.0 is the newest connector with all dependencies released; it works with PySpark 4.0.5."""


def ensure(progress: Progress = lambda line: None) -> list[Path]:
    """Paths of the connector's jars; missing ones are fetched to the user's cache. JarError if that fails."""
    return jars.ensure(CONNECTOR, progress)


def given_or_ensured(given: str, progress: Progress = lambda line: None) -> list[Path]:
    """The jars named by the setting `spark_jars` (images bake them in), else `ensure`."""
    return [Path(path) for path in given.split(",") if path] or ensure(progress)


def fetched() -> list[Path]:
    """Paths of the connector's jars if the cache has all, else []."""
    root = user_cache_directory() / "jars"
    paths = [root / jar.path for jar in jars.read_lock(CONNECTOR)]
    return paths if all(path.exists() for path in paths) else []
