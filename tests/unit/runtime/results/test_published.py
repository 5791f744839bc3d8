"""Topics of PUBLISH: refused names, creation, missing rights, and the topics that a log of blocks names."""

from __future__ import annotations

import itertools
import random

import pytest

from saffron.engine.events.block import Block, Control
from saffron.errors import DeniedError, TooLargeError, UnavailableError
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.log import TopicSpec
from saffron.runtime.process.config import Settings
from saffron.runtime.result_formats.rows import RowFormats
from saffron.runtime.results.published import PublishedTopics, cycle, readers, refusal, topics_in
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.fakes import columns

RECORDS = (
    StreamRecord("events", "p.events"),
    StreamRecord("trades", "trades"),
    StreamRecord("trades_by_x", "p.trades_by_x", key="x", source="trades"),
    StreamRecord("shop", "p.shop.events", definition=AppliedDefinition("", {"orders": 1, "payments": 2}, 1)),
)
STREAMS = {record.name: record for record in RECORDS}


@pytest.mark.parametrize(
    ("topic", "own"),
    [("p.events", True), ("p.complex-events", True), ("p.anything", True), ("alerts", False), ("q.events", False)],
)
def test_names_of_saffron_are_refused(topic: str, own: bool) -> None:
    assert ("Saffron's own" in refusal(topic, "p.")) == own


def test_who_reads_a_topic() -> None:
    assert readers("trades", STREAMS) == ["trades", "trades_by_x"]
    assert readers("orders", STREAMS) == ["shop"]
    assert readers("orders2", STREAMS) == readers("p.trades_by_x", STREAMS) == []


def asked(**paths: str) -> dict[str, str]:
    """Queries by name, each of the form "STREAM TOPIC"."""
    return {name: "FROM {} PATTERN A a WITHIN 1 s PUBLISH '{}'".format(*path.split()) for name, path in paths.items()}


@pytest.mark.parametrize(
    ("start", "queries", "way"),
    [
        ("trades", asked(q="trades trades"),
         "query 'q' over stream 'trades' publishes to 'trades', which stream 'trades' reads"),
        ("trades_by_x", asked(q="trades_by_x trades"),
         "query 'q' over stream 'trades_by_x' publishes to 'trades', which stream 'trades_by_x' reads"),
        ("shop", asked(a="shop trades", b="trades_by_x orders"),
         ("query 'a' over stream 'shop' publishes to 'trades', which stream 'trades_by_x' reads, "
         "query 'b' over stream 'trades_by_x' publishes to 'orders', which stream 'shop' reads")),
        ("shop", asked(a="shop trades", b="trades alerts", c="events orders"), ""),
        ("events", asked(a="shop trades", b="trades orders", c="events orders"), ""),
        ("trades", {"q": "PATTERN A a WITHIN 1 s PUBLISH 'trades'", "no": "nonsense"}, ""),
    ],
)  # fmt: skip
def test_results_that_become_events_of_their_stream(start: str, queries: dict[str, str], way: str) -> None:
    assert cycle(start, STREAMS, queries) == way


@pytest.mark.parametrize("seed", range(40))
def test_cycles_are_those_of_a_slow_twin(seed: int) -> None:
    draw = random.Random(seed)
    streams = {name: StreamRecord(name, f"t{name}") for name in "abcd"}
    paths = [(draw.choice("abcd"), draw.choice("abcdx")) for _ in range(draw.randrange(6))]
    queries = asked(**{f"q{number}": f"{over} t{to}" for number, (over, to) in enumerate(paths)})
    joined = set(paths)
    for middle, left, right in itertools.product("abcd", repeat=3):  # Warshall's closure
        if (left, middle) in joined and (middle, right) in joined:
            joined.add((left, right))
    for start in streams:
        assert bool(cycle(start, streams, queries)) == ((start, start) in joined)


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


def test_a_topic_that_the_broker_refuses_is_blamed_until_a_query_begins_there() -> None:
    topics, log = made()
    assert topics.blame(TooLargeError("too large", "alerts")) == set(), "nothing was written there"
    assert [topics.partitions(topic) for topic in ("alerts", "rows")] == [3, 3]
    topics.forget()
    assert topics.blame(TooLargeError("too large")) == topics.blame(DeniedError("no right")) == set()
    assert topics.blame(TooLargeError("too large", "rows")) == {"rows"}
    log.broker.unwritable.add("alerts")
    assert topics.blame(DeniedError("no right")) == {"alerts"}
    assert topics.refused("alerts") == "the broker refuses its results in topic 'alerts': no right"
    assert topics.refused("rows").endswith("'rows': too large")
    assert topics.prepare("rows") == topics.refused("rows") == topics.refused("other") == ""


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
