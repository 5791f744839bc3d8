"""Topics as they live, on the in-memory log: made anew, grown, trimmed, gone; and what becomes of results.

The same cases on a broker: `broker/test_topics.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from saffron.cli.client import Client
from saffron.cli.streams.present import present
from saffron.control.streams.change import StreamChange
from saffron.control.streams.stream_changes import begun_anew, check_removal, plan_change
from saffron.errors import DeniedError
from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.log.topics import stream_topics, topic_files, topic_specs
from saffron.runtime.process.config import Settings
from saffron.runtime.telemetry.metric_names import INPUT_INCIDENTS, LOST_OFFSETS, STREAMS_STANDING
from saffron.runtime.telemetry.metrics import Metrics
from tests.e2e.simulated.system import TOPICS, blocks, makers, settings
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.some_time import SomeTime
from tests.unit.runtime.world import NO_CHAOS, Process, World

PAIR = "FROM {} PATTERN SEQ(A a, B b) WHERE [k] WITHIN 10 minutes RETURN a.k AS k"
SCHEMA = {"type": "object", "properties": {"type": {"enum": ["A", "B"]}, "k": {"type": ["string", "null"]}}}
OTHER = "other"
INNER = (TOPICS.windows_of(OTHER), TOPICS.admitted_of(OTHER))
INNER_OF = {OTHER: INNER, "events": (TOPICS.windows, TOPICS.admitted)}
ALL = ("windowing", "shedder", "matcher")
DAY = 86_400_000


@dataclass
class Living:
    """All services, each once; streams `events` and `other` with one partition and a query each, which is in force."""

    directory: Path
    partitions: int = 1
    metrics: dict[str, Metrics] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.world = World(1, self.directory / "snapshots", NO_CHAOS)
        self.broker = self.world.broker
        self.world.topics(*topic_specs("t.", self.partitions))
        self.make_topic(f"t.{OTHER}", 1)
        self.world.topics(*stream_topics("t.", OTHER, 1))
        self.producer = MemoryLog(self.broker).producer()
        chosen = replace(settings(self.directory, self.partitions), disorder_ms=0)
        metrics = self.metrics.setdefault
        parts = makers(chosen, lambda name: metrics(name, Metrics()), SomeTime(self.world.random))
        for name, make in parts.items():
            self.world.add(name, make)
        self.numbers: Iterator[int] = itertools.count(1)
        for stream in ("events", OTHER):
            self.stream(stream, f"t.{stream}")
            self.query(stream, PAIR.format(stream))
        self.settle()

    def make_topic(self, name: str, partitions: int) -> None:
        self.broker.create(topic_files()["events"].spec(name, partitions))

    def put(self, topic: str, key: str, row: dict[str, Any]) -> None:
        self.producer.send(topic, 0, orjson.dumps(row), key=key.encode())
        self.producer.flush(1)

    def stream(self, name: str, topic: str, **more: Any) -> None:
        row = {"name": name, "topic": topic, "key": "k", "schema": SCHEMA, "disorder": 0, "idle": None}
        self.put(TOPICS.streams, name, row | more)

    def route(self) -> None:
        """A stream `by_k` from `events`."""
        self.make_topic("t.by_k", 1)
        self.world.topics(*stream_topics("t.", "by_k", 1))
        self.stream("by_k", "t.by_k", **{"from": "events"})
        self.settle(300)

    def query(self, name: str, text: str) -> None:
        self.put(TOPICS.queries, name, {"name": name, "version": 1, "op": "add", "text": text, "from": "now"})

    def send(
        self, kinds: str, *keys: str, topic: str = TOPICS.events, partition: int = 0, ts: int | None = None
    ) -> None:
        """An event of each kind for each key. `ts`: theirs, else that of their messages."""
        for key, kind in itertools.product(keys, kinds):
            self.world.now += 1
            event = {"type": kind, "k": key} | ({} if ts is None else {"ts": ts})
            self.producer.send(topic, partition, orjson.dumps(event), timestamp=self.world.now)
        self.producer.flush(1)

    def pairs(self, query: str = "events") -> list[str]:
        """The keys of its results, in the order of each partition."""
        found = []
        for partition in range(len(self.broker.topics[TOPICS.complex_events])):
            for record in self.world.read(TOPICS.complex_events, partition, committed_only=True):
                body = orjson.loads(record.value or b"")
                found += [body["return"]["k"]] if body["query"] == query else []
        return found

    def settle(self, turns: int = 150) -> None:
        """Let everybody work, and time pass (some 3 s)."""
        for _ in range(turns):
            for process in self.world.processes:
                self.world._turn(process)
            self.world._deliver(True)
            self.world.now += 20

    def process(self, name: str) -> Process:
        return next(one for one in self.world.processes if one.name == name)

    def away(self, name: str, how: str) -> None:
        """Stop a service's process, or end it."""
        process = self.process(name)
        if how == "dead":
            assert process.log is not None
            process.log.kill()
            process.service = process.log = None
        process.paused_until = 2**62

    def back(self, name: str) -> None:
        self.process(name).paused_until = 0

    def told(self, service: str = "windowing") -> list[tuple[str, int, int, int, int]]:
        """The incidents that a service tells of last: kind, partition, and offset, before, after."""
        found: list[tuple[str, int, int, int, int]] = []
        for record in self.world.read(TOPICS.health, 0, committed_only=False):
            body = orjson.loads(record.value or b"")
            if body["service"] == service and "inputs" in body:
                found = [
                    (one["kind"], row["partition"], one["offset"], one["before"], one["after"])
                    for row in body["inputs"]
                    for one in row["incidents"]
                ]
        return found

    def troubles(self, service: str) -> list[str]:
        """What a service has said lately that it waits for; it says nothing where there is nothing to tell."""
        records = self.world.read(TOPICS.health, 0, committed_only=False)
        lately = [record for record in records if record.timestamp > self.world.now - 2_500]
        bodies = [orjson.loads(record.value or b"") for record in lately]
        found: list[str] = next((one["troubles"] for one in reversed(bodies) if _of(one, service)), [])
        return found

    def expire(self) -> None:
        """What retention does, by the settings of each topic."""
        for topic, partitions in self.broker.topics.items():
            keep = int(self.broker.configs[topic].get("retention.ms", -1))
            for number, log in enumerate(partitions):
                times = [0 if entry.record is None else entry.record.timestamp for entry in log.entries]
                kept = next((i for i, at in enumerate(times) if keep < 0 or at >= self.world.now - keep), len(times))
                self.broker.trim(TopicPartition(topic, number), log.low + kept)

    def begin_anew(self, name: str, left: Sequence[str] = ()) -> None:
        """`saffron stream remove`, then `saffron stream add`, as the runbook prescribes. `left`: topics that the first
        stream left, which are deleted in between."""
        client = Client(Settings(prefix="t.", bootstrap="memory"), MemoryLog(self.broker))
        following = begun_anew(check_removal(name, present(client)), present(client))
        client.log.create_topics([] if following is None else following.topics)
        client.put(TOPICS.streams, name, None if following is None else following.record.encode())
        self.settle()
        for topic in left:
            self.broker.delete(topic)
        kept = {place: one for place, one in self.broker.offsets.items() if place[1].topic not in left}
        self.broker.offsets = kept  # as Kafka does, where nobody reads the topic any more
        added = plan_change(StreamChange(name, key="k", schema=SCHEMA), present(client))
        client.log.create_topics(added.topics)
        client.put(TOPICS.streams, name, added.record.encode())
        client.log.close()
        self.settle(700)

    def others_go_on(self) -> None:
        before = len(self.pairs(OTHER))
        self.send("AB", "well", topic=f"t.{OTHER}")
        self.settle()
        assert len(self.pairs(OTHER)) == before + 1


