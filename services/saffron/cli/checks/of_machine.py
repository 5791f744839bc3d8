"""The checks of this machine, none of which needs a broker."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from saffron.cli.checks.machine import disk, java, kernels, limits, packages, ports
from saffron.cli.finding import Finding
from saffron.runtime.process.config import Settings, user_cache_directory


def machine_findings(settings: Settings, *, runs: bool, environ: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """The findings of all checks of this machine: Python, packages, Java, jars, directories, kernels, files, ports.

    `runs`: a system runs under the data directory; then ports are not checked, since it has them.
    """
    python, requirements = packages.required()
    versions = packages.installed(requirements)
    yield from packages.check_python(python)
    yield from packages.check_packages(requirements, versions)
    yield from java.check_java(environ, _newest_for_spark() if "pyspark" in versions else None)
    yield from java.check_jars(user_cache_directory(environ) / "jars")
    yield from java.check_spark_jars(settings.spark_jars)
    yield from disk.check_directory(settings.data, "data")
    if not settings.snapshots.is_relative_to(settings.data):
        yield from disk.check_directory(settings.snapshots, "snapshots")
    yield from kernels.check_kernels(user_cache_directory(environ) / "kernels")
    yield from limits.check_open_files(settings.partitions)
    if not runs:
        yield from ports.check_ports(settings)


def _newest_for_spark() -> int:
    from saffron.spark.gateway import NEWEST_JAVA

    return NEWEST_JAVA
