"""Topics that cannot be read or written hold up their stream alone: rights, settings, partitions without a leader."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from saffron.errors import DeniedError, UnavailableError
from saffron.runtime.log import TopicPartition
from tests.e2e.simulated.system import TOPICS
from tests.e2e.simulated.topics.living import OTHER, PAIR, Living
from tests.memory.memory_log import MemoryLog, MemoryProducer

ALL = ("windowing", "shedder", "matcher")
COMPACT, SMALL = {"cleanup.policy": "compact"}, {"max.message.bytes": "20"}


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


@pytest.mark.parametrize("topic", [TOPICS.load, TOPICS.health])
def test_load_reports_and_digests_that_their_topic_refuses_end_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, topic: str
) -> None:
    living = Living(tmp_path)
    living.send("AB", "before")
    living.settle(300)
    living.broker.unwritable.add(topic)
    for key in ("x", "y"):
        living.send("AB", key)
        living.settle(700)
    assert living.pairs() == ["before", "x", "y"]
    assert not any("ended" in one for one in living.world.history)
    told = [record.name for record in caplog.records if "is left out" in record.getMessage()]
    assert len(told) == (2 if topic == TOPICS.load else 4), "each of the services once"


def test_a_status_that_was_lost_is_written_by_a_service_that_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    living = Living(tmp_path)
    living.send("AB", "before")
    living.settle(300)
    lost: list[str] = []

    def check(self: MemoryProducer, doing: str) -> None:
        if doing == "sending to control topics" and len(lost) < 3:
            lost.append(doing)
            raise UnavailableError("a message was lost")

    monkeypatch.setattr(MemoryProducer, "check", check)
    living.settle(300)
    for name in ("windowing", "matcher", "greta"):
        assert any(f"{name} ended: UnavailableError a message was lost" in one for one in living.world.history)
    living.send("AB", "x")
    living.settle(700)
    assert living.pairs() == ["before", "x"]


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


def test_results_whose_topic_is_gone_wait_and_come_once_it_is_there(tmp_path: Path) -> None:
    living = Living(tmp_path)
    living.send("AB", "before")
    living.settle()
    living.broker.delete(TOPICS.complex_events)
    living.send("AB", "x", "y")
    living.settle(300)
    (trouble,) = living.troubles("matcher")
    assert trouble.startswith(f"topic {TOPICS.complex_events} is not there: ")
    living.make_again(TOPICS.complex_events)
    living.settle(700)
    assert living.pairs() == ["x", "y"], "those before went with the topic"
    assert living.troubles("matcher") == []
    assert not any("ended" in one for one in living.world.history)


@pytest.mark.parametrize("how", ["gone", "denied", "for small messages only"])
def test_dead_letters_that_cannot_be_written_hold_up_their_partition_alone(tmp_path: Path, how: str) -> None:
    living = Living(tmp_path)
    letters, topic = TOPICS.dead_letters, f"t.{OTHER}"
    as_made = living.broker.configs[letters]
    if how == "gone":
        living.broker.delete(letters)
    elif how == "denied":
        living.broker.unwritable.add(letters)
    else:
        living.broker.configs[letters] = {**as_made, **SMALL}
    living.producer.send(topic, 0, b"{broken", timestamp=living.world.now)
    living.send("AB", "x", topic=topic)
    living.settle(300)
    living.send("AB", "well")
    living.settle(300)
    assert (living.pairs(), living.pairs(OTHER)) == (["well"], [])
    (trouble,) = living.troubles("windowing")
    assert letters in trouble
    if how == "gone":
        living.make_again(letters)
    living.broker.configs[letters] = as_made
    living.broker.unwritable.clear()
    living.settle(700)
    assert living.pairs(OTHER) == ["x"]
    assert living.troubles("windowing") == []
    assert not any("ended" in one for one in living.world.history)
    (letter,) = living.world.read(letters, 0, committed_only=True)
    assert orjson.loads(letter.value or b"")["reason"] == "not-json"


@pytest.mark.parametrize("topic", [TOPICS.events, f"t.{OTHER}"])
def test_a_stream_that_would_write_the_topic_of_another_one_writes_nothing(tmp_path: Path, topic: str) -> None:
    """The command refuses such a stream; a record may say it all the same. Of its own source it would make no end."""
    living = Living(tmp_path)
    living.stream("loop", topic, **{"from": "events"})
    living.send("AB", "x", "y")
    living.settle(300)
    assert len(living.broker.topics[topic][0].entries) == (4 if topic == TOPICS.events else 0)
    (trouble,) = living.troubles("windowing")
    assert trouble.startswith(f"stream loop would write topic {topic}, which is stream ")
    living.others_go_on()
    living.put(TOPICS.streams, "loop", None)
    living.settle()
    assert living.pairs() == ["x", "y"]
    assert living.troubles("windowing") == []
