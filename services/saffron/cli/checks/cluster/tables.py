"""The check of topics that are tables of streams: they exist, may be read, and keep their rows."""

from __future__ import annotations

from collections.abc import Iterator

from saffron.cli.checks.cluster.look import Look
from saffron.cli.checks.cluster.permissions import unreadable
from saffron.cli.finding import Finding, error, ok, warning
from saffron.control.streams.bodies import table_topics_of
from saffron.runtime.log.inspect import TopicFacts

_CHECK = "tables"


def check_tables(look: Look) -> Iterator[Finding]:
    """Findings on the topic of each table. Files are windowing's: its own words say what is wrong with them."""
    for name, record in look.streams.items():
        topics = table_topics_of(record)
        found = [finding for topic in topics for finding in _table(look, name, topic)]
        yield from found
        if topics and not found:
            yield ok(_CHECK, f"their topics keep their rows ({len(topics)})", f"stream {name}")


def _table(look: Look, stream: str, topic: str) -> Iterator[Finding]:
    """Findings on the topic of one table: it may not be read, does not exist, or deletes rows by retention."""
    where, facts = f"stream {stream}, table {topic}", look.foreign.get(topic)
    yield from unreadable(look, topic, facts, _CHECK, where)
    if facts is None and topic not in look.denied:
        fix = (
            f"kafka-topics --create --topic {topic} --config cleanup.policy=compact, or take it out of the "
            f"definition: saffron stream show {stream} --definition"
        )
        yield error(_CHECK, f"topic {topic} does not exist, and no event is read before it does", where, fix)
    elif facts is not None and (bound := _bound(facts)):
        what = f"rows are deleted ({bound}): a member that starts later does not have them"
        fix = f"kafka-configs --alter --entity-type topics --entity-name {topic} --add-config cleanup.policy=compact"
        yield warning(_CHECK, what, where, fix)


def _bound(facts: TopicFacts) -> str:
    """The topic settings that delete the last message of a key; "" if none do, or we may not see the settings."""
    policy = facts.config.get("cleanup.policy", "compact")
    if "delete" not in policy.split(","):
        return ""
    bounds = [name for name in ("retention.ms", "retention.bytes") if facts.config.get(name, "-1") != "-1"]
    return ", ".join(f"{name}={facts.config[name]}" for name in ("cleanup.policy", *bounds)) if bounds else ""
