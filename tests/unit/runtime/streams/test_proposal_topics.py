"""Topics of Avro and Protobuf, looked at for a proposal: what their registry makes of them, and what it cannot."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf import descriptor_pool, message_factory, timestamp_pb2

from saffron.errors import InputError
from saffron.mapping.definition import Envelope, TimeFormat
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.dry_run import read_all
from saffron.mapping.proposals.definition_writer import write_definition
from saffron.mapping.proposals.fields import Topic
from saffron.mapping.proposals.infer import infer
from saffron.runtime.log import Record, TopicPartition
from saffron.runtime.streams.newest_messages import Newest, NewestRecords
from saffron.runtime.streams.proposal_topics import require_registry, topic_of
from saffron.runtime.streams.source_messages import messages_of, translated, translations
from tests.unit.engine.events.test_framed import avro, framed, proto
from tests.unit.windowing.fake_registry import FakeRegistry, running

NOON = 1_777_629_600_000
AT = datetime.fromtimestamp(NOON / 1000, UTC)
MINUTE = timedelta(minutes=1)


def record(name: str, **fields: Any) -> dict[str, Any]:
    written = [{"name": field, "type": kind} for field, kind in fields.items()]
    return {"type": "record", "name": name, "fields": written}


def logical(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "logicalType": name}


ORDER = record("com.acme.Order", id="string", at=logical("long", "timestamp-millis"))
PAID = record("com.acme.Paid", id="string", at=logical("long", "timestamp-millis"))


def order(number: int, schema: int = 1) -> bytes:
    return avro(schema, ORDER if schema == 1 else PAID, {"id": f"O-{number}", "at": AT + number * MINUTE})


def plain(number: int) -> bytes:
    return json.dumps({"id": f"O-{number}", "at": (AT + number * MINUTE).isoformat()}).encode()


def quotes(count: int) -> list[bytes]:
    """Protobuf by schema 9: the second message of its file."""
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(proto())
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName("market.Quote"))
    messages = [made(symbol=f"O-{number}", price=7.5, size=number) for number in range(count)]
    for number, one in enumerate(messages):
        one.ts.FromDatetime(AT + number * MINUTE)
    return [framed(9, b"\x02\x02" + one.SerializeToString()) for one in messages]


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with running() as one:
        one.add(1, json.dumps(ORDER))
        one.add(2, json.dumps(PAID))
        one.add(9, base64.b64encode(proto().SerializeToString()).decode(), "PROTOBUF")
        yield one


def newest(**topics: Sequence[bytes | None]) -> Newest:
    """Topics of one partition, with a message each minute."""
    return {
        TopicPartition(name, 0): NewestRecords(
            [Record(name, 0, at, NOON + 60_000 * at, None, value) for at, value in enumerate(values)], whole=True
        )
        for name, values in topics.items()
    }


def looked(registry: str | None, **topics: Sequence[bytes | None]) -> list[Topic]:
    found, formats = newest(**topics), translations("")
    return [topic_of(found, name, registry, formats) for name in topics]


def test_what_is_proposed_of_avro_protobuf_and_json_together_refuses_no_message(registry: FakeRegistry) -> None:
    found = newest(orders=[*map(order, range(6)), None], quotes=quotes(6), plain=list(map(plain, range(6))))
    formats = translations("")
    topics = [topic_of(found, place.topic, registry.url, formats) for place in found]
    text = write_definition("s", infer(topics))
    stream = read_definition(text)
    assert [(one.format, one.registry) for one in stream.sources] == [
        ("avro", registry.url), ("protobuf", registry.url), ("json", None)
    ]  # fmt: skip
    assert stream.key == "id"
    assert [one.time.form for one in stream.sources] == [TimeFormat.ISO, TimeFormat.MILLISECONDS, TimeFormat.ISO]
    batches = translated(found, stream.sources, formats)
    for source in stream.sources:
        messages = messages_of(batches, source.topic)
        assert [one.refusal for one in messages] == [None] * len(messages), "a tombstone has no frame, and needs none"
        reading = read_all(stream, source, [one.message for one in messages], 0)
        assert (reading.events, reading.refused, reading.attributes["id"]) == (6, {}, 6)
        assert reading.examples[0].ts == NOON


@pytest.mark.parametrize(
    ("kind", "value", "path", "form"),
    [
        (logical("long", "timestamp-millis"), AT, "at", TimeFormat.ISO),
        (logical("long", "timestamp-micros"), AT + timedelta(microseconds=7), "at", TimeFormat.ISO),
        (logical("long", "timestamp-micros"), AT, "ts", TimeFormat.MILLISECONDS),
        (logical("long", "local-timestamp-millis"), AT.replace(tzinfo=None), "at", TimeFormat.ISO),
        (["null", logical("long", "timestamp-millis")], AT, "at", TimeFormat.ISO),
        ("long", NOON, "at", TimeFormat.MILLISECONDS),
        ("long", NOON * 1000, "at", TimeFormat.MICROSECONDS),
        (record("Meta", at=logical("long", "timestamp-millis")), {"at": AT}, "meta.at", TimeFormat.ISO),
    ],
)
def test_times_of_avro(registry: FakeRegistry, kind: Any, value: Any, path: str, form: TimeFormat) -> None:
    name = path.partition(".")[0]
    schema = record(
        "Order", **{name: kind}, born=["null", logical("int", "date")],
        status={"type": "enum", "name": "Status", "symbols": ["NEW", "PAID"]},
    )  # fmt: skip
    registry.add(5, json.dumps(schema))
    values = [avro(5, schema, {name: value, "born": None, "status": status}) for status in ("NEW", "PAID")]
    (proposed,) = infer(looked(registry.url, t=values))
    assert (str(proposed.time.path), proposed.time.form) == (path, form)
    assert proposed.type is not None
    assert proposed.type.names == {"NEW": "New", "PAID": "Paid"}


def test_rows_of_debezium_in_avro_are_seen(registry: FakeRegistry) -> None:
    row = record("Value", id="string", type="string")
    source = record("Source", ts_ms="long", table="string")
    envelope = record("Envelope", before=["null", row], after=["null", "Value"], source=source, op="string")
    registry.add(5, json.dumps(envelope))
    origin = {"ts_ms": NOON, "table": "orders"}
    values = [
        avro(5, envelope, {"before": None, "after": {"id": f"{n}", "type": kind}, "source": origin, "op": "c"})
        for n, kind in enumerate("ab")
    ]
    (proposed,) = infer(looked(registry.url, t=[*values, None]))
    assert (proposed.envelope, str(proposed.time.path)) == (Envelope.DEBEZIUM, "__source_ts_ms")
    assert proposed.type is not None
    assert str(proposed.type.path) == "__op"


def test_messages_of_every_kind_in_one_topic_are_looked_at_and_the_others_are_told(registry: FakeRegistry) -> None:
    values = [order(0), plain(1), order(2), order(3, schema=2), plain(4), b"", b"x", order(5)[:-1], None]
    (topic,) = looked(registry.url, t=values)
    assert (topic.form, topic.registry, len(topic.messages)) == ("avro", registry.url, 6)
    no_frame, torn = topic.told
    assert no_frame.startswith("2 not read (no-frame); the first is t/0/5: the message is empty")
    assert torn.startswith("1 not read (bad-payload); the first is t/0/7: not by schema 1")
    text = write_definition("s", infer([topic]))
    assert f"  # {torn}" in text
    (source,) = read_definition(text).sources
    assert (source.format, source.time.form) == ("avro", TimeFormat.ISO)


def test_a_schema_that_is_not_known_is_told_and_the_rest_is_proposed(registry: FakeRegistry) -> None:
    del registry.schemas[1]
    lost, some, other = looked(
        registry.url, lost=[*map(order, range(3)), plain(1)], some=[order(0), order(1, schema=2)], other=quotes(2)
    )
    assert lost.form is None
    assert lost.told == ("3 not read (unknown-schema); the first is lost/0/0: the registry knows no schema 1",)
    assert (some.form, len(some.messages), len(some.told)) == ("avro", 1, 1)
    assert (other.form, other.told) == ("protobuf", ())
    text = write_definition("s", infer([lost, some, other]))
    assert f'  # {lost.told[0]}\n  # format: avro  # or protobuf\n  # registry: "{registry.url}"\n' in text
    assert [one.format for one in read_definition(text).sources] == ["json", "avro", "protobuf"]


def test_a_registry_that_does_not_answer_holds_up_no_other_topic(
    registry: FakeRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    registry.down = True
    orders, quoted, other = looked(registry.url, orders=[order(0)], quotes=quotes(1), plain=[plain(0)])
    sentence = f"the schema registry at {registry.url} answers 500 Internal Server Error"
    assert [(one.form, one.told) for one in (orders, quoted)] == [(None, (sentence,))] * 2
    assert len(registry.asked) == 1, "it is not asked again for each topic"
    assert infer([orders, quoted, other])[2].time.form is TimeFormat.ISO
    assert caplog.text == "", "no stream waits"


@pytest.mark.parametrize("answer", [{"name": "connect"}, ["orders"], "hello"])
def test_another_service_is_no_registry(registry: FakeRegistry, answer: Any) -> None:
    registry.schemas[1] = answer
    (topic,) = looked(registry.url, orders=[order(0)])
    assert topic.told == ("no schema registry: /schemas/ids/1 has no answer with a schema",)


def test_frames_around_json_and_topics_without_frames_ask_no_registry(registry: FakeRegistry) -> None:
    topics = looked(registry.url, framed=[framed(1, plain(0))], plain=[plain(0)], none=[])
    assert [(one.form, one.registry) for one in topics] == [(None, None)] * 3
    assert registry.asked == []
    assert [one.form for one in infer(topics)] == ["json-schema", "json", "json"]
    (topic,) = looked(None, orders=[order(0)])
    assert infer([topic])[0].told[0].endswith("infer reads them with the registry's URL (--registry URL)")


def test_json_beside_protobuf_in_frames_is_read_as_protobuf(registry: FakeRegistry) -> None:
    registry.add(4, "{}", "JSON")
    (topic,) = looked(registry.url, t=[framed(4, plain(number)) for number in range(3)] + quotes(2))
    assert (topic.form, len(topic.messages)) == ("protobuf", 5)
    (topic,) = looked(registry.url, t=[framed(4, b"[1]")])
    assert topic.form == "json-schema"
    read_definition(write_definition("s", infer([topic])))


@pytest.mark.parametrize("url", ["r:8081", "ftp://r", "http://me:secret@r:8081", "http://", "http://[x", "http://r 1"])
def test_what_is_no_url_of_a_registry_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="is no registry"):
        require_registry(url)
    with pytest.raises(Exception, match="a registry is http://HOST:PORT"):
        read_definition(f"stream: s\nsources: [{{topic: t, format: avro, registry: {json.dumps(url)}}}]")
