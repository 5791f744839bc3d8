"""Topics as they live, on the in-memory log: made anew, grown, gone; and what becomes of results.

The same cases on a broker: `broker/test_topics.py`. What retention takes: `test_retention.py`. What may not be read or
written: `test_refusing.py`.
"""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from saffron.runtime.log import TopicSpec
from saffron.runtime.log.topics import stream_topics
from saffron.runtime.telemetry.metric_names import INPUT_INCIDENTS, STREAMS_STANDING
from tests.e2e.simulated.system import TOPICS
from tests.e2e.simulated.topics.living import OTHER, PAIR, Living

INNER = (TOPICS.windows_of(OTHER), TOPICS.admitted_of(OTHER))
INNER_OF = {OTHER: INNER, "events": (TOPICS.windows, TOPICS.admitted)}
ALL = ("windowing", "shedder", "matcher")


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


@pytest.mark.parametrize("how", ["dead", "there"])
def test_what_happened_to_a_quiet_topic_is_noticed_once(tmp_path: Path, how: str) -> None:
    living = Living(tmp_path)
    living.send("A", "x")
    living.settle()
    if how == "dead":
        living.away("windowing", "dead")
    living.broker.add_partitions(TOPICS.events, 2)
    living.back("windowing")
    living.settle(700)
    (grown,) = living.at_of("windowing")
    living.away("windowing", "dead")
    living.back("windowing")
    living.settle(700)
    assert living.at_of("windowing") == [grown], "no event came meanwhile"
    assert living.metrics["windowing"].value(INPUT_INCIDENTS, TOPICS.events, "0", "grown") <= 1
    living.others_go_on()


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
    assert len(living.world.blocks(TOPICS.windows, 0)) > 0