def _of(body: dict[str, Any], service: str) -> bool:
    return bool(body["service"] == service and "troubles" in body)


@pytest.mark.parametrize("size", [1, 2, 8])
@pytest.mark.parametrize("how", ["stopped", "dead", "there", "at once"])
def test_a_topic_that_is_made_anew_is_read_from_its_beginning_and_told(tmp_path: Path, how: str, size: int) -> None:
    living = Living(tmp_path)
    living.send("A", "old0", "old1", "old2")
    living.settle()
    if how in ("stopped", "dead"):
        living.away("windowing", how)
    meanwhile = 0 if how == "at once" else 3
    living.broker.delete(TOPICS.events)
    living.settle(meanwhile)
    living.make_topic(TOPICS.events, 1)
    living.send("AB", *(f"new{number}" for number in range(size)))
    living.settle(meanwhile)
    living.back("windowing")
    living.settle(700)
    assert living.pairs() == [f"new{number}" for number in range(size)]
    assert living.told() == [("remade", 0, 3, 3, 0)]
    assert living.metrics["windowing"].value(INPUT_INCIDENTS, TOPICS.events, "0", "remade") == 1
    living.send("B", "old1")
    living.settle()
    assert living.pairs()[size:] == ["old1"], "what had been read stays"
    living.away("windowing", "dead")
    living.back("windowing")
    living.send("AB", "last")
    living.settle(700)
    assert living.pairs()[size:] == ["old1", "last"]
    assert living.told() == [("remade", 0, 3, 3, 0)], "once, and a new owner knows"
    living.others_go_on()


