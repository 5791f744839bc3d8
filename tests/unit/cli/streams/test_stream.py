"""Changes of streams, on the in-memory log: what is said is changed, the rest stays, and what cannot be is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest

from saffron.cli.client import Client
from saffron.cli.streams import tail
from saffron.cli.streams.present import present
from saffron.cli.streams.rows import differences
from saffron.control.checks import Refused
from saffron.control.streams.change import StreamChange
from saffron.control.streams.stream_changes import check_removal, plan_change, plan_update
from saffron.errors import LogError
from saffron.records.query import QueryRecord
from saffron.records.stream import StreamRecord
from saffron.runtime.log import Record, TopicSpec
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.process.config import Settings
from tests.contracts.test_schemas import validator
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

GIVEN = StreamChange("quotes", key="symbol", partitions=3)
SCHEMA = {"type": "object", "properties": {"type": {"const": "A"}, "x": {"type": "integer"}}}


@pytest.fixture
def client() -> Iterator[Client]:
    log = MemoryLog(MemoryBroker(lambda: 0))
    log.create_topics([*topic_specs("t.", 2), TopicSpec("trades", 2, {}), TopicSpec("other", 2, {})])
    yield Client(Settings(prefix="t.", bootstrap="memory", disorder_ms=9), log)
    log.close()


def put(client: Client, change: StreamChange) -> StreamRecord:
    """The record, as it stands then."""
    found = plan_change(change, present(client))
    client.log.create_topics(found.topics)
    if found.is_change:
        client.put(client.topics.streams, found.record.name, found.record.encode())
    validator("streams").validate(orjson.loads(replace(found.record, unknown={}).encode()))
    assert client.streams()[change.name] == found.record
    return found.record


def refused(client: Client, **said: Any) -> str:
    with pytest.raises(Refused) as error:
        plan_change(StreamChange(**said), present(client))
    return str(error.value)


def test_a_stream_has_topics_and_a_record_that_keeps_the_contract(client: Client) -> None:
    record = put(client, replace(GIVEN, format="avro", registry="http://registry:8081", disorder=5))
    assert (record.topic, client.log.partitions("t.quotes"), client.log.partitions("t.quotes.windows")) == (
        "t.quotes", 3, 3,
    )  # fmt: skip
    assert (record.disorder, record.idle, record.generation) == (5, None, 1)


def test_what_is_said_is_changed_and_nothing_else(client: Client) -> None:
    first = put(client, replace(GIVEN, schema=SCHEMA, disorder=5, idle=7))
    changes: dict[str, Any] = {"idle": 9, "disorder": 0, "silence": 30_000, "schema": {**SCHEMA, "title": "the same"}}
    for verb in (plan_change, plan_update):
        for name, value in changes.items():
            found = verb(StreamChange("quotes", **{name: value}), present(client)).record
            assert found == replace(first, **{name: value})
    wider = plan_update(StreamChange("quotes", schema=changes["schema"]), present(client))
    assert differences(wider) == ["schema: another one"]
    put(client, StreamChange("quotes", silence=30_000))
    off = plan_update(StreamChange("quotes", silence=0), present(client))
    assert differences(off) == ["silence: 30s -> -"]
    assert put(client, StreamChange("quotes", idle=0, silence=0)) == replace(first, idle=None)
    assert not plan_change(StreamChange("quotes"), present(client)).is_change
    assert not plan_change(replace(GIVEN, disorder=5), present(client)).is_change, "the same again changes nothing"


def test_what_a_later_version_wrote_stays(client: Client) -> None:
    client.put(client.topics.streams, "late", b'{"record": 1, "name": "late", "topic": "trades", "patience": 30000}')
    put(client, StreamChange("late", idle=5))
    assert client.streams()["late"].unknown == {"patience": 30_000}


def test_the_default_stream_keeps_the_settings_that_nobody_changes(client: Client) -> None:
    record = put(client, StreamChange("events", key="symbol"))
    assert record == StreamRecord("events", "t.events", "symbol")
    assert put(client, StreamChange("events", idle=5)) == replace(record, idle=5)


def test_a_stream_made_from_another_has_its_format_schema_and_bounds(client: Client) -> None:
    put(client, replace(GIVEN, schema=SCHEMA, format="avro", registry="http://r", disorder=5, idle=7))
    record = put(client, StreamChange("by_sector", key="sector", source="quotes"))
    assert record == StreamRecord(
        "by_sector", "t.by_sector", "sector", SCHEMA, 5, 7, "quotes", "avro", "http://r"
    )  # fmt: skip
    assert client.log.partitions("t.by_sector") == 3
    one = put(client, StreamChange("in_one", source="quotes", partitions=1, idle=9))
    assert (one.key, one.idle, client.log.partitions("t.in_one")) == (None, 9, 1)
    assert put(client, StreamChange("of_events", key="s", source="events")).disorder == 9, "as the setting says"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"topic": "other"}, r"its positions are offsets there.*`saffron stream remove quotes`"),
        ({"key": "sector"}, r"is keyed by symbol.*`saffron stream add quotes_by_sector --from quotes --key sector`"),
        ({"partitions": 5}, r"topic t.quotes has 3 partitions, not 5.*kafka-topics --alter"),
        ({"source": "events"}, r"has a topic of its own.*remove quotes.*--from events"),
        ({"schema": {**SCHEMA, "properties": {"type": {"const": "B"}}}}, r"event type A is gone.*may only grow"),
        ({"schema": {**SCHEMA, "required": ["x"]}}, "attribute x of A is required now"),
        ({"schema": {**SCHEMA, "additionalProperties": False}}, "attributes that it does not name are refused now"),
        ({"schema": {"type": "array"}}, "the schema cannot be used: #/type"),
        ({"registry": "http://r"}, "format json: no registry"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused_with_the_way_out(
    client: Client, said: dict[str, Any], why: str
) -> None:
    before = put(client, replace(GIVEN, schema=SCHEMA))
    with pytest.raises(Refused, match=why):
        plan_change(StreamChange("quotes", **said), present(client))
    assert client.streams()["quotes"] == before


def test_a_format_can_change_until_something_was_read(client: Client) -> None:
    put(client, GIVEN)
    put(client, StreamChange("quotes", format="avro", registry="http://r"))
    producer = client.log.producer()
    producer.send("t.quotes", 0, b"x")
    producer.flush(1)
    assert "some have been read" in refused(client, name="quotes", format="json")


@pytest.mark.parametrize(
    ("topic", "why"),
    [
        ("trades", r"is stream 'bids''s: ask FROM bids, or make 'quotes' of its events"),
        ("t.events", "is stream 'events''s"),
        ("t.windows", "is an inner one of stream 'events'"),
        ("t.bids.admitted", "is an inner one of stream 'bids'"),
        ("t.bids.2.windows", "is an inner one of stream 'bids'"),
        ("t.complex-events", "is Saffron's own.*INTO"),
        ("t.streams", "is Saffron's own"),
        ("nowhere", "does not exist: name another with --topic, or create it with --partitions N"),
        ("othr", r"--partitions N\. Did you mean 'other'\?"),
        ("t.querys", r"--partitions N$"),
    ],
)
def test_a_topic_that_is_not_the_streams_to_have_is_refused(client: Client, topic: str, why: str) -> None:
    put(client, StreamChange("bids", topic="trades"))
    with pytest.raises(Refused, match=why):
        plan_change(StreamChange("quotes", topic=topic), present(client))


def test_what_could_not_be_made_exactly_is_refused(client: Client) -> None:
    put(client, StreamChange("by_sector", key="sector", source="events"))
    assert "is made from events itself: give --from events" in refused(
        client, name="x", key="k", source="by_sector", partitions=1
    )
    assert "is keyed by sector" in refused(client, name="by_sector", key="symbol", source="events")
    assert "there is no stream 'nobody'" in refused(client, name="x", source="nobody")
    assert "has a topic of its own" in refused(client, name="events", source="by_sector")
    assert "--partitions 1" in refused(client, name="x", source="events")
    assert "has 2 partitions, not 3" in refused(client, name="x", topic="other", partitions=3)
    assert "leave them out" in refused(client, name="x", source="events", key="k", topic="other")


def test_a_stream_is_removed_unless_another_is_made_from_it(client: Client) -> None:
    put(client, GIVEN)
    put(client, StreamChange("by_sector", key="sector", source="quotes"))
    for name, why in (
        ("quotes", "by_sector is made from stream 'quotes': remove that first"),
        ("nobody", r"there is no stream 'nobody'; streams: events, quotes, by_sector$"),
        ("qoutes", r"there is no stream 'qoutes'; streams: events, quotes, by_sector. Did you mean 'quotes'\?"),
    ):
        with pytest.raises(Refused, match=why):
            check_removal(name, present(client))
    assert check_removal("by_sector", present(client)).name == "by_sector"
    put(client, StreamChange("in_one", partitions=1, source="quotes"))
    with pytest.raises(Refused, match=r"by_sector, in_one are .* those first \(`.* by_sector`, `.* in_one`\)"):
        check_removal("quotes", present(client))
    with pytest.raises(Refused, match="there is no stream 'nobody'"):
        plan_update(StreamChange("nobody", idle=5), present(client))


def test_a_stream_that_is_made_anew_has_topics_of_its_own(client: Client) -> None:
    producer = client.log.producer()
    for name, change in (
        ("trades", StreamChange("trades", topic="trades")),
        ("by_sector", StreamChange("by_sector", key="sector", source="events")),
    ):
        record = put(client, change)
        client.put(client.topics.streams, name, None)
        assert put(client, change) == record, "nothing was written: there is nothing to part from"
        client.put(client.topics.streams, name, None)
        producer.send(client.topics.windows_of(name), 0, b"block")
        producer.flush(1)
        again = put(client, change)
        assert (again.generation, client.log.partitions(f"t.{name}.2.admitted")) == (2, 2)
        assert again.topic == ("trades" if name == "trades" else "t.by_sector.2")


@pytest.mark.parametrize(
    ("form", "registry", "why"),
    [
        ("avro", None, "needs --registry"),
        ("json", "http://r", "need none"),
        ("json-schema", "http://r", "need none"),
        ("protobuf", "r:8081", "http://HOST:PORT"),
        ("avro", "http://me:secret@r", "registry_auth"),
        ("xml", None, "is no format"),
    ],
)
def test_a_format_and_its_registry_go_together(client: Client, form: str, registry: str | None, why: str) -> None:
    assert why in refused(client, name="x", topic="other", format=form, registry=registry)


def test_names_are_what_queries_can_say(client: Client) -> None:
    assert "no name of a stream" in refused(client, name="a.b")


def test_tail_says_which_topic_may_be_meant(client: Client) -> None:
    for name, why in (
        ("complex-event", r"topic 'complex-event' does not exist at memory: .* Did you mean 'complex-events'\?"),
        ("trade", r"topic 'trade' does not exist .* Did you mean 'trades'\?"),
        ("xyzzy", r"topic 'xyzzy' does not exist at memory: is that its full name\?"),
    ):
        with pytest.raises(LogError, match=why):
            tail.full_name(client, name)
    assert tail.full_name(client, "trends") == "t.trends"
    assert tail.full_name(client, "trades") == "trades"


def test_tail_of_all_results_reads_the_queries_alone(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks for their topics again and again."""
    text = "PATTERN SEQ(A a, B b) WITHIN 1 s PUBLISH 'alerts'"
    client.put(client.topics.queries, "q", QueryRecord("q", 1, "add", text).encode())
    client.log.create_topics([TopicSpec("alerts", 1, {})])
    read: list[str] = []
    records = Client.records

    def noted(self: Client, topic: str) -> Iterator[Record]:
        read.append(topic)
        return records(self, topic)

    monkeypatch.setattr(Client, "records", noted)
    assert tail._named(client, [])() == ["t.complex-events", "t.trends", "alerts"]
    assert read == ["t.queries"]


def test_tail_shows_partitions_and_topics_that_come_while_it_runs(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "_LOOK", 0.0)
    monkeypatch.setattr(tail, "wall_ms", lambda: 5)
    producer = client.log.producer()
    producer.send("trades", 0, b"before it began")

    def names() -> Iterator[list[str]]:
        yield ["trades"]
        client.log.add_partitions("trades", 3)
        producer.send("trades", 2, b"in a new partition")
        yield ["trades"]
        producer.send("other", 0, b"long ago", timestamp=4)
        producer.send("other", 0, b"in a new topic", timestamp=5)
        yield ["trades", "other", "not there yet"]
        producer.send("trades", 2, b"more", timestamp=0)
        while True:
            yield ["trades", "other"]

    steps = names()
    found = tail.follow(client, lambda: next(steps), earliest=False, timeout=None, end=False)
    assert [next(found).value for _ in range(3)] == [b"in a new partition", b"in a new topic", b"more"]
