"""The check of control records: they can be read, and no two streams share a topic."""

from __future__ import annotations

from collections.abc import Iterator

from saffron.cli.checks.cluster.look import Look
from saffron.cli.finding import Finding, error
from saffron.records.table import Unreadable
from saffron.runtime.log.topics import Topics


def check_records(look: Look) -> Iterator[Finding]:
    """Findings on the newest record of each key.

    Services keep the record before an unreadable one, but only as long as Kafka has it.
    """
    topics = Topics(look.settings.prefix)
    for one in look.unreadable:
        what = f"the record cannot be read: {one.reason}; the one before it stays in force until Kafka compacts it away"
        yield error("records", what, f"{one.topic}, offset {one.offset}, key {one.key!r}", _fix(one, topics))


def check_shared_topics(look: Look) -> Iterator[Finding]:
    """Findings on streams that share a topic: only one of them is read."""
    readers: dict[str, list[str]] = {}
    for record in look.streams.values():
        readers.setdefault(record.topic, []).append(record.name)
    for topic, names in readers.items():
        for name in names[1:]:
            what = f"its topic {topic} is stream {names[0]!r}'s too: one of the two gets no events"
            fix = f"saffron stream remove {name}, then saffron stream add {name} --from {names[0]} --key ATTR"
            yield error("streams", what, f"stream {name}", fix)


def _fix(one: Unreadable, topics: Topics) -> str:
    """The command that writes the record of a key again."""
    if one.topic == topics.streams:
        return (
            f"saffron stream set {one.key} writes it anew where there was one before; saffron stream remove {one.key}"
        )
    if one.topic == topics.queries:
        return f"saffron query replace {one.key} FILE, or saffron query add FILE where there was none before"
    service = one.key.split("/")[1] if one.key.count("/") > 1 else "the service"
    return f"restart {service}: it says anew what it has to say"