@pytest.mark.parametrize("how", ["there", "dead"])
def test_a_topic_that_is_gone_is_waited_for(tmp_path: Path, how: str) -> None:
    """Also by a process that starts while it is gone."""
    living = Living(tmp_path)
    living.send("A", "x")
    living.settle()
    living.broker.delete(TOPICS.events)
    if how == "dead":
        living.away("windowing", how)
        living.back("windowing")
    living.settle()
    assert living.troubles("windowing") == ["topic t.events is not there: make it again, or remove its stream"]
    assert living.metrics["windowing"].value(STREAMS_STANDING) == 1
    living.others_go_on()
    living.make_topic(TOPICS.events, 1)
    living.send("B", "x")
    living.settle()
    assert living.pairs() == ["x"]
    assert living.troubles("windowing") == []


@pytest.mark.parametrize("how", ["there", "dead"])
def test_a_stream_that_cannot_be_read_holds_up_no_other(tmp_path: Path, how: str) -> None:
    living = Living(tmp_path)
    living.make_topic("t.bad", 1)
    living.world.topics(*stream_topics("t.", "bad", 1))
    if how == "dead":
        living.away("windowing", how)
    living.stream("bad", "t.bad", definition={"text": "stream: bad\nsources: 5", "numbers": {"x": 0}, "version": 1})
    living.back("windowing")
    living.settle()
    living.send("AB", "x")
    living.settle(700)
    assert living.pairs() == ["x"]
    living.others_go_on()


@pytest.mark.parametrize("how", ["stopped", "dead"])
def test_unread_records_that_retention_took_are_counted_and_told(tmp_path: Path, how: str) -> None:
    living = Living(tmp_path)
    living.send("AB", "first")
    living.settle()
    living.away("windowing", how)
    living.send("AB", "lost0", "lost1", "kept")
    living.broker.trim(TopicPartition(TOPICS.events, 0), 6)
    living.back("windowing")
    living.settle(700)
    assert living.pairs() == ["first", "kept"]
    assert living.told() == [("lost", 0, 2, 2, 6)]
    assert living.metrics["windowing"].value(LOST_OFFSETS, TOPICS.events, "0") == 4
    living.others_go_on()


@pytest.mark.parametrize("how", ["stopped", "dead", "there"])
def test_partitions_that_are_added_are_read_from_their_first_record(tmp_path: Path, how: str) -> None:
    living = Living(tmp_path)
    living.send("A", "f0", "f1")
    living.settle()
    if how != "there":
        living.away("windowing", how)
    living.broker.add_partitions(TOPICS.events, 3)
    for partition in (1, 2):
        living.send("AB", f"a{partition}", f"b{partition}", partition=partition)
    living.send("B", "f0")
    living.back("windowing")
    living.settle(700)
    assert sorted(living.pairs()) == ["a1", "a2", "b1", "b2", "f0"]
    assert [len(living.broker.topics[topic]) for topic in (TOPICS.windows, TOPICS.admitted)] == [3, 3]
    (grown,) = living.told()
    assert (grown[:2], grown[3:]) == (("grown", 0), (1, 3))
    living.others_go_on()


