"""The check of dead letters: a few are corrected by hand, many come from a faulty producer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from saffron.cli.checks.cluster.look import Digest, Look
from saffron.cli.finding import Finding, error, ok, warning
from saffron.counted import counted
from saffron.runtime.dead_letters.letters import Letter

_RECENT_MS = 600_000
_SECOND_MS = 1_000
_MANY, _SHARE = 10, 0.01


def check_dead_letters(look: Look) -> Iterator[Finding]:
    """Findings on the dead letters of the last ten minutes, beside the events of the same time.

    The time is shorter where not all of ten minutes is known, so that both numbers are of one time.
    """
    recent = [one for one in look.letters if look.now - one.at < _RECENT_MS]
    where = look.settings.topic("dead-letters")
    if not recent:
        yield ok("dead letters", f"none in ten minutes; {len(look.letters)} older" if look.letters else "none", where)
        return
    since = max(look.now - _RECENT_MS, look.letters_since, look.digests_since)
    counting = [one for one in recent if one.at >= since]
    events = _events(look, since)
    fix = "saffron dlq list, saffron dlq show ID; docs/runbook.md says what each reason means"
    if not counting:  # no events are known beside them
        yield warning("dead letters", f"{len(recent)} in ten minutes: {_reasons(recent)}", where, fix)
        return
    what = f"{len(counting)} in {_span(look.now - since)}, of {counted(events, 'event')}: {_reasons(counting)}"
    if len(counting) >= _MANY and len(counting) > _SHARE * events:
        yield error("dead letters", f"they pile up: {what}", where, fix)
    else:
        yield warning("dead letters", what, where, fix)


def _events(look: Look, since: int) -> int:
    """The events that windowing has had since then, by the rates of its intervals.

    The dead letters may be of less time than an interval. What came after the newest one is not known yet: for up to
    as long again its rate is taken to hold.
    """
    digests = [one for one in look.digests if one.service == "windowing"]
    newest = {(one.stream, one.partition): one for one in sorted(digests, key=lambda one: one.stamped)}
    known = sum(_within(one, one.stamped - one.interval_ms, one.stamped, since) for one in digests)
    coming = (_within(one, one.stamped, min(look.now, one.stamped + one.interval_ms), since) for one in newest.values())
    return round(known + sum(coming))


def _within(digest: Digest, begin: int, end: int, since: int) -> float:
    """The events from `begin` to `end` that are not before `since`, by the rate of a digest."""
    return digest.events * max(0, end - max(begin, since)) / max(1, digest.interval_ms)


def _span(ms: int) -> str:
    """A time up to now, as a finding says it."""
    if ms >= _RECENT_MS:
        return "ten minutes"
    return f"{ms / 1000:.0f} s" if ms >= _SECOND_MS else f"{max(1, ms)} ms"


def _reasons(letters: Iterable[Letter]) -> str:
    """How many letters there are of each reason."""
    return ", ".join(f"{count} {reason}" for reason, count in Counter(one.reason for one in letters).most_common())
