"""`saffron produce`: events from files or standard input to a stream's topic."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Annotated

import orjson
import typer

from saffron.cli import console, options
from saffron.cli.client import Client, connection
from saffron.cli.parsed import number_option, topic_name
from saffron.cli.streams import pace
from saffron.cli.streams.lines import LeftOut, batches, limited
from saffron.cli.streams.messages import produce_messages
from saffron.counted import counted
from saffron.errors import InputError
from saffron.records.stream import JSON, StreamRecord
from saffron.runtime.log.topics import DEFAULT_STREAM
from saffron.runtime.streams.event_keys import keys_of, no_key_notice
from saffron.runtime.streams.event_producer import EventProducer
from saffron.runtime.streams.unknown_names import no_stream

_FLUSH_SECONDS = 120.0
_SHOW_SECONDS = 0.5


@options.of_system
def produce(
    events: Annotated[list[str], typer.Argument(metavar="EVENTS...", help="Files, or - for standard input.")],
    rate: Annotated[float | None, number_option("Events a second.", least=0.001)] = None,
    speedup: Annotated[float | None, number_option("Follow the events' ts, so many times as fast.", least=1e-9)] = None,
    key: Annotated[
        str | None, typer.Option(help="Attribute that becomes the message key [default: the stream's].")
    ] = None,
    stream: Annotated[str | None, typer.Option(help="The stream to produce to [default: events].")] = None,
    topic: Annotated[
        str | None,
        typer.Option(
            parser=topic_name,
            metavar="TOPIC",
            help="A topic of your own: lines become its messages as they are [or: a stream].",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after so many events.")] = None,
    close: Annotated[bool, typer.Option("--close", help="End with a watermark that closes every window.")] = False,
    *,
    system: options.System,
    json: options.AsJson = False,
) -> None:
    """Produce events to a stream. Messages are stamped now; an event's own `ts` stays as it is.

    With `--topic`, lines are messages of any kind: values, or {"key": ..., "time": ..., "headers": ..., "value": ...}.

    Files: `.ndjson`, `.jsonl`, `.csv`, `.parquet`, each also `.zst` or `.gz`. With `--close`, events produced later
    whose `ts` lies before the end of these would be late.

    Examples:

        saffron produce stock_quotes.ndjson.zst --rate 5000

        saffron produce trades.csv --key symbol --close

        tail -f events.jsonl | saffron produce -

        saffron produce orders.ndjson --topic orders
    """
    if rate is not None and speedup is not None:
        raise typer.BadParameter("--rate and --speedup exclude each other")
    if topic is not None:
        _produce_to_topic(system, topic, events, limit, others=(rate, speedup, key, stream, close or None), json=json)
        return
    stream = stream or DEFAULT_STREAM
    with connection(system.connected()) as client:
        streams = client.streams()
        record = streams.get(stream)
        if record is None:
            raise InputError(no_stream(stream, streams, f"`saffron stream add {stream}` makes one"))
        _require_plain(record)
        count = client.partitions(record.topic)
        require_own_key(record, key, count)
        latest = pace.Latest(client.settings.max_future_ms)
        left_out = LeftOut()
        lines = limited(batches(events, left_out), limit)
        slices = pace.slices(latest.watch(lines) if close else lines, rate, speedup, client.settings.max_future_ms)
        producer = EventProducer(client.settings, record.topic, throughput=rate is None and speedup is None)
        sent, seconds = send(producer, slices, key or record.key)
        if close:
            _close(producer, record.topic, count, latest)
    if left_out.events:
        console.say(left_out.report())
    if json:
        console.print_json({"events": sent, "seconds": round(seconds, 3), "events_per_second": round(sent / seconds)})
    else:
        console.say(f"{counted(sent, 'event')} to {record.topic} in {seconds:.1f} s ({sent / seconds:,.0f}/s)")


def _produce_to_topic(
    system: options.System, topic: str, events: list[str], limit: int | None, *, others: Sequence[object], json: bool
) -> None:
    """Produces messages to a topic. `others`: options of streams, none of which may be given."""
    if any(one is not None for one in others):
        raise typer.BadParameter("--topic sends messages as they are: leave --stream, --key, --rate and so on out")
    left_out = LeftOut()
    with connection(system.connected()) as client:
        require_users_topic(client, topic)
        sent = produce_messages(client, topic, events, limit, left_out)
    if left_out.events:
        console.say(left_out.report())
    if json:
        console.print_json({"messages": sent})
    else:
        console.say(f"{counted(sent, 'message')} to {topic}")


def require_users_topic(client: Client, topic: str) -> None:
    """InputError: services write the topic, so that what it holds is read as theirs: Saffron's own, or a merged or
    rekeyed stream's.
    """
    prefix, streams = client.settings.prefix, client.streams().values()
    for stream in streams:
        if stream.topic == topic:
            _require_own(stream)
    if topic.startswith(prefix) and all(topic != stream.topic for stream in streams):
        raise InputError(
            f"topic {topic!r} is Saffron's own, as all that begin with {prefix!r}: name a topic of yours, or a stream "
            "with --stream"
        )


def _require_plain(stream: StreamRecord) -> None:
    """InputError: the stream is not of JSON events, or windowing makes it."""
    _require_own(stream)
    if stream.format != JSON:
        raise InputError(
            f"stream {stream.name!r} has messages of format {stream.format}: produce them by a client that knows it"
        )


def _require_own(stream: StreamRecord) -> None:
    """InputError: windowing writes the stream's topic, from other topics."""
    if stream.definition is not None:
        topics = ", ".join(stream.definition.numbers)
        raise InputError(f"stream {stream.name} is merged from {topics}: produce messages to these")
    if origin := stream.source:
        raise InputError(f"stream {stream.name!r} is made from {origin}: produce to that, `--stream {origin}`")


