"""The doctor names each seeded misconfiguration, with its place and fix, and finds nothing in a sound system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from saffron.cli.checks.cluster import permissions, topics
from saffron.cli.checks.cluster.formats import check_formats
from saffron.cli.checks.cluster.look import InputWord
from saffron.cli.checks.of_cluster import judge
from saffron.cli.finding import ERROR, WARNING
from saffron.errors import LogError
from saffron.runtime.log import TopicPartition
from saffron.runtime.log.inspect import PartitionFacts
from tests.unit.cli.checks.sound import (
    NOW,
    SETTINGS,
    bad,
    digests,
    event,
    letter,
    query,
    sound,
    stream,
)
from tests.unit.cli.checks.spoiled import Spoil, after_a_clock_ahead, partitions, process, told, topic


def test_a_sound_system_gives_no_finding() -> None:
    look = sound()
    assert bad(judge(look)) == []
    assert bad(topics.check_there(look)) == []
    assert bad(permissions.check_permissions(look)) == []


GOOD = PartitionFacts(1, (1, 2, 3), (1, 2, 3))
SEEDED: Mapping[str, tuple[Spoil, str, str, str, str]] = {
    "compaction of results": (
        topic("complex-events", cleanup_policy="compact"),
        ERROR, "saffron.complex-events", "cleanup.policy is compact, not delete", "kafka-configs --alter",
    ),
    "no compaction of queries": (
        topic("queries", cleanup_policy="delete"),
        ERROR, "saffron.queries", "cleanup.policy is delete, not compact", "--entity-name saffron.queries",
    ),
    "retention below schemas/": (
        topic("events", retention_ms="1000"), ERROR, "saffron.events", "retention.ms is 1000", "retention.ms=604800000",
    ),
    "retention below the window": (
        lambda look: replace(
            topic("windows", retention_ms="-1")(look), queries={"q": query(TEXT_OF_TEN_DAYS)}
        ),
        ERROR, "saffron.admitted", "query q looks back 10d", "shorten the query's WITHIN",
    ),
    "time of the producer on a control topic": (
        topic("health", message_timestamp_type="CreateTime"), ERROR, "saffron.health", "CreateTime", "LogAppendTime",
    ),
    "windows of fewer partitions": (
        partitions("windows", GOOD), ERROR, "saffron.windows", "1, but 3 are needed: as many as saffron.events",
        "kafka-topics --alter --topic saffron.windows --partitions 3",
    ),
    "control topic of two partitions": (
        partitions("queries", GOOD, GOOD), ERROR, "saffron.queries", "2, but 1 is needed", "kafka-topics --delete",
    ),
    "one copy": (
        partitions("trends", PartitionFacts(1, (1,), (1,))), ERROR, "saffron.trends", "1 copy, but 3 are asked for",
        "kafka-reassign-partitions",
    ),
    "one copy by the settings of before": (
        lambda look: replace(
            partitions("trends", PartitionFacts(1, (1,), (1,)))(look), settings=replace(SETTINGS, replication=0)
        ),
        WARNING, "saffron.trends", "1 copy is there, of 3 brokers", "SAFFRON_REPLICATION=1 if that is meant",
    ),
    "one copy is enough for a write": (
        topic("trends", min_insync_replicas="1"), WARNING, "saffron.trends", "min.insync.replicas is 1 of 3",
        "min.insync.replicas=2",
    ),
    "more copies needed for a write than there are": (
        topic("trends", min_insync_replicas="4"), ERROR, "saffron.trends", "is 4 of 3 copies", "min.insync.replicas=3",
    ),
    "copies out of step": (
        partitions("load", PartitionFacts(1, (1, 2, 3), (1,))),
        ERROR, "saffron.load/0", "1 copy is in step, 2 needed", "start the brokers that are away",
    ),
    "no leader": (
        partitions("events", PartitionFacts(None, (1, 2, 3), ()), GOOD, GOOD), ERROR, "saffron.events/0", "no leader",
        "start them",
    ),
    "another partitioner": (
        lambda look: replace(look, events={"events": (event(b"IBM", partition=2), event(b"IBM", partition=1))}),
        ERROR, "saffron.events", "murmur2 puts 1 of the last 2 keyed events elsewhere: key 'IBM'",
        "partitioner=murmur2_random",
    ),
    "no keys": (
        lambda look: replace(look, events={"events": (event(None, partition=0),) * 9}),
        WARNING, "saffron.events", "the stream's key is 'symbol', but 9 of 9 events have none", "message key",
    ),
    "producer's clock ahead": (
        lambda look: replace(look, events={"events": (event(b"IBM", at=NOW + 90_000),)}),
        ERROR, "saffron.events", "stamped 90,000 ms ahead of now", "NTP",
    ),
    "service's clock behind": (
        lambda look: replace(look, digests=tuple(
            replace(one, at=one.at - 5000) if one.service == "greta" else one for one in look.digests)),
        ERROR, "greta/events/0", "its clock is 5,003 ms behind the broker's", "NTP",
    ),
    "clock of one of a service's processes behind": (
        lambda look: replace(look, digests=tuple(
            replace(one, at=one.at - 5000) if (one.service, one.partition) == ("greta", 0) else one
            for one in look.digests)),
        ERROR, "greta/events/0", "its clock is 5,003 ms behind the broker's", "NTP",
    ),
    "clock ahead of a process that took a partition over": (
        lambda look: replace(look, digests=(*look.digests, *(
            replace(one, at=one.at + 9_000, stamped=one.stamped + 500)
            for one in look.digests if (one.service, one.partition) == ("greta", 0)))),
        ERROR, "greta/events/0", "its clock is 8,497 ms ahead of the broker's", "NTP",
    ),
    "clock behind of a process that took a partition over": (
        lambda look: replace(look, digests=(*look.digests, *(
            replace(one, at=one.at - 9_000, stamped=one.stamped + 500)
            for one in look.digests if (one.service, one.partition) == ("greta", 0)))),
        ERROR, "greta/events/0", "its clock is 9,503 ms behind the broker's", "NTP",
    ),
    "our clock behind": (
        lambda look: replace(look, now=NOW - 30_000), ERROR, "this machine", "our clock is 29,003 ms behind", "NTP",
    ),
    "lag without progress": (
        told("matcher", lag=70, events=0), ERROR, "matcher/events/1", "70 messages wait, none was taken for",
        "kill -USR1",
    ),
    "lag without progress after a process whose clock was ahead": (
        after_a_clock_ahead(told("matcher", lag=70, events=0)),
        ERROR, "matcher/events/1", "70 messages wait, none was taken for", "kill -USR1",
    ),
    "lag that grows": (
        lambda look: replace(look, digests=look.digests + tuple(
            replace(one, partition=7, lag=1 if one.at < NOW - 15_000 else 500, events=5)
            for one in digests("greta", 7))),
        WARNING, "greta/events/7", "twice as many as", "add a member",
    ),
    "dead service": (
        lambda look: replace(look, digests=tuple(
            one for one in look.digests if one.service != "shedder" or one.at < NOW - 40_000)),
        ERROR, "shedder", "silent for 41 s", "saffron run shedder",
    ),
    "service that was never started": (
        lambda look: replace(look, digests=tuple(one for one in look.digests if one.service != "windowing")),
        ERROR, "windowing", "never heard of", "saffron run windowing",
    ),
    "service that dies again and again": (
        process("dead"), ERROR, "greta", "dead: fetching, started again 4 times", "/logs/greta.log",
    ),
    "rejected query": (
        lambda look: replace(look, queries={"q": query(state="rejected", reason="too long")}),
        ERROR, "query q", "rejected: too long", "saffron query replace q FILE",
    ),
    "query that nobody answers": (
        lambda look: replace(look, queries={"q": query(state="waiting", reason="no schema yet")}),
        WARNING, "query q", "waiting: no schema yet", "saffron query show q",
    ),
    "query on which its shedder cannot act": (
        lambda look: replace(look, queries={"q": query(TEXT_OF_CHANCE, shed="pspice")}),
        WARNING, "query q", "nothing is shed of it: pspice drops partial matches",
        "saffron query replace q FILE --shed auto",
    ),
    "values of another kind": (
        lambda look: replace(look, digests=look.digests + tuple(digests("windowing", 0, mistyped={"price": 3}))),
        WARNING, "stream events, partition 0", "null: 3 of 'price'", "--schema FILE",
    ),
    "more attributes than a schema has": (
        lambda look: replace(
            look,
            streams={"events": stream(schema=None)},
            digests=look.digests + tuple(digests("windowing", 0, left_out=7)),
        ),
        WARNING, "stream events, partition 0", "7 values are left out", "--schema FILE",
    ),
    "times in seconds": (
        lambda look: replace(look, digests=look.digests + tuple(digests("windowing", 0, in_seconds=7))),
        WARNING, "stream events, partition 0", "times of 7 events lie in 1970", "milliseconds since 1970",
    ),
    "schema that a query does not fit": (
        lambda look: replace(look, queries={"q": query(TEXT_OF_PRIZE)}),
        ERROR, "stream events", "query q does not fit it: unknown attribute 'prize'", "saffron query replace q FILE",
    ),
    "query of a stream that is gone": (
        lambda look: replace(look, queries={"q": query(TEXT_OF_TRADES)}),
        ERROR, "query q", "over stream 'trades', which is not there", "saffron stream add trades",
    ),
    "events that break the schema": (
        lambda look: replace(look, letters=(letter("schema"),)),
        WARNING, "saffron.events", "1 event of the last hour breaks the stream's schema; the last: detail of schema",
        "saffron dlq show saffron.events/0/0",
    ),
    "dead letters that pile up": (
        lambda look: replace(look, letters=tuple(letter("not-json", number) for number in range(40))),
        ERROR, "saffron.dead-letters", "they pile up: 40 in ten minutes, of 0 events: 40 not-json", "saffron dlq list",
    ),
    "some dead letters": (
        lambda look: told("windowing", events=5000)(replace(look, letters=(letter("late"),) * 12)),
        WARNING, "saffron.dead-letters", "12 in ten minutes, of 304,985 events: 12 late", "docs/runbook.md",
    ),
    "a flood of dead letters, of which only the newest were read": (
        lambda look: told("windowing", events=1000)(
            replace(look, letters=tuple(letter("not-json", n) for n in range(500)), letters_since=NOW - 4000)),
        ERROR, "saffron.dead-letters", "they pile up: 500 in 4 s, of 4,000 events: 500 not-json", "saffron dlq list",
    ),
    "a flood of dead letters, of which those of less than an interval were read": (
        lambda look: told("windowing", events=50_000)(
            replace(look, letters=tuple(letter("not-json", n, NOW - n) for n in range(500)), letters_since=NOW - 499)),
        ERROR, "saffron.dead-letters", "they pile up: 500 in 499 ms, of 24,950 events: 500 not-json",
        "saffron dlq list",
    ),
    "dead letters of more time than is known of events": (
        lambda look: told("windowing", events=1000)(
            replace(look, letters=tuple(letter("late", n, NOW - 1000 * n) for n in range(500)),
                    digests_since=NOW - 60_000)),
        WARNING, "saffron.dead-letters", "61 in 60 s, of 60,000 events: 61 late", "saffron dlq list",
    ),
    "dead letters of a time of which no events are known": (
        lambda look: told("windowing", events=1000)(
            replace(look, letters=tuple(letter("late", n, NOW - 90_000) for n in range(500)),
                    digests_since=NOW - 60_000)),
        WARNING, "saffron.dead-letters", "500 in ten minutes: 500 late", "saffron dlq list",
    ),
    "more events that break the schema than were read": (
        lambda look: replace(look, letters=(letter("schema"),), letters_since=NOW - 1000),
        WARNING, "saffron.events", "at least 1 event of the last hour breaks the stream's schema;", "saffron dlq show",
    ),
    "service that ended before what is known": (
        lambda look: replace(look, digests_since=NOW - 94_000, digests=tuple(
            one for one in look.digests if one.service != "windowing")),
        ERROR, "windowing", "not heard of in the last 94 s", "saffron run windowing",
    ),
    "hanging transaction": (
        lambda look: replace(look, open={TopicPartition("saffron.trends", 0): NOW - 60_000}),
        ERROR, "saffron.trends/0", "a transaction is open for 60 s",
        "find-hanging --topic saffron.trends --partition 0",
    ),
    "no model": (
        lambda look: told("matcher", events=9)(replace(look, settings=replace(SETTINGS, overload="shed"))),
        WARNING, "saffron.models", "none yet, though load may be shed", "saffron run model-builder",
    ),
    "old model": (
        lambda look: told("matcher", events=9, shed={"why": "shed"})(
            replace(look, models={"q/transitions": NOW - 7_200_000})),
        WARNING, "saffron.models", "the newest is 2.0 h old", "saffron run model-builder",
    ),
}  # fmt: skip
TEXT_OF_TEN_DAYS = "PATTERN SEQ(Quote a, Quote b) WITHIN 10 days"
TEXT_OF_CHANCE = "PATTERN SEQ(Quote a, Quote b) WITHIN 1 hour CONFIDENCE >= 0.5"
TEXT_OF_PRIZE = "PATTERN SEQ(Quote a, Quote b) WHERE a.prize > b.price WITHIN 1 hour"
TEXT_OF_TRADES = "FROM trades PATTERN SEQ(Quote a, Quote b) WITHIN 1 hour"


@pytest.mark.parametrize("seeded", SEEDED)
def test_each_seeded_fault_of_a_system_is_named(seeded: str) -> None:
    spoil, state, where, what, fix = SEEDED[seeded]
    found = bad(judge(spoil(sound())))
    (one,) = [finding for finding in found if what in finding.what]
    assert (one.state, one.where) == (state, where)
    assert fix in one.fix
    assert {finding.check for finding in found} <= {one.check, "dead letters", "schemas"}, "and nothing else is blamed"


def test_topics_that_the_default_stream_read_before_it_began_anew_need_no_more_partitions() -> None:
    look = partitions("windows", GOOD)(sound())
    record = replace(look.streams["events"], generation=2)
    assert bad(topics.check_partitions(replace(look, streams={**look.streams, "events": record}))) == []


def test_watermarks_need_no_key() -> None:
    marks = (event(None, partition=0, value=b'{"type":"$watermark","ts":1}'),) * 9
    others = tuple(event(None, partition=0, value=value) for value in (None, b"no JSON", b"[]"))
    look = replace(sound(), events={"events": (*marks, event(b"IBM"))})
    assert bad(judge(look)) == []
    (found,) = bad(judge(replace(look, events={"events": (*marks, *others)})))
    assert found.what == "the stream's key is 'symbol', but 3 of 3 events have none"


def test_events_from_before_partitions_were_added_lie_right() -> None:
    incident = {"kind": "grown", "before": 1, "after": 3, "at": NOW, "offset": 1}
    row = {"topic": "saffron.events", "partition": 0, "incidents": [incident]}
    keys = b"IBM", b"AAPL", b"MSFT"
    old = tuple(event(key, partition=0) for key in keys)
    grown = replace(sound(), events={"events": old}, inputs=(InputWord("windowing", 0, (row,), ()),))
    assert [one.check for one in bad(judge(grown))] == []
    (found,) = bad(judge(replace(grown, events={"events": (*old, event(b"IBM", partition=1))})))
    assert found.what.startswith("murmur2 puts 1 of the last 4 keyed events elsewhere: key 'IBM' is in partition 1")


def test_missing_topics_are_named_and_another_prefix_is_guessed() -> None:
    look = sound()
    without = {name: facts for name, facts in look.topics.items() if name != "saffron.load"}
    (one,) = topics.check_there(replace(look, topics=without))
    assert (one.state, one.what) == (ERROR, "missing: saffron.load")
    assert one.fix.startswith("saffron down, then saffron up"), "a system that runs already creates none"
    (one,) = topics.check_there(replace(look, topics={}, names=frozenset({"prod.query-status", "prod.events"})))
    assert (one.check, one.fix) == ("prefix", "--prefix prod. (or SAFFRON_PREFIX)")


def test_what_kafka_does_not_let_us_do_is_named() -> None:
    look = sound()
    unread = replace(look.topics["saffron.health"], allowed=frozenset({"DESCRIBE"}))
    unwritten = replace(look.topics["saffron.queries"], allowed=frozenset({"READ", "DESCRIBE"}))
    changed = {**look.topics, "saffron.health": unread, "saffron.queries": unwritten}
    denied = replace(look, topics=changed, denied=frozenset({"saffron.load"}))
    found = [(one.state, one.where, one.fix) for one in bad(permissions.check_permissions(denied))]
    allow = "kafka-acls --add --allow-principal User:ANONYMOUS --operation"
    assert found == [
        (ERROR, "saffron.load", f"{allow} Describe --operation Read --topic saffron.load"),
        (ERROR, "saffron.health", f"{allow} Read --topic saffron.health"),
        (WARNING, "saffron.queries", f"{allow} Write --topic saffron.queries"),
    ]


def test_a_registry_that_does_not_answer_is_named() -> None:
    settings = replace(SETTINGS, results_format="protobuf", results_registry="http://r:2")
    look = replace(sound(), streams={"events": stream(format="avro", registry="http://r:1")}, settings=settings)

    def silent(url: str, credentials: str) -> Callable[[str], Any]:
        raise LogError(f"the schema registry at {url} does not answer")

    found = list(check_formats(look, silent, lambda name: name == "google.protobuf"))
    assert [(one.where, one.what) for one in found] == [
        ("stream events", "fastavro is not installed: avro cannot be used"),
        ("stream events", "the schema registry at http://r:1 does not answer"),
        ("results", "the schema registry at http://r:2 does not answer"),
    ]
