"""The check of clocks: those of services, of producers, and ours, each against the broker's."""

from __future__ import annotations

from collections.abc import Iterator

from saffron.cli.checks.cluster.look import Look
from saffron.cli.finding import Finding, error, ok

_MOST_MS = 2000
_FIX = "synchronise it (NTP: chronyc tracking, timedatectl)"


def check_clocks(look: Look) -> Iterator[Finding]:
    """Findings on clocks that differ. The broker stamps each message on arrival, beside the service's own time."""
    good = True
    latest = {(one.service, one.stream, one.partition): one for one in sorted(look.digests, key=lambda one: one.at)}
    skews = {one.service: one.stamped - one.at for one in latest.values()}
    for service, skew in skews.items():
        if abs(skew) > _MOST_MS:
            good = False
            what = f"its clock is {abs(skew):,} ms {'behind' if skew > 0 else 'ahead of'} the broker's"
            yield error("clocks", what, service, _FIX)
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
        what = f"within {max((abs(one) for one in skews.values()), default=0)} ms" if skews else "no service to compare"
        yield ok("clocks", what)
