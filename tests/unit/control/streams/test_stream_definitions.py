"""Definitions applied to a system in memory: what is new, what changes, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import orjson
import pytest

from saffron.cli.client import Client
from saffron.cli.streams.present import present
from saffron.control.checks import Refused
from saffron.control.streams.change import StreamChange, StreamPlan
from saffron.control.streams.definitions import plan_definition, sentences_of, summary_of
from saffron.control.streams.stream_changes import plan_change, plan_update
from saffron.mapping.yaml_nodes import DefinitionError
from saffron.runtime.log import TopicSpec
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.process.config import Settings
from tests.contracts.test_schemas import validator
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

SHOP = """stream: shop   # of the web shop
key: order_id
idle: 10s     # not waited for longer
sources:
- topic: orders
- topic: payments
  attributes: {order_id: order.id}
"""
TRUCKS = "- topic: trucks\n"


@pytest.fixture
def client() -> Iterator[Client]:
    log = MemoryLog(MemoryBroker(lambda: 0))
    topics = [TopicSpec("orders", 3, {}), TopicSpec("payments", 1, {}), TopicSpec("trucks", 1, {})]
    log.create_topics([*topic_specs("t.", 1), *topics])
    yield Client(Settings(prefix="t.", bootstrap="memory"), log)
    log.close()


def apply(client: Client, text: str) -> StreamPlan:
    """The plan, which is then carried out."""
    return carried_out(client, plan_definition(text, present(client)))


def carried_out(client: Client, found: StreamPlan) -> StreamPlan:
    client.log.create_topics(found.topics)
    if found.is_change:
        client.put(client.topics.streams, found.record.name, found.record.encode())
    validator("streams").validate(orjson.loads(found.record.encode()))
    assert client.streams()[found.record.name] == found.record
    return found


def refused(client: Client, text: str) -> str:
    with pytest.raises(Refused) as error:
        plan_definition(text, present(client))
    return str(error.value)


def numbers(found: StreamPlan) -> dict[str, int]:
    assert found.record.definition is not None
    return dict(found.record.definition.numbers)


def test_a_new_stream_has_an_inner_topic_as_wide_as_its_widest_source(client: Client) -> None:
    found = apply(client, SHOP)
    assert (found.record.topic, found.partitions, found.record.key) == ("t.shop", 3, "order_id")
    assert client.log.partitions("t.shop.windows") == 3
    assert numbers(found) == {"orders": 0, "payments": 1}


def test_the_same_file_twice_changes_nothing(client: Client) -> None:
    apply(client, SHOP)
    assert not plan_definition(SHOP, present(client)).is_change
    words = apply(client, SHOP.replace("web shop", "shop on the web"))
    assert words.is_change
    assert sentences_of(words) == []


def test_a_source_keeps_the_partitions_that_it_had_when_it_became_one(client: Client) -> None:
    counts = {"orders": 3, "payments": client.log.partitions("payments")}
    apply(client, SHOP)
    client.log.add_partitions("orders", 5)
    later = apply(client, SHOP + TRUCKS).record.definition
    assert later is not None
    assert later.partitions == {**counts, "trucks": client.log.partitions("trucks")}


def test_a_source_keeps_its_number_through_changes_and_roll_backs(client: Client) -> None:
    apply(client, SHOP)
    assert numbers(apply(client, SHOP + TRUCKS)) == {"orders": 0, "payments": 1, "trucks": 2}
    fewer = apply(client, SHOP.replace("- topic: orders\n", ""))
    assert numbers(fewer) == {"orders": 0, "payments": 1, "trucks": 2}
    assert sentences_of(fewer)[0] == "source orders is read no longer; its position is kept, and its events stay"
    back = apply(client, SHOP)
    assert numbers(back)["orders"] == 0
    assert back.record.definition is not None
    assert back.record.definition.version == 4


def test_what_a_later_version_wrote_into_a_definition_stays(client: Client) -> None:
    record = apply(client, SHOP).record
    assert record.definition is not None
    later = replace(record, version=2, definition=replace(record.definition, unknown={"later": 7}))
    client.put(client.topics.streams, "shop", later.encode())
    changed = plan_update(StreamChange("shop", idle=5_000), present(client)).record
    assert changed.definition is not None
    assert (changed.definition.version, changed.definition.unknown) == (2, {"later": 7})


def test_a_new_stream_has_a_name_that_a_query_can_say(client: Client) -> None:
    assert "'2nd' is no name of a stream: letters, digits" in refused(
        client, SHOP.replace("stream: shop", "stream: 2nd")
    )


def test_what_changes_is_said(client: Client) -> None:
    apply(client, SHOP)
    found = apply(client, SHOP.replace("10s", "20s").replace("order.id", "order.number") + TRUCKS)
    assert sentences_of(found) == [
        "idle: 10000 -> 20000",
        "source payments: attributes changed; it counts for messages that are not yet read",
        "source trucks is new, as number 2: it is read from its beginning",
    ]


def test_silence_is_said_with_what_it_means(client: Client) -> None:
    meaning = "event time goes on with the clock"
    assert not [one for one in summary_of(apply(client, SHOP)) if meaning in one]
    found = apply(client, SHOP + "silence: 30s\n")
    assert found.record.silence == 30_000
    assert sentences_of(found) == [f"silence: - -> 30000 (where nothing comes to any source for so long, {meaning})"]
    assert sentences_of(apply(client, SHOP)) == ["silence: 30000 -> -"]
    new = SHOP.replace("stream: shop", "stream: other") + "silence: 90s\n"
    assert summary_of(apply(client, new))[-1] == f"where nothing comes to any source for 90s, {meaning}"


@pytest.mark.parametrize(("topic", "held"), [("orders", 1), ("trucks", 0)])
def test_a_source_of_one_partition_alone_holds_nothing_back(client: Client, topic: str, held: int) -> None:
    said = summary_of(apply(client, f"stream: alone\nsources:\n- topic: {topic}\n"))
    assert len([one for one in said if "holds the stream back" in one]) == held


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (SHOP.replace("stream: shop", "stream: events"), "no merged stream"),
        (SHOP.replace("payments", "pay"), "topic 'pay' does not exist"),
        (SHOP.replace("payments", "payment"), "is that its full name? Did you mean 'payments'?"),
        (SHOP.replace("topic: orders", "topic: t.events.windows"), "is an inner one of stream"),
        (SHOP.replace("topic: orders", "topic: t.complex-events"), "is Saffron's own"),
        (SHOP.replace("key: order_id\n", "partitions: 2\n"), "needs a `key`"),
    ],
)
def test_a_definition_that_cannot_be_is_refused(client: Client, text: str, part: str) -> None:
    assert part in refused(client, text)


def test_no_source_is_a_topic_that_saffron_writes_for_a_stream(client: Client) -> None:
    apply(client, SHOP)
    for name in ("shop", "other"):
        text = f"stream: {name}\nkey: order_id\nsources:\n- topic: t.shop\n"
        assert "topic 't.shop' is stream 'shop''s, which Saffron writes: ask FROM shop" in refused(client, text)
    apply(client, "stream: other\nkey: order_id\nsources: [{topic: orders}]\n")


def test_key_and_partitions_of_a_stream_that_is_there_stay(client: Client) -> None:
    apply(client, SHOP)
    assert "has the key 'order_id'" in refused(client, SHOP.replace("key: order_id", "key: customer"))
    assert "has 3 partitions, not 5" in refused(client, SHOP.replace("idle: 10s", "partitions: 5"))


def test_a_topic_is_the_one_of_one_source(client: Client) -> None:
    with pytest.raises(DefinitionError, match="topic orders is another source's already"):
        plan_definition(SHOP + "- topic: orders\n", present(client))


def test_without_a_key_all_events_are_in_one_partition(client: Client) -> None:
    assert apply(client, SHOP.replace("key: order_id\n", "")).partitions == 1


def test_set_changes_the_bounds_in_the_definition_and_nothing_else(client: Client) -> None:
    apply(client, SHOP)
    found = carried_out(client, plan_update(StreamChange("shop", idle=5_000, disorder=2_000), present(client)))
    assert (found.record.idle, found.record.disorder) == (5_000, 2_000)
    assert found.record.definition is not None
    assert found.record.definition.text == SHOP.replace("idle: 10s", "idle: 5s").replace(
        "of the web shop\n", "of the web shop\ndisorder: 2s\n"
    )
    never = carried_out(client, plan_update(StreamChange("shop", idle=0), present(client)))
    assert never.record.idle is None
    with pytest.raises(Refused, match="has a definition: change it there"):
        plan_update(StreamChange("shop", key="other"), present(client))


def test_a_stream_of_one_topic_does_not_become_a_merged_one(client: Client) -> None:
    carried_out(client, plan_change(StreamChange("shop", topic="orders"), present(client)))
    assert "is no merged stream" in refused(client, SHOP)


def test_a_stream_that_is_made_anew_begins_a_new_topic(client: Client) -> None:
    first = apply(client, SHOP)
    producer = client.log.producer()
    producer.send("t.shop", 0, b"{}")
    producer.flush(1)
    client.put(client.topics.streams, "shop", None)
    again = apply(client, SHOP)
    assert again.record == replace(first.record, topic="t.shop.2", generation=2)


def test_no_stream_is_made_from_a_merged_one(client: Client) -> None:
    apply(client, SHOP)
    with pytest.raises(Refused, match="apply its definition under another name and key"):
        plan_change(StreamChange("by_customer", source="shop", key="customer"), present(client))


def test_tables_are_topics_that_are_there_or_files_in_their_folder(client: Client) -> None:
    add = "add: {known: {table: t, key: k}}\n"
    assert "topic 'nothing' does not exist" in refused(
        client, f"{SHOP}tables: [{{name: t, topic: nothing, key: id}}]\n{add}"
    )
    for path in ("/etc/t.csv", "lists/../../t.csv"):
        assert f"{path} is no path within the folder of tables" in refused(
            client, f"{SHOP}tables: [{{name: t, file: {path}, key: id}}]\n{add}"
        )
    file = f"{SHOP.replace('shop', 'listed')}tables: [{{name: t, file: lists/t.csv, key: id}}]\n{add}"
    assert "reads lists/t.csv in the folder `tables` (SAFFRON_TABLES)" in (said := summary_of(apply(client, file)))[-1]
    assert said[-2] == "messages that are there already are looked up in the tables as they are now"
    apply(client, SHOP)
    found = apply(client, f"{SHOP}tables: [{{name: t, topic: trucks, key: id}}]\n{add}")
    assert sentences_of(found) == [
        "tables: - -> t",
        "known, of a table, is new; it counts for messages that are not yet read",
    ]
    assert sentences_of(apply(client, SHOP)) == [
        "tables: t -> -",
        "table t ends: what queries look up in it (IN t) is null for messages not yet read",
        "known, of a table, ends; it counts for messages that are not yet read",
    ]


@pytest.mark.parametrize("inner", [True, False])
@pytest.mark.parametrize("stream", ["shop", "by_k"])
def test_a_topic_that_saffron_writes_is_made_again_as_it_was(stream: str, inner: bool) -> None:
    """Whatever its sources have by now: its keys lie by its number of partitions. `inner`: inner topics are left."""
    broker = MemoryBroker(lambda: 0)
    log = MemoryLog(broker)
    log.create_topics([*topic_specs("t.", 2), TopicSpec("orders", 2, {}), TopicSpec("payments", 1, {})])
    client = Client(Settings(prefix="t.", bootstrap="memory"), log)
    apply(client, SHOP)
    carried_out(client, plan_change(StreamChange("by_k", key="k", source="events"), present(client)))
    for source in ("orders", "t.events"):
        broker.add_partitions(source, 5)
    for topic in (f"t.{stream}", *([] if inner else [f"t.{stream}.windows", f"t.{stream}.admitted"])):
        broker.delete(topic)
    if stream == "shop":
        found = plan_definition(SHOP, present(client))
    else:
        found = plan_update(StreamChange("by_k", idle=5_000), present(client))
    assert found.made_again[0] == f"topic t.{stream} was missing, and is made again"
    assert found.partitions == (2 if inner else 5)
    log.close()
