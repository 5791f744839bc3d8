"""The check of permissions: commands read control topics and write to some of them."""

from __future__ import annotations

from collections.abc import Iterator

from saffron.cli.checks.cluster.look import READ_ALWAYS, Look
from saffron.cli.finding import Finding, error, ok, warning
from saffron.runtime.log.inspect import TopicFacts


def check_permissions(look: Look) -> Iterator[Finding]:
    """Findings on topics that we may not see, read, or write to."""
    user = _user(look)
    found = [
        finding
        for name in dict.fromkeys((*sorted(look.denied), *look.topics))
        if name in look.denied or look.wanted[name].topic in READ_ALWAYS
        for finding in unreadable(look, name, look.topics.get(name), "permissions", name)
    ]
    yield from found
    allowed = {name: facts.allowed for name, facts in look.topics.items() if facts.allowed is not None}
    for name, rights in allowed.items():
        if "cli" in look.wanted[name].producers and "WRITE" not in rights:
            what = f"{user} may not write to it: commands that change something fail"
            yield warning("permissions", what, name, f"{_allow(look)} Write --topic {name}")
    if allowed and not found:
        yield ok("permissions", f"{user} may read the {len(READ_ALWAYS)} topics that commands read")


def unreadable(look: Look, topic: str, facts: TopicFacts | None, check: str, where: str) -> Iterator[Finding]:
    """A finding if we may not see or read a topic. `facts`: the topic's own; None: it is not seen."""
    if topic in look.denied:
        fix = f"{_allow(look)} Describe --operation Read --topic {topic}"
        yield error(check, f"{_user(look)} may not see it", where, fix)
    elif facts is not None and facts.allowed is not None and "READ" not in facts.allowed:
        yield error(check, f"{_user(look)} may not read it", where, f"{_allow(look)} Read --topic {topic}")


def _user(look: Look) -> str:
    return look.settings.username or "ANONYMOUS"


def _allow(look: Look) -> str:
    return f"kafka-acls --add --allow-principal User:{_user(look)} --operation"
