"""The check of services: started, ready, reporting on `health`, and making progress."""

from __future__ import annotations

from collections.abc import Iterator

from saffron.cli.checks.cluster.look import Digest, Look
from saffron.cli.finding import Finding, error, ok, warning
from saffron.counted import counted

_SILENT_MS, _INTERVALS = 10_000, 3
_STUCK_MS = 20_000
_PATH = ("windowing", "shedder", "matcher", "greta")
"""The services on an event's path."""


def check_processes(look: Look) -> Iterator[Finding]:
    """Findings on this machine's services, by the state of their supervisor."""
    for one in look.state.services if look.state is not None else ():
        again = f", started again {counted(one.restarts, 'time')}" if one.restarts else ""
        if one.state == "ready":
            yield ok("services", f"ready{again}", one.name)
        else:
            yield error("services", f"{one.state}: {one.waiting}{again}", one.name, f"its log says why: {one.log}")


def check_heartbeats(look: Look) -> Iterator[Finding]:
    """Findings on silent services. Each reports once a second; the model builder reports with each batch."""
    heard: dict[str, Digest] = {}
    for one in sorted(look.digests, key=lambda one: one.stamped):
        heard[one.service] = one
    ours = [one.name for one in look.state.services] if look.state is not None else list(_PATH)
    for name in (one for one in _PATH if one in ours and one not in heard):
        known = (look.now - look.digests_since) / 1000
        what = f"not heard of in the last {known:.0f} s" if look.digests_since else "never heard of"
        yield error("heartbeat", what, name, f"start it: saffron run {name} (saffron up starts all)")
    for name, last in heard.items():
        age = max(0, look.now - last.stamped)
        if age > max(_SILENT_MS, _INTERVALS * last.interval_ms):
            fix = f"is its process there? Start it again: saffron run {name}; its log says why it ended"
            yield error("heartbeat", f"silent for {age / 1000:.0f} s", name, fix)
        else:
            yield ok("heartbeat", f"heard {age / 1000:.0f} s ago", name)


def check_progress(look: Look) -> Iterator[Finding]:
    """Findings on lag without progress: messages wait for long in a partition whose owner reports."""
    waiting = []
    for (service, stream, partition), found in look.sources().items():
        last = found[-1]
        if look.now - last.stamped > _SILENT_MS or not last.lag:
            continue
        waiting.append(last.lag)
        begin = last.stamped - _STUCK_MS - last.interval_ms
        stood = [one for one in found if one.stamped > begin]
        span = sum(one.interval_ms for one in stood)
        where = f"{service}/{stream}/{partition}"
        if span >= _STUCK_MS and all(one.lag and not one.events for one in stood):
            what = f"{counted(last.lag, 'message waits', 'messages wait')}, none was taken for {span / 1000:.0f} s"
            fix = f"saffron status says what {service} waits for; kill -USR1 of it writes where it stands to its log"
            yield error("lag", what, where, fix)
        elif span >= _STUCK_MS and all(one.lag for one in stood) and last.lag > 2 * (stood[0].lag or 0):
            what = f"{counted(last.lag, 'message waits', 'messages wait')}, twice as many as {span / 1000:.0f} s ago"
            yield warning("lag", what, where, f"add a member (saffron run {service}), or SAFFRON_OVERLOAD=shed")
    if look.digests:
        waits = counted(sum(waiting), "message waits, and is", "messages wait, and are")
        yield ok("lag", f"{waits} being taken" if waiting else "nothing waits")
