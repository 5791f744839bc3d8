"""The memory that a process may take beside the others of its container."""

from __future__ import annotations

import resource
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def limit_data(most: int, cgroup: Path = CGROUP) -> int:
    """Limits the data of this process to `most` bytes, or to what its container has left; returns the limit."""
    left = _left(cgroup)
    limit = most if left is None else min(most, _own() + left)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    return limit


def _own() -> int:
    """Bytes that this process has in memory now. Its peak would be its parent's."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _left(cgroup: Path) -> int | None:
    """Bytes below the container's limit, without cached files, which give way; None: there is no limit."""
    try:
        limit, used = (int((cgroup / name).read_text()) for name in ("memory.max", "memory.current"))
        rows = (line.split() for line in (cgroup / "memory.stat").read_text().splitlines())
        cached = next(int(value) for name, value in rows if name == "file")
    except (OSError, ValueError, StopIteration):  # no cgroup of version 2, or one without a limit ("max")
        return None
    return max(0, limit - used + cached)
