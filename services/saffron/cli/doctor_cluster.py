"""What the doctor asks of the running system: topics, services, queries, lag, keys, clocks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from saffron.cli.client import Client, connection
from saffron.cli.findings import Finding, note, ok, wrong
from saffron.cli.standing import read_standing, stream_row
from saffron.language import compile_query
from saffron.runtime.config import Settings
from saffron.runtime.inspect import Inspector
from saffron.runtime.log import Record, TopicPartition
from saffron.runtime.murmur2 import partition_of
from saffron.runtime.state import SystemState
from saffron.runtime.topics import DEFAULT_STREAM, topic_specs

_MUCH_LAG = 1000
_MOST_SKEW_MS = 2000
_SAMPLE = 500
_SECONDS = 3.0


def cluster_findings(settings: Settings, state: SystemState | None) -> Iterator[Finding]:
    """All checks of a system; UnavailableError if there is no broker."""
    inspector = Inspector(settings)
    yield ok("broker", f"{settings.bootstrap}, {inspector.brokers} node{'s' if inspector.brokers > 1 else ''}")
    missing = [one.name for one in topic_specs(settings.prefix, 1) if one.name not in inspector.topics]
    if missing:
        yield wrong("topics", f"missing: {', '.join(missing)}", "saffron up creates them; is --prefix right?")
        return
    with connection(settings) as client:
        queries = [one.view() for one in read_standing(client).values()]
        yield from _topics(inspector, settings, _largest_window(queries))
        if state is not None and state.alive and state.bootstrap == settings.bootstrap:
            yield from _services(state)
        yield from _queries(queries)
        yield from _lag(inspector, settings)
        yield from _keys(client, inspector)
        yield _dead_letters(client, inspector)
        yield _clock(client)


def _topics(inspector: Inspector, settings: Settings, largest_window: int) -> Iterator[Finding]:
    """Settings as schemas/ has them, and records kept long enough to start again from."""
    specs = topic_specs(settings.prefix, 1)
    found = inspector.configs([one.name for one in specs])
    bad = 0
    for spec in specs:
        config = found[spec.name]
        for name, value in spec.config.items():
            if config.get(name) != value:
                bad += 1
                fix = (
                    f"kafka-configs --alter --entity-type topics --entity-name {spec.name} --add-config {name}={value}"
                )
                yield wrong("topics", f"{spec.name}: {name} is {config.get(name)}, not {value}", fix)
        keeps = int(config.get("retention.ms") or -1)
        if spec.name in (settings.topic("windows"), settings.topic("admitted")) and 0 <= keeps < largest_window:
            bad += 1
            fix = f"raise retention.ms of {spec.name} above {largest_window}, or shorten WITHIN"
            yield wrong("retention", f"{spec.name} keeps {keeps} ms, the largest window is {largest_window} ms", fix)
    if not bad:
        events = inspector.topics[settings.topic("events")]
        yield ok(
            "topics", f"{len(specs)} with prefix {settings.prefix!r}, settings right; {events} partitions of events"
        )


def _services(state: SystemState) -> Iterator[Finding]:
    for one in state.services:
        if one.state == "ready":
            again = f", started again {one.restarts} times" if one.restarts else ""
            yield ok("service", f"{one.name}: ready{again}")
        else:
            yield wrong("service", f"{one.name}: {one.state} ({one.waiting})", f"its log says why: {one.log}")


def _queries(views: list[dict[str, Any]]) -> Iterator[Finding]:
    for one in views:
        if one["state"] in ("active", "paused"):
            yield ok("query", f"{one['name']}: {one['state']}")
        elif one["state"] == "rejected":
            fix = f"saffron query replace {one['name']} FILE, or saffron query remove {one['name']}"
            yield wrong("query", f"{one['name']}: rejected: {one['reason']}", fix)
        else:
            yield note("query", f"{one['name']}: {one['state']}: {one['reason'] or 'not all services have answered'}")


def _largest_window(views: list[dict[str, Any]]) -> int:
    """The longest WITHIN (ms) of the standing queries; 0 if none is in time."""
    sizes = [0]
    for one in views:
        if one["state"] != "rejected":
            window = compile_query(one["text"], None, name=one["name"], lenient=True).window
            sizes.append(0 if window.events else window.size)
    return max(sizes)


def _lag(inspector: Inspector, settings: Settings) -> Iterator[Finding]:
    for service in ("matcher", "greta"):
        lag = inspector.lag(settings.group(service), settings.topic("admitted"))
        if lag is None:
            yield note("lag", f"{service}: nothing committed yet")
        elif lag > _MUCH_LAG:
            fix = f"does it run and keep up? See its saffron_busy_ratio and log; add another `saffron run {service}`"
            yield wrong("lag", f"{service}: {lag} blocks behind", fix)
        else:
            yield ok("lag", f"{service}: {lag} blocks behind")


def _keys(client: Client, inspector: Inspector) -> Iterator[Finding]:
    """Do keys lie where murmur2 puts them? A producer with another partitioner would split matches."""
    names = {DEFAULT_STREAM, *client.table(client.topics.streams)}
    for name in sorted(names):
        row: Mapping[str, Any] = stream_row(client, name) or {}
        count = inspector.topics.get(row["topic"], 0)
        if count < 2:
            continue
        records = [one for one in _last_records(client, row["topic"], count) if one.key is not None]
        strays = [one for one in records if partition_of(one.key or b"", count) != one.partition]
        if strays:
            found = f"{len(strays)} of the last {len(records)} keyed events of {row['topic']} are in another partition"
            yield wrong(
                "keys", found, "set the producer's partitioner to murmur2 (librdkafka: partitioner=murmur2_random)"
            )
        else:
            yield ok("keys", f"{row['topic']}: {len(records)} keyed events lie where murmur2 puts them")


def _dead_letters(client: Client, inspector: Inspector) -> Finding:
    count = inspector.topics[client.topics.dead_letters]
    records = list(_last_records(client, client.topics.dead_letters, count))
    if not records:
        return ok("dead letters", "none")
    reason = orjson.loads(records[-1].value or b"{}").get("reason", "?")
    return note("dead letters", f"there are some; the last: {reason}", "saffron dlq list")


def _clock(client: Client) -> Finding:
    """Services stamp their digests; the broker stamps them again on arrival."""
    records = list(_last_records(client, client.topics.health, 1))
    if not records:
        return note("clock", "no digest of any service yet, so nothing to compare")
    skew = max(abs(one.timestamp - int(orjson.loads(one.value or b"{}")["at"])) for one in records[-10:])
    if skew > _MOST_SKEW_MS:
        return wrong("clock", f"clocks of services and broker differ by up to {skew} ms", "synchronise them (NTP)")
    return ok("clock", f"services and broker agree within {skew} ms")


def _last_records(client: Client, topic: str, partitions: int) -> Iterator[Record]:
    """A sample of the newest records of each partition."""
    consumer = client.log.consumer(client.settings.group("doctor"), committed_only=True, client_id="doctor")
    try:
        where = [TopicPartition(topic, one) for one in range(partitions)]
        ends = {one: consumer.watermarks(one) for one in where}
        consumer.assign({one: max(low, high - _SAMPLE) for one, (low, high) in ends.items()})
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline and not all(consumer.at_end(one) for one in where):
            yield from consumer.poll(_SAMPLE, 0.1)
    finally:
        consumer.close()
