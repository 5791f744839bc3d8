"""Followers of the control topics: which unreadable messages they report."""

from __future__ import annotations

from saffron.records.query import QueryRecord
from saffron.runtime.log import TopicSpec
from saffron.runtime.log.topics import Topics
from saffron.runtime.streams.control_topics import follow_queries, reporter
from saffron.runtime.telemetry.metric_names import UNREADABLE_RECORDS
from saffron.runtime.telemetry.metrics import Metrics
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

TOPICS = Topics("t.")
GOOD = QueryRecord("healed", 2, "add", "QUERY healed PATTERN A a WITHIN 1 second").encode()


def test_a_start_reports_what_is_still_unreadable_and_not_what_has_been_replaced() -> None:
    broker, metrics = MemoryBroker(lambda: 0), Metrics()
    broker.create(TopicSpec(TOPICS.queries, 1, {}))
    log = MemoryLog(broker)
    producer = log.producer()
    for key, value in ((b"healed", b"[broken"), (b"broken", b"[broken"), (b"healed", GOOD)):
        producer.send(TOPICS.queries, 0, value, key=key)
    queries = follow_queries(log, TOPICS, reporter(metrics, *TOPICS.control))
    assert metrics.value(UNREADABLE_RECORDS, TOPICS.queries) == 0
    while not queries.caught_up:
        queries.step()
    assert metrics.value(UNREADABLE_RECORDS, TOPICS.queries) == 1
    producer.send(TOPICS.queries, 0, b"[broken", key=b"healed")
    for _ in range(3):
        queries.step()
    assert metrics.value(UNREADABLE_RECORDS, TOPICS.queries) == 2


def test_the_count_of_each_topic_begins_at_0() -> None:
    metrics = Metrics()
    reporter(metrics, *TOPICS.control)
    for topic in TOPICS.control:
        assert f'saffron_unreadable_records_total{{topic="{topic}"}} 0.0' in metrics.text().decode()
