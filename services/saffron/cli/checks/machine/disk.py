"""The check of directories: they can be written, and have room."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from saffron.cli.finding import Finding, error, ok, warning

_LEAST_FREE = 512 << 20
_LITTLE_FREE = 2 << 30


def check_directory(
    path: Path, setting: str, free: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free
) -> Iterator[Finding]:
    """Findings on a directory of the settings, or on the one in which it would be made."""
    there = nearest(path)
    where = f"setting {setting}"
    name = f"name another with SAFFRON_{setting.upper()}"
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield error("disk", f"{there} cannot be written", where, f"chown it to user {os.geteuid()}, or {name}")
        return
    left = free(there)
    room = f"{left >> 20:,} MiB are free under {there}"
    if left < _LEAST_FREE:
        yield error("disk", f"only {room}: broker and snapshots stop there", where, f"make room, or {name}")
    elif left < _LITTLE_FREE:
        yield warning("disk", f"only {room}", where, f"make room, or {name}")
    else:
        yield ok("disk", room, where)


def nearest(path: Path) -> Path:
    """The path, or the nearest existing directory above it."""
    return next(one for one in (path, *path.parents) if one.exists())
