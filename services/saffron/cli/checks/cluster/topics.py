"""The check of topics: existence, partitions, settings, retention and replication, as in schemas/."""

from __future__ import annotations

from collections.abc import Iterator

from saffron.cli.checks.cluster.look import Look
from saffron.cli.finding import Finding, error, ok, warning
from saffron.cli.queries.standing import ListedQuery
from saffron.counted import counted
from saffron.durations import as_option
from saffron.errors import CREATE_ANEW, QueryError
from saffron.language import compile_query
from saffron.runtime.log.topics import DEFAULT_STREAM, Topics, replicas_of

_MARKER = "query-status"
"""The end of a topic's name that only Saffron uses: the part before it is a prefix of ours."""


def check_there(look: Look) -> Iterator[Finding]:
    """Findings on missing topics.

    If all are missing, the prefix is more often wrong than the system absent.
    """
    missing = look.missing
    prefix = look.settings.prefix
    if not missing:
        return
    others = sorted(name.removesuffix(_MARKER) for name in look.names if name.endswith(_MARKER))
    if len(missing) == len(look.wanted) and others:
        named = " or ".join(f"--prefix {one}" for one in others)
        what = f"no topic begins with {prefix!r}, but a system is here under {', '.join(map(repr, others))}"
        yield error("prefix", what, "setting prefix", f"{named} (or SAFFRON_PREFIX)")
        return
    yield error("topics", f"missing: {', '.join(missing)}", look.settings.bootstrap, CREATE_ANEW)


def check_settings(look: Look) -> Iterator[Finding]:
    """Findings on settings that differ from schemas/: cleanup.policy, retention, times, sizes."""
    bad = 0
    for name, facts in look.topics.items():
        for setting, value in look.wanted[name].config.items():
            have = facts.config.get(setting)
            if facts.config and have != value and not _harmless(setting, have, value):
                bad += 1
                fix = f"kafka-configs --alter --entity-type topics --entity-name {name} --add-config {setting}={value}"
                yield error("topics", f"{setting} is {have}, not {value}", name, fix)
    if not bad and not look.missing:
        count = len(look.topics.get(look.settings.topic(DEFAULT_STREAM), next(iter(look.topics.values()))).partitions)
        yield ok(
            "topics",
            f"{len(look.topics)}, settings right; {counted(count, 'partition')} of events",
            look.settings.prefix,
        )


def check_partitions(look: Look) -> Iterator[Finding]:
    """Findings on numbers of partitions.

    Control topics have one; windows and admitted have as many as their stream's topic.
    """
    topics = Topics(look.settings.prefix)
    for name, facts in look.topics.items():
        stream = topics.stream_of(name)
        record = look.streams.get(stream or "")
        source = "" if record is None or record.name in look.unread else record.topic
        if record is not None and name not in (topics.windows_of(record.stem), topics.admitted_of(record.stem)):
            continue  # of the default stream before it began anew
        fixed = look.wanted[name].partitions
        if fixed is not None:
            wanted, why = fixed, "its order is that of one partition"
        elif source in look.topics:
            wanted, why = len(look.topics[source].partitions), f"as many as {source}"
        else:
            continue
        have = len(facts.partitions)
        if have < wanted:
            fix = f"kafka-topics --alter --topic {name} --partitions {wanted}"
            yield error("partitions", f"{have}, but {wanted} are needed: {why}", name, fix)
        elif have > wanted and fixed is not None:
            fix = f"end all services, kafka-topics --delete --topic {name}, then saffron up"
            yield error("partitions", f"{have}, but {wanted} is needed: {why}", name, fix)


def check_retention(look: Look) -> Iterator[Finding]:
    """Findings on retention below the largest window. A service restarts from the blocks of that window."""
    topics = Topics(look.settings.prefix)
    largest: dict[str, tuple[int, str]] = {}
    for name, query in look.queries.items():
        stream, size = _window(name, query)
        largest[stream] = max(largest.get(stream, (0, "")), (size, name))
    for stream, (size, query_name) in largest.items():
        stem = look.streams[stream].stem if stream in look.streams else stream
        for topic in (topics.windows_of(stem), topics.admitted_of(stem)):
            facts = look.topics.get(topic)
            keeps = int((facts.config if facts else {}).get("retention.ms") or -1)
            if 0 <= keeps < size:
                what = f"its retention is {as_option(keeps)}, but query {query_name} looks back {as_option(size)}"
                yield error("retention", what, topic, f"raise retention.ms above {size}, or shorten the query's WITHIN")


def check_replication(look: Look) -> Iterator[Finding]:
    """Findings on copies of each partition: their number, how many are in step, and how many a write needs."""
    asked = replicas_of(look.settings.replication, look.brokers)
    for name, facts in look.topics.items():
        least = int(facts.config.get("min.insync.replicas") or 1)
        copies = min((len(one.replicas) for one in facts.partitions), default=asked)
        alter = f"kafka-configs --alter --entity-type topics --entity-name {name} --add-config min.insync.replicas="
        if copies < asked:
            fix = f"kafka-reassign-partitions with more replicas, or SAFFRON_REPLICATION={copies} if that is meant"
            if look.settings.replication:
                have = counted(copies, "copy", "copies")
                yield error("replication", f"{have}, but {asked} are asked for", name, fix)
            else:
                have = counted(copies, "copy is", "copies are")
                yield warning(
                    "replication", f"{have} there, of {look.brokers} brokers: one's death may lose it", name, fix
                )
        elif copies > 2 > least:
            what = f"min.insync.replicas is {least} of {copies}: a broker's death may lose what was acknowledged"
            yield warning("replication", what, name, f"{alter}2")
        if least > copies:
            yield error("replication", f"min.insync.replicas is {least} of {copies} copies", name, f"{alter}{copies}")
        elif leaderless := [i for i, one in enumerate(facts.partitions) if one.leader is None]:
            yield error("replication", "no leader: its brokers are away", f"{name}/{leaderless[0]}", "start them")
        elif behind := [i for i, one in enumerate(facts.partitions) if len(one.in_sync) < least]:
            are = counted(len(facts.partitions[behind[0]].in_sync), "copy is", "copies are")
            what = f"{are} in step, {least} needed to write"
            yield error("replication", what, f"{name}/{behind[0]}", "start the brokers that are away; see their logs")


def _harmless(setting: str, have: str | None, wanted: str) -> bool:
    """True if a setting only keeps messages longer, or allows larger ones, than schemas/ asks."""
    if setting not in ("retention.ms", "max.message.bytes", "delete.retention.ms") or have is None:
        return False
    return have == "-1" or (wanted != "-1" and int(have) >= int(wanted))


def _window(name: str, query: ListedQuery) -> tuple[str, int]:
    """(stream, longest WITHIN in ms) of a query; 0 if it is not in time, or the text is wrong."""
    try:
        plan = compile_query(query.record.text, None, name=name, lenient=True)
    except QueryError:
        return DEFAULT_STREAM, 0
    return plan.stream, 0 if plan.window.events else plan.window.size