def test_a_right_that_is_missing_to_follow_holds_up_no_other_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(log: MemoryLog, topic: str, partitions: int) -> None:
        raise DeniedError("CLUSTER_AUTHORIZATION_FAILED")

    monkeypatch.setattr(MemoryLog, "add_partitions", deny)
    living = Living(tmp_path)
    living.broker.add_partitions(TOPICS.events, 2)
    living.send("AB", "a", partition=1)
    living.settle()
    (trouble,) = living.troubles("windowing")
    assert trouble.endswith("kafka-topics --alter --topic t.windows --partitions 2")
    living.others_go_on()
    living.send("AB", "b")
    living.settle()
    assert living.pairs() == ["b"], "the partitions that were there go on"
    living.broker.add_partitions(TOPICS.windows, 2)  # as the message says
    living.settle(1000)
    assert living.troubles("windowing") == []
    (trouble,) = living.troubles("shedder")
    assert trouble.endswith("kafka-topics --alter --topic t.admitted --partitions 2")
    living.broker.add_partitions(TOPICS.admitted, 2)
    living.settle(1000)
    assert sorted(living.pairs()) == ["a", "b"]
    assert living.troubles("shedder") == []


def test_partitions_added_to_the_source_of_a_routed_stream_change_nothing_inside(tmp_path: Path) -> None:
    living = Living(tmp_path)
    living.make_topic("t.by_k", 2)
    living.world.topics(*stream_topics("t.", "by_k", 2))
    living.stream("by_k", "t.by_k", **{"from": "events"})
    living.query("by_k", PAIR.format("by_k"))
    living.settle(300)
    living.send("A", "x", "y")
    living.settle()
    living.broker.add_partitions(TOPICS.events, 3)
    living.settle(20)  # it is known a tenth of a second later
    living.send("B", "x", partition=1)
    living.send("B", "y", partition=2)
    for partition in range(3):
        living.send("A", "end", partition=partition)  # so that each source has come that far
    living.settle(700)
    assert sorted(living.pairs("by_k")) == ["x", "y"]
    inner = (TOPICS.windows_of("by_k"), TOPICS.admitted_of("by_k"), "t.by_k")
    assert [len(living.broker.topics[topic]) for topic in inner] == [2, 2, 2]


def test_what_a_route_has_not_read_is_told_when_retention_takes_it(tmp_path: Path) -> None:
    living = Living(tmp_path)
    living.route()
    living.send("AB", "x")
    living.settle()
    living.away("windowing", "dead")
    living.send("AB", "lost", "kept")
    living.broker.trim(TopicPartition(TOPICS.events, 0), 4)
    living.back("windowing")
    living.settle(700)
    routed = [orjson.loads(one.value or b"") for one in living.world.read("t.by_k", 0, committed_only=True)]
    assert [one["k"] for one in routed if "k" in one] == ["x", "x", "kept", "kept"]
    assert living.told() == [("lost", 0, 2, 2, 4)] * 2, "of the stream itself, and of the route"


@pytest.mark.parametrize("size", [1, 2, 8])
@pytest.mark.parametrize("how", ["stopped", "at once"])
def test_a_source_that_is_made_anew_is_routed_from_its_beginning(tmp_path: Path, how: str, size: int) -> None:
    living = Living(tmp_path)
    living.route()
    living.send("AB", "old")
    living.settle()
    if how == "stopped":
        living.away("windowing", how)
    living.broker.delete(TOPICS.events)
    living.settle(6 if how == "stopped" else 0)
    living.make_topic(TOPICS.events, 1)
    living.send("AB", *(f"new{number}" for number in range(size)))
    living.back("windowing")
    living.settle(700)
    routed = [orjson.loads(one.value or b"") for one in living.world.read("t.by_k", 0, committed_only=True)]
    assert [one["k"] for one in routed if "k" in one] == [
        "old",
        "old",
        *(f"new{number}" for number in range(size) for _ in "AB"),
    ]


