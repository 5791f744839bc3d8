"""Retention takes records that nobody has read yet, or what a stream is taken up from."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from saffron.errors import BEGIN_ANEW
from saffron.runtime.log import TopicPartition
from saffron.runtime.telemetry.metric_names import LOST_OFFSETS
from tests.e2e.simulated.system import TOPICS
from tests.e2e.simulated.topics.living import OTHER, Living

INNER = (TOPICS.windows_of(OTHER), TOPICS.admitted_of(OTHER))
ALL = ("windowing", "shedder", "matcher")
DAY = 86_400_000


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
    assert fix == BEGIN_ANEW
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
    assert fix == BEGIN_ANEW
    living.begin_anew(OTHER)
    assert living.pairs(OTHER) == ["x", "x", "y", "z"]
    assert living.troubles("shedder") == []
