from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from saffron.runtime.log import TopicSpec, TopicState
from saffron.runtime.log.topic_watch import TopicWatch
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog


class Looked(MemoryLog):
    """A log that counts how often it is asked for topics."""

    asked = 0

    def describe(self, topics: Sequence[str]) -> dict[str, TopicState]:
        self.asked += 1
        return dict(super().describe(topics))


def made(broker: MemoryBroker, topic: str) -> None:
    broker.create(TopicSpec(topic, 1, {}))


@pytest.mark.parametrize("seed", range(20))
def test_no_record_of_a_new_topic_is_taken_before_it_is_known_as_one(seed: int) -> None:
    draw = random.Random(seed)
    broker, topics = MemoryBroker(lambda: 0), ["a", "b"]
    for topic in topics:
        made(broker, topic)
    watch, now = TopicWatch(MemoryLog(broker), sources=True), 0.0
    changed, due, ready = 0, set[str](), dict.fromkeys(topics, 0.0)
    for _ in range(400):
        now += draw.choice((1, 5, 30, 51, 200, 990))
        if draw.random() < 0.8:
            due -= set(watch.step(int(now), topics))
        topic = draw.choice(topics)
        if draw.random() < 0.2:
            broker.delete(topic)
            made(broker, topic)
            due.add(topic)
            changed, ready[topic] = changed + 1, now + 51
        for topic in draw.sample(topics, draw.randrange(3)):
            if ready[topic] <= now:
                due -= set(watch.arrived(now, [topic]))
                assert topic not in due
    assert changed > 40


@pytest.mark.parametrize(("every_ms", "wanted"), [(5, 1), (49, 1), (51, 20), (400, 3)])
def test_a_slow_stream_costs_at_most_20_requests_a_second(every_ms: int, wanted: int) -> None:
    broker = MemoryBroker(lambda: 0)
    made(broker, "a")
    log = Looked(broker)
    watch = TopicWatch(log, sources=True)
    for now in range(0, 1_000, every_ms):
        watch.step(now, ["a"])
        watch.arrived(now, ["a"])
    assert log.asked == pytest.approx(wanted, abs=1)


def test_inner_topics_are_checked_at_intervals_only() -> None:
    broker = MemoryBroker(lambda: 0)
    made(broker, "a")
    watch = TopicWatch(MemoryLog(broker))
    watch.step(0, ["a"])
    broker.delete("a")
    made(broker, "a")
    assert watch.arrived(90, ["a"]) == []
    assert watch.step(100, ["a"]) == []
    assert watch.step(201, ["a"]) == ["a"], "the process may have been stopped"
