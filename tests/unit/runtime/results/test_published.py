"""Topics of PUBLISH: refused names, creation, missing rights, and the topics that a log of blocks names."""

from __future__ import annotations

import pytest

from saffron.engine.events.block import Block, Control
from saffron.errors import DeniedError, UnavailableError
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.log import TopicSpec
from saffron.runtime.process.config import Settings
from saffron.runtime.result_formats.rows import RowFormats
from saffron.runtime.results.published import PublishedTopics, refusal, topics_in
from saffron.testing.memory_broker import MemoryBroker
from saffron.testing.memory_log import MemoryLog
from tests.unit.runtime.fakes import columns

STREAMS = [
    StreamRecord("events", "p.events"),
    StreamRecord("trades", "trades"),
    StreamRecord("shop", "p.shop.events", definition=AppliedDefinition("", {"orders": 1, "payments": 2}, 1)),
]


@pytest.mark.parametrize(
    ("topic", "why"),
    [
        ("p.events", "Saffron's own"), ("p.complex-events", "Saffron's own"), ("p.anything", "Saffron's own"),
        ("trades", "holds the events of stream 'trades'"), ("orders", "holds the events of stream 'shop'"),
        ("alerts", ""), ("orders2", ""), ("q.events", ""),
    ],
)  # fmt: skip
def test_names_that_are_refused(topic: str, why: str) -> None:
    told = refusal(topic, "p.", STREAMS)
    assert (why in told) if why else told == ""


def made() -> tuple[PublishedTopics, MemoryLog]:
    log = MemoryLog(MemoryBroker(lambda: 0))
    return PublishedTopics(log, TopicSpec("", 3, {"retention.ms": "5"}), RowFormats(Settings())), log


def test_a_missing_topic_is_created_and_one_that_is_there_stays_as_it_is() -> None:
    topics, log = made()
    assert topics.prepare("alerts") == ""
    assert (topics.partitions("alerts"), log.broker.configs["alerts"]) == (3, {"retention.ms": "5"})
    log.create_topics([TopicSpec("small", 1, {})])
    assert topics.prepare("small") == ""
    assert (topics.partitions("small"), log.broker.configs["small"]) == (1, {})


def test_partitions_are_asked_for_again_once_they_are_forgotten() -> None:
    topics, log = made()
    assert topics.partitions("alerts") == 3
    log.broker.add_partitions("alerts", 5)
    assert topics.partitions("alerts") == 3
    topics.forget()
    assert topics.partitions("alerts") == 5
    del log.broker.topics["alerts"]
    topics.forget()
    assert topics.partitions("alerts") == 3, "it was removed, and is created again"


def test_missing_rights_are_named() -> None:
    topics, log = made()
    log.inject("create", DeniedError("no right to create"), after=False)
    assert "there is no right to create it (no right to create): create it" in topics.prepare("alerts")
    log.broker.unwritable.add("alerts")
    assert topics.prepare("alerts").startswith("there is no right to write to topic 'alerts': give")
    log.broker.unwritable.clear()
    assert topics.prepare("alerts") == ""
    log.inject("metadata", UnavailableError("no broker"), after=False)
    topics.forget()
    with pytest.raises(UnavailableError):
        topics.prepare("alerts")


def test_the_topics_of_a_log_are_those_of_all_queries_that_were_in_force() -> None:
    def block(*controls: Control) -> Block:
        return Block(columns([], [], []), 0, 0, 0, controls=controls)

    text = "PATTERN A a WITHIN 1 s PUBLISH '{}'"
    queries = [{"name": "a", "text": text.format("one")}, {"name": "b", "text": "PATTERN A a WITHIN 1 s PUBLISH"}]
    blocks = [
        block(Control(0, "checkpoint", {"schema": None, "queries": queries}), Control(0, "schema", {"schema": {}})),
        block(
            Control(0, "query", {"op": "add", "name": "c", "text": text.format("two")}),
            Control(0, "query", {"op": "remove", "name": "c", "text": None}),
            Control(0, "query", {"op": "add", "name": "d", "text": "no query PUBLISH 'three'"}),
        ),
    ]
    assert topics_in(blocks) == {"one", "two"}