@pytest.mark.parametrize("topic", [f"t.{OTHER}", f"t.{OTHER}.windows", f"t.{OTHER}.admitted"])
@pytest.mark.parametrize("how", ["there", "dead"])
def test_a_topic_that_is_missing_is_told_also_after_a_restart(tmp_path: Path, how: str, topic: str) -> None:
    living = Living(tmp_path)
    living.send("AB", "x", topic=f"t.{OTHER}")
    living.settle()
    living.broker.delete(topic)
    for name in ALL if how == "dead" else ():
        living.away(name, "dead")
        living.back(name)
    living.settle(700)
    troubles = {trouble for name in ALL for trouble in living.troubles(name)}
    assert any(trouble.startswith(f"topic {topic} is not there") for trouble in troubles)
    assert not any("ended" in one for one in living.world.history)
    living.send("AB", "well")
    living.settle()
    assert living.pairs() == ["well"]
    if topic == f"t.{OTHER}":
        living.make_topic(topic, 1)
    else:
        living.begin_anew(OTHER)
    living.send("AB", "y", topic=f"t.{OTHER}")
    living.settle(700)
    assert living.pairs(OTHER)[-1] == "y"
    assert [living.troubles(name) for name in ALL] == [[], [], []]


@pytest.mark.parametrize("service", ["shedder", "matcher"])
def test_an_inner_topic_that_is_made_anew_stops_its_stream_and_is_told(tmp_path: Path, service: str) -> None:
    living = Living(tmp_path)
    living.send("AB", "x")
    living.settle()
    topic = TOPICS.windows if service == "shedder" else TOPICS.admitted
    living.broker.delete(topic)
    living.broker.create(TopicSpec(topic, 1, {}))
    living.send("AB", "y")
    living.settle(700)
    assert living.pairs() == ["x"]
    (trouble,) = living.troubles(service)
    assert trouble.startswith(f"topic {topic} was deleted and made anew")
    living.others_go_on()


@pytest.mark.parametrize("sent", ["", "A"], ids=["no event ever", "an event"])
@pytest.mark.parametrize("stopped", [False, True], ids=["running", "restarted each day"])
def test_what_a_quiet_stream_is_taken_up_from_outlives_retention(tmp_path: Path, stopped: bool, sent: str) -> None:
    living = Living(tmp_path)
    living.send(sent, "old")
    living.settle()
    for _ in range(10):
        living.world.now += DAY
        for name in ALL if stopped else ():
            living.away(name, "dead")
            living.back(name)
        living.settle()
        living.expire()
    for name in ALL:
        living.away(name, "dead")
        living.back(name)
    living.settle(700)
    living.send("AB", "new")
    living.settle()
    assert living.pairs() == ["new"]
    assert not any("ended" in one for one in living.world.history)
    assert [living.troubles(name) for name in ALL] == [[], [], []]


@pytest.mark.parametrize("left", [1, 0], ids=["the newest block is left", "nothing is left"])
@pytest.mark.parametrize("service", ["windowing", "shedder"])
def test_a_stream_whose_state_retention_took_stands_alone_until_it_begins_anew(
    tmp_path: Path, service: str, left: int
) -> None:
    living = Living(tmp_path)
    topic, output = f"t.{OTHER}", INNER[service == "shedder"]
    living.send("AB", "x", "y", topic=topic)
    living.settle()
    living.away(service, "dead")
    living.broker.trim(TopicPartition(output, 0), living.broker.topics[output][0].high - left)
    living.back(service)
    living.send("AB", "z", topic=topic)
    living.send("AB", "well")
    living.settle(700)
    assert living.pairs() == ["well"], "the other stream goes on"
    assert not any("ended" in one for one in living.world.history)
    (trouble,) = living.troubles(service)
    what, _, fix = trouble.rpartition(": ")
    assert what.startswith(f"{output}/0: its records before offset ")
    assert fix == "saffron stream remove NAME, then saffron stream add NAME"
    living.begin_anew(OTHER)
    assert living.pairs(OTHER) == ["x", "y", "x", "y", "z"]
    assert living.troubles(service) == []


