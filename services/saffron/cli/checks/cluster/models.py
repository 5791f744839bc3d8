"""The check of models for shedding: they exist, and were learned from the stream as it is now."""

from __future__ import annotations

from collections.abc import Iterator

from saffron.cli.checks.cluster.look import Look
from saffron.cli.finding import Finding, ok, warning
from saffron.runtime.process.config import PASS

_OLD_MS = 3_600_000


def check_models(look: Look) -> Iterator[Finding]:
    """Findings on models, only where load may be shed and events come."""
    sheds = look.settings.overload != PASS or any(one.shed and one.shed["why"] != "pass" for one in look.digests)
    busy = any(one.events for one in look.digests if one.service == "matcher")
    if not sheds or not busy or not look.queries:
        return
    fix = "saffron run model-builder; its log says why it publishes none (docs/runbook.md, Old model)"
    if not look.models:
        what = "none yet, though load may be shed: drops are chosen by chance"
        yield warning("models", what, look.settings.topic("models"), fix)
        return
    age = look.now - max(look.models.values())
    if age > _OLD_MS:
        what = f"the newest is {age / 3_600_000:.1f} h old, though events come"
        yield warning("models", what, look.settings.topic("models"), fix)
    else:
        yield ok("models", f"{len(look.models)}, the newest {age / 1000:,.0f} s old", look.settings.topic("models"))
