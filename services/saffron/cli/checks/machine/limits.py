"""The check of the system's limits for a process."""

from __future__ import annotations

import resource
from collections.abc import Iterator

from saffron.cli.finding import Finding, error, ok, warning

_LEAST, _ENOUGH = 256, 1024
_PER_PARTITION = 8
"""Files of the embedded broker for a partition of the events: segments and indexes of its topics."""


def check_open_files(partitions: int, limit: int | None = None) -> Iterator[Finding]:
    """Findings on the limit of open files. `limit`: the soft limit of this process, unless given."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if limit is None else limit
    enough = _ENOUGH + _PER_PARTITION * partitions
    limits = f"a process may have {limit:,} files and connections open"
    if limit == resource.RLIM_INFINITY or limit >= enough:
        yield ok("open files", "enough" if limit == resource.RLIM_INFINITY else limits, "ulimit -n")
    elif limit < _LEAST:
        yield error("open files", f"{limits}: services fail to connect", "ulimit -n", f"ulimit -n {enough}")
    else:
        yield warning("open files", f"{limits}; {enough:,} are enough", "ulimit -n", f"ulimit -n {enough}")