def test_blocks_that_retention_took_before_they_were_read_stop_their_stream_until_it_begins_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    living = Living(tmp_path)
    topic = f"t.{OTHER}"
    living.send("AB", "x", topic=topic)
    living.settle()
    living.away("shedder", "stopped")
    living.send("AB", "y", topic=topic)
    living.settle(30)
    living.broker.trim(TopicPartition(INNER[0], 0), living.broker.topics[INNER[0]][0].high)
    living.back("shedder")
    living.send("AB", "z", topic=topic)
    living.send("AB", "well")
    living.settle(2_000)
    assert sum("are missing before" in record.message for record in caplog.records) == 1, "it is told once"
    assert living.pairs() == ["well"]
    (trouble,) = living.troubles("shedder")
    what, _, fix = trouble.rpartition(": ")
    assert what.startswith(f"{INNER[0]}/0: records ")
    assert fix == "saffron stream remove NAME, then saffron stream add NAME"
    living.begin_anew(OTHER)
    assert living.pairs(OTHER) == ["x", "x", "y", "z"]
    assert living.troubles("shedder") == []


COMPACT, SMALL = {"cleanup.policy": "compact"}, {"max.message.bytes": "20"}


@pytest.mark.parametrize("settings", [COMPACT, SMALL, {}], ids=["compacted", "for small messages only", "denied"])
@pytest.mark.parametrize("topic", ["t.by_k", "t.by_k.windows", "t.by_k.admitted"])
def test_a_topic_that_refuses_what_is_written_stops_its_stream_alone_until_it_is_mended(
    tmp_path: Path, topic: str, settings: dict[str, str]
) -> None:
    living = Living(tmp_path)
    living.route()
    living.query("by_k", PAIR.format("by_k"))
    living.send("AB", "before", "next")
    living.settle(300)
    as_made = living.broker.configs[topic]
    living.broker.configs[topic] = {**as_made, **settings}
    if not settings:
        living.broker.unwritable.add(topic)
    for key in ("x", "y"):
        living.send("AB", key)
        living.settle(700)
    assert living.pairs() == ["before", "next", "x", "y"]
    service = "shedder" if topic.endswith("admitted") else "windowing"
    (trouble,) = living.troubles(service)
    assert topic in trouble
    living.broker.configs[topic] = as_made
    living.broker.unwritable.clear()
    living.settle(700)
    living.send("AB", "last", "end")
    living.settle(300)
    assert living.pairs("by_k")[:5] == ["before", "next", "x", "y", "last"]
    assert [living.troubles(name) for name in ALL] == [[], [], []]
    assert not any("ended" in one for one in living.world.history)


@pytest.mark.parametrize("how", ["there", "dead"])
@pytest.mark.parametrize("topic", [f"t.{OTHER}", f"t.{OTHER}.windows", f"t.{OTHER}.admitted"])
def test_a_topic_that_may_not_be_read_holds_up_its_stream_alone(tmp_path: Path, topic: str, how: str) -> None:
    living = Living(tmp_path)
    living.send("AB", "x", topic=f"t.{OTHER}")
    living.settle(300)
    living.broker.unreadable.add(topic)
    for name in ALL if how == "dead" else ():
        living.away(name, "dead")
        living.back(name)
    living.send("AB", "y", topic=f"t.{OTHER}")
    living.send("AB", "well")
    living.settle(700)
    troubles = [trouble for name in ALL for trouble in living.troubles(name)]
    assert troubles == [f"topic {topic} may not be read: grant READ on it, or remove its stream"]
    assert (living.pairs(), living.pairs(OTHER)) == (["well"], ["x"])
    living.broker.unreadable.clear()
    living.send("AB", "z", topic=f"t.{OTHER}")
    living.settle(700)
    assert living.pairs(OTHER) == ["x", "y", "z"]
    assert [living.troubles(name) for name in ALL] == [[], [], []]
    assert not any("ended" in one for one in living.world.history)


