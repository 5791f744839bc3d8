"""The check of control records: they can be read, and no two streams share a topic."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from saffron.cli.checks.cluster.look import Look
from saffron.cli.finding import Finding, error
from saffron.records.same_events import same_events
from saffron.records.stream import is_name
from saffron.records.table import Unreadable
from saffron.records.version import is_version_key, stem_of
from saffron.runtime.log.topics import Topics


def check_records(look: Look) -> Iterator[Finding]:
    """Findings on the newest record of each key.

    Services keep the record before an unreadable one, but only as long as Kafka has it.
    """
    for one in look.unreadable:
        what = f"the record cannot be read: {one.reason}; the one before it stays in force until Kafka compacts it away"
        yield error("records", what, f"{one.topic}, offset {one.offset}, key {one.key!r}", _fix(one, look))


def check_shared_topics(look: Look) -> Iterator[Finding]:
    """Findings on streams that share a topic: only one of them is read."""
    for name, reader in look.unread.items():
        what = f"its topic {look.streams[name].topic} is stream {reader!r}'s too: one of the two gets no events"
        fix = f"saffron stream remove {name}, then {same_events(look.streams[reader], name, 'ATTR')}"
        yield error("streams", what, f"stream {name}", fix)


def _fix(one: Unreadable, look: Look) -> str:
    """The command that writes the record of a key again, or removes it."""
    topics, key = Topics(look.settings.prefix), shlex.quote(one.key)
    if one.topic == topics.streams and is_version_key(one.key):
        if stem_of(one.key) in {record.stem for record in look.streams.values() if record.schema is None}:
            return "nothing: windowing writes the next version (is it up?)"
    elif one.topic == topics.streams:
        removed = f"saffron stream remove {key}"
        again = (
            f"saffron stream set {key} (of a definition saffron stream apply FILE) writes it anew where there was one"
        )
        return f"{again} before; {removed}" if is_name(one.key) else removed
    elif one.topic == topics.queries:
        if one.key in look.queries:
            return f"saffron query replace {key} FILE, or saffron query remove {key}"
    elif one.key.count("/") > 1 and one.key.partition("/")[0] in look.queries:
        return f"restart {one.key.split('/')[1]}: it says anew what it has to say"
    return f"nothing of Saffron reads such a key; a message without a value ends it: {_tombstone(one.topic, key)}"


def _tombstone(topic: str, key: str) -> str:
    """Kafka's own command that writes a message without a value."""
    producer = f"kafka-console-producer --topic {topic} --property parse.key=true"
    return f"printf '%s\\tNULL\\n' {key} | {producer} --property null.marker=NULL"
