"""The check of dead letters: a few are corrected by hand, many come from a faulty producer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from saffron.cli.checks.cluster.look import Look
from saffron.cli.finding import Finding, error, ok, warning
from saffron.counted import counted

_RECENT_MS = 600_000
_MANY, _SHARE = 10, 0.01


def check_dead_letters(look: Look) -> Iterator[Finding]:
    """Findings on the dead letters of the last ten minutes, beside the events of the same time."""
    recent = [one for one in look.letters if look.now - one.at < _RECENT_MS]
    where = look.settings.topic("dead-letters")
    if not recent:
        yield ok("dead letters", f"none in ten minutes; {len(look.letters)} older" if look.letters else "none", where)
        return
    events = sum(one.events for one in look.digests if one.service == "windowing" and look.now - one.at < _RECENT_MS)
    reasons = ", ".join(f"{count} {reason}" for reason, count in Counter(one.reason for one in recent).most_common())
    what = f"{len(recent)} in ten minutes, of {counted(events, 'event')}: {reasons}"
    fix = "saffron dlq list, saffron dlq show ID; docs/runbook.md says what each reason means"
    if len(recent) >= _MANY and len(recent) > _SHARE * events:
        yield error("dead letters", f"they pile up: {what}", where, fix)
    else:
        yield warning("dead letters", what, where, fix)