def require_own_key(stream: StreamRecord, key: str | None, partitions: int) -> None:
    """InputError: the key is not the stream's, by which queries take the events of one result to be in one partition.

    `key`: as it is given; None: the stream's own.
    """
    if partitions > 1 and key and stream.key and key != stream.key:
        raise InputError(
            f"stream {stream.name!r} is keyed by {stream.key}, by which its events lie in {partitions} partitions: by "
            f"{key} they would lie elsewhere, and matches would be missing. Leave --key out"
        )


def send(producer: EventProducer, slices: Iterator[list[bytes]], key: str | None) -> tuple[int, float]:
    """Sends all, with a progress line. Returns (events, seconds until all were acknowledged)."""
    begun = shown = time.monotonic()
    sent = keyed = 0
    try:
        for lines in slices:
            keys = None if key is None else keys_of(lines, key)
            # An event without the attribute gets the empty key, which has one partition.
            producer.send(lines, keys and [one or b"" for one in keys])
            keyed += sum(map(bool, keys or ()))
            sent += len(lines)
            now = time.monotonic()
            if now - shown > _SHOW_SECONDS:
                shown = now
                console.progress(f"produced {counted(sent, 'event')}, {sent / (now - begun):,.0f}/s")
    finally:
        producer.flush(_FLUSH_SECONDS)
        console.done()
    if key is not None and sent and not keyed:
        console.say(no_key_notice(key))
    return sent, max(time.monotonic() - begun, 1e-6)


def _close(producer: EventProducer, topic: str, partitions: int, latest: pace.Latest) -> None:
    """End the stream at the latest time of its events in every partition, by a `$watermark`."""
    if latest.left_out:
        console.say(
            f"{counted(latest.left_out, 'line')} did not count for the end: the line is no event, or its ts is wrong "
            f"or further ahead than SAFFRON_MAX_FUTURE_MS ({latest.max_future}) of this command"
        )
    if latest.ts is None:
        console.say(f"{topic} was not closed: no event says when it ends")
        return
    watermark = orjson.dumps({"type": "$watermark", "ts": latest.ts, "end": True})
    for partition in range(partitions):
        producer.send([watermark], partition=partition)
    producer.flush(_FLUSH_SECONDS)
    console.say(
        f"closed {topic} at {console.moment(latest.ts)}: every window so far ends; events before that would now be late"
    )
