"""The check of snapshots: young enough for a short restart. It needs access to their directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from saffron.cli.checks.cluster.look import Digest, Look
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
        busy = [one.stamped for one in found if one.events]
        if not busy or look.now - busy[0] < oldest:
            continue
        stem = look.streams[stream].stem if stream in look.streams else stream
        folder = root / service / topics.admitted_of(stem) / str(partition)
        newest = _newest(folder)
        if _unsaved_ms(found, newest) > oldest:
            age = "there is none" if newest is None else f"the newest is {(look.now - newest) / 1000:,.0f} s old"
            what = f"{age}, though events came: a restart reads so much again"
            fix = f"the log of {service} says why it writes none; may it write there, and is there room?"
            yield error("snapshots", what, str(folder), fix)
        else:
            good += 1
    if good:
        yield ok("snapshots", counted(good, "partition has a young one", "partitions have young ones"), str(root))


def _unsaved_ms(found: Sequence[Digest], newest: int | None) -> int:
    """How long events came (ms) since the newest snapshot, added up over the processes that had the partition.

    A snapshot is written while events come, some time after the last one or the take-over. The digests of a process
    follow each other without a gap. They have its clock, as the times of its snapshots.
    """
    lives: list[list[int]] = []
    before = None
    for one in found:
        if before is None or not one.at - one.interval_ms <= before < one.at:
            lives.append([])
        before = one.at
        if one.events and (newest is None or one.at > newest):
            lives[-1].append(one.at)
    return sum(life[-1] - life[0] for life in lives if life)


def _newest(folder: Path) -> int | None:
    times = [int(path.stat().st_mtime * 1000) for path in folder.glob("*.snapshot")]
    return max(times, default=None)
