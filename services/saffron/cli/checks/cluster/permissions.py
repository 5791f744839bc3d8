"""The check of permissions: commands read control topics and write to some of them."""

from __future__ import annotations

from collections.abc import Iterator

from saffron.cli.checks.cluster.look import READ_ALWAYS, Look
from saffron.cli.finding import Finding, error, ok, warning


def check_permissions(look: Look) -> Iterator[Finding]:
    """Findings on topics that we may not see, read, or write to."""
    user = look.settings.username or "ANONYMOUS"
    allow = f"kafka-acls --add --allow-principal User:{user} --operation"
    for name in sorted(look.denied):
        yield error("permissions", f"{user} may not see it", name, f"{allow} Describe --operation Read --topic {name}")
    allowed = {name: facts.allowed for name, facts in look.topics.items() if facts.allowed is not None}
    unread = [name for name, found in allowed.items() if look.wanted[name].topic in READ_ALWAYS and "READ" not in found]
    for name in unread:
        yield error("permissions", f"{user} may not read it", name, f"{allow} Read --topic {name}")
    for name, found in allowed.items():
        if "cli" in look.wanted[name].producers and "WRITE" not in found:
            what = f"{user} may not write to it: commands that change something fail"
            yield warning("permissions", what, name, f"{allow} Write --topic {name}")
    if allowed and not look.denied and not unread:
        yield ok("permissions", f"{user} may read the {len(READ_ALWAYS)} topics that commands read")
