"""A control topic that was deleted and made again is read from its first record: the process begins anew."""

from __future__ import annotations

import pytest

from saffron.errors import LogError
from saffron.runtime.log.control_watch import FOLLOWED, ControlWatch
from saffron.runtime.log.topics import Topics, topic_files, topic_specs
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

TOPICS = Topics("t.")


@pytest.mark.parametrize("topic", [TOPICS.streams, TOPICS.queries, TOPICS.query_status, TOPICS.models])
def test_a_topic_made_anew_is_an_error_once_it_is_there_again(topic: str) -> None:
    broker = MemoryBroker(lambda: 0)
    specs = {one.name: one for one in topic_specs("t.", 1)}
    for spec in specs.values():
        broker.create(spec)
    watch = ControlWatch(MemoryLog(broker), TOPICS, "control")
    steps(watch, 0)
    broker.delete(topic)
    steps(watch, 20_000)
    broker.create(specs[topic])
    with pytest.raises(LogError, match=f"made anew, and read again from the first record: {topic}$"):
        steps(watch, 40_000)
    ControlWatch(MemoryLog(broker), TOPICS, "control").step(60_000)


def test_a_service_looks_at_what_it_may_read() -> None:
    for service, followed in FOLLOWED.items():
        own = {one.topic for one in topic_files().values() if service in one.consumers}
        assert {topic.removeprefix("t.") for topic in followed(TOPICS)} == own & {
            topic.removeprefix("t.") for topic in FOLLOWED["control"](TOPICS)
        }


def steps(watch: ControlWatch, begin: int) -> None:
    for now in range(begin, begin + 12_000, 50):
        watch.step(now)