@pytest.mark.parametrize("topic", [f"t.{OTHER}", f"t.{OTHER}.windows", f"t.{OTHER}.admitted"])
def test_a_partition_without_a_leader_holds_up_its_stream_alone(tmp_path: Path, topic: str) -> None:
    """Whoever takes it over must not ask for more: a client waits for an answer, and all streams with it."""
    living = Living(tmp_path)
    living.send("AB", "x", topic=f"t.{OTHER}")
    living.settle(300)
    for name in ALL:
        living.away(name, "dead")
    living.broker.leaderless.add(TopicPartition(topic, 0))
    for name in ALL:
        living.back(name)
    living.send("AB", "well")
    living.settle(700)
    troubles = {trouble for name in ALL for trouble in living.troubles(name)}
    assert {trouble.partition(":")[0] for trouble in troubles} == {f"{topic}/0 has no leader"}
    assert (living.pairs(), living.pairs(OTHER)) == (["well"], ["x"])
    living.broker.leaderless.clear()
    living.send("AB", "y", topic=f"t.{OTHER}")
    living.settle(700)
    assert living.pairs(OTHER) == ["x", "y"]
    assert [living.troubles(name) for name in ALL] == [[], [], []]
    assert not any("ended" in one for one in living.world.history)


def test_results_that_their_topic_refuses_wait_and_come_once_it_is_mended(tmp_path: Path) -> None:
    living = Living(tmp_path)
    living.send("AB", "before")
    living.settle()
    as_made = living.broker.configs[TOPICS.complex_events]
    living.broker.configs[TOPICS.complex_events] = {**as_made, **SMALL}
    living.send("AB", "x", "y")
    living.settle(300)
    (trouble,) = living.troubles("matcher")
    assert TOPICS.complex_events in trouble
    living.broker.configs[TOPICS.complex_events] = as_made
    living.settle(300)
    assert living.pairs() == ["before", "x", "y"]
    assert living.troubles("matcher") == []
    assert not any("ended" in one for one in living.world.history)


def test_a_topic_made_anew_that_begins_again_in_time_is_read_once_its_stream_is(tmp_path: Path) -> None:
    living = Living(tmp_path)
    topic = f"t.{OTHER}"
    living.send("AB", "old0", "old1", topic=topic)
    living.settle()
    living.broker.delete(topic)
    living.settle(3)
    living.make_topic(topic, 1)
    living.send("AB", "new0", "new1", topic=topic, ts=5)
    living.settle(700)
    assert living.pairs(OTHER) == ["old0", "old1"], "late, for the old one was further on in time"
    living.begin_anew(OTHER)
    living.send("AB", "last", topic=topic)
    living.settle(300)
    assert living.pairs(OTHER) == ["old0", "old1", "new0", "new1", "last"]


@pytest.mark.parametrize("deleted", [False, True], ids=["left", "deleted"])
@pytest.mark.parametrize("number", [0, 1], ids=["windows", "admitted"])
@pytest.mark.parametrize("stream", INNER_OF)
def test_an_inner_topic_made_anew_is_no_trouble_once_its_stream_is(
    tmp_path: Path, stream: str, number: int, deleted: bool
) -> None:
    living = Living(tmp_path)
    topic, inner = f"t.{stream}", INNER_OF[stream][number]
    living.send("AB", "x", "y", topic=topic)
    living.settle()
    living.broker.delete(inner)
    living.broker.create(TopicSpec(inner, 1, {}))
    living.settle(700)
    living.begin_anew(stream, INNER_OF[stream] if deleted else ())
    living.send("AB", "z", topic=topic)
    living.settle(300)
    assert living.pairs(stream) == ["x", "y", "x", "y", "z"], "its topic is read from the first record that is there"
    records = living.world.read(TOPICS.complex_events, 0, committed_only=True)
    ids = [orjson.loads(record.value or b"")["id"] for record in records]
    comes_again = deleted and stream == OTHER
    assert (len(set(ids)) < len(ids)) is comes_again, "what is left tells generations apart; the default stream counts"
    assert [living.troubles(name) for name in ALL] == [[], [], []]


def test_a_group_that_is_gone_repeats_no_result(tmp_path: Path) -> None:
    living = Living(tmp_path)
    living.send("AB", "x", "y", "z")
    living.settle()
    before = living.pairs()
    living.away("matcher", "dead")
    living.broker.forget("t.matcher")
    for path in (tmp_path / "snapshots").rglob("*.snapshot"):
        path.unlink()
    living.back("matcher")
    living.send("AB", "more")
    living.settle(900)
    assert living.pairs() == [*before, "more"]
    assert len(blocks(living.world, TOPICS.windows, 0)) > 0
