"""The check of snapshots: young enough for a short restart. It needs access to their directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from saffron.cli.checks.cluster.look import Look
from saffron.cli.finding import Finding, error, ok
from saffron.counted import counted
from saffron.runtime.log.topics import Topics

_INTERVALS, _LEAST_MS = 6, 60_000
_SNAPPED = ("matcher", "greta")


def check_snapshots(look: Look) -> Iterator[Finding]:
    """Findings on the snapshots of partitions that kept receiving events."""
    root = look.settings.snapshots
    topics = Topics(look.settings.prefix)
    oldest = max(_LEAST_MS, _INTERVALS * look.settings.snapshot_ms)
    good = 0
    for (service, stream, partition), found in look.sources().items():
        if service not in _SNAPPED or stream is None or not (root / service).is_dir():
            continue
        busy = [one.at for one in found if one.events]
        if not busy or look.now - busy[0] < oldest:
            continue
        stem = look.streams[stream].stem if stream in look.streams else stream
        folder = root / service / topics.admitted_of(stem) / str(partition)
        newest = _newest(folder)
        unsaved = [at for at in busy if newest is None or at > newest]
        if unsaved and unsaved[-1] - unsaved[0] > oldest:  # a snapshot is written while events come
            age = "there is none" if newest is None else f"the newest is {(look.now - newest) / 1000:,.0f} s old"
            what = f"{age}, though events came: a restart reads so much again"
            fix = f"the log of {service} says why it writes none; may it write there, and is there room?"
            yield error("snapshots", what, str(folder), fix)
        else:
            good += 1
    if good:
        yield ok("snapshots", counted(good, "partition has a young one", "partitions have young ones"), str(root))


def _newest(folder: Path) -> int | None:
    times = [int(path.stat().st_mtime * 1000) for path in folder.glob("*.snapshot")]
    return max(times, default=None)
