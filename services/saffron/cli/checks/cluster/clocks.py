"""The check of clocks: those of services, of producers, and ours, each against the broker's."""

from __future__ import annotations

from collections.abc import Iterator

from saffron.cli.checks.cluster.look import Digest, Look
from saffron.cli.finding import Finding, error, ok

_MOST_MS = 2000
_FIX = "synchronise it (NTP: chronyc tracking, timedatectl)"


def check_clocks(look: Look) -> Iterator[Finding]:
    """Findings on clocks that differ, from the broker's time of arrival and the service's own time of each message.

    Processes of one service may run on several machines, each with partitions of its own: the worst is reported.
    """
    good = True
    worst: dict[str, Digest] = {}
    for digests in look.sources().values():
        one = digests[-1]
        if one.service not in worst or abs(_skew(one)) > abs(_skew(worst[one.service])):
            worst[one.service] = one
    for service, one in worst.items():
        if abs(skew := _skew(one)) > _MOST_MS:
            good = False
            what = f"its clock is {abs(skew):,} ms {'behind' if skew > 0 else 'ahead of'} the broker's"
            where = service if one.stream is None else f"{service}/{one.stream}/{one.partition}"
            yield error("clocks", what, where, _FIX)
    stamped = max((one.stamped for one in look.digests), default=look.now)
    if stamped - look.now > _MOST_MS:
        good = False
        yield error("clocks", f"our clock is {stamped - look.now:,} ms behind the broker's", "this machine", _FIX)
    here = max(look.now, stamped)
    for name, records in look.events.items():
        ahead = max((one.timestamp - here for one in records), default=0)
        if ahead > _MOST_MS:
            good = False
            what = f"events are stamped {ahead:,} ms ahead of now: latencies are wrong, and times too far ahead"
            yield error("clocks", what, look.streams[name].topic, f"of the producers' machine: {_FIX}")
    if good:
        most = max((abs(_skew(one)) for one in worst.values()), default=0)
        yield ok("clocks", f"within {most} ms" if worst else "no service to compare")


def _skew(digest: Digest) -> int:
    """The time (ms) by which a process's clock is behind the broker's."""
    return digest.stamped - digest.at
