from __future__ import annotations

from saffron.control.streams.stream_partitions import PartitionCounts, count_partitions
from saffron.errors import UnavailableError
from saffron.records.stream import StreamRecord
from saffron.runtime.log import TopicSpec
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

ONE = {"events": StreamRecord("events", "p.events")}
TWO = ONE | {"trades": StreamRecord("trades", "p.trades")}


def log() -> MemoryLog:
    log = MemoryLog(MemoryBroker(lambda: 0))
    log.create_topics([TopicSpec("p.events", 3, {})])
    return log


def test_a_stream_without_a_topic_has_no_number() -> None:
    assert count_partitions(log(), TWO) == {"events": 3}


def test_counts_are_asked_for_again_after_a_while_and_for_other_streams() -> None:
    made = log()
    counts = PartitionCounts(made)
    assert counts.look(ONE, 50_000) == {"events": 3}
    made.add_partitions("p.events", 4)
    assert counts.look(ONE, 59_999) == {"events": 3}
    assert counts.look(ONE, 60_000) == {"events": 4}
    made.create_topics([TopicSpec("p.trades", 2, {})])
    assert counts.look(TWO, 60_001) == {"events": 4, "trades": 2}
    made.add_partitions("p.events", 5)
    assert counts.look(TWO, 59_000) == {"events": 5, "trades": 2}, "the clock was set back"


def test_the_last_counts_stay_where_no_broker_answers() -> None:
    made = log()
    counts = PartitionCounts(made)
    counts.look(ONE, 50_000)
    made.inject("metadata", UnavailableError("no broker answers"), after=False)
    assert counts.look(ONE, 70_000) == {"events": 3}
