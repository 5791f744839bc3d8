"""The control service on the real broker: Faust's tables, the API, results as readers may see them, restarts."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest

from saffron.records.status import QueryStatus
from saffron.runtime.local.broker import Broker
from saffron.runtime.local.ports import free_ports
from saffron.runtime.log import TopicPartition
from saffron.runtime.log.kafka.kafka_log import connect
from saffron.runtime.log.topics import Topics, topic_specs
from saffron.runtime.process.config import Settings, environment_of

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

_PATIENCE = 60.0
_RUN = """
import sys
from saffron.control.main import main
from saffron.runtime.process.config import load
sys.exit(main(load().settings))
"""
TEXT = "QUERY {name} PATTERN SEQ(Stock+ a[], Stock b) WHERE [symbol] AND b.price < a[last].price WITHIN 1 hour"
WRONG = "PATTERN SEQ(Stock a, Stock b) WHERE b.price < WITHIN 1 hour"


class System:
    """One control process over topics of its own."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.topics = Topics(settings.prefix)
        self.log = connect(settings)
        self.log.create_topics(topic_specs(settings.prefix, 1))
        self.producer = self.log.producer()
        self.child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = {**os.environ, **environment_of(self.settings), "PYTHONPATH": os.pathsep.join(sys.path)}
        with (self.settings.data / "control.log").open("ab") as log:
            self.child = subprocess.Popen([sys.executable, "-c", _RUN], env=environment, stdout=log, stderr=log)
        self.until("readiness", lambda: self.ask("GET", "/readyz")[0] == 200)

    def end(self, number: int) -> int:
        """Send a signal; the exit status."""
        assert self.child is not None
        self.child.send_signal(number)
        return self.child.wait(20)

    def close(self) -> None:
        if self.child is not None and self.child.poll() is None:
            self.end(signal.SIGKILL)
        self.producer.close()
        self.log.close()

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """(status, JSON) of a request; (0, None) when nobody listens."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.settings.control_port}{path}",
            method=method,
            data=None if body is None else orjson.dumps(body),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, orjson.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, orjson.loads(error.read())
        except OSError:
            return 0, None

    def until(self, what: str, reached: Callable[[], Any]) -> None:
        """Until `reached`; the wait for an end of the process, which would be an error, is the pace."""
        assert self.child is not None
        deadline = time.monotonic() + _PATIENCE
        while not reached():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.child.wait(0.05)
            words = (self.settings.data / "control.log").read_text("utf-8", "replace")[-3000:]
            assert self.child.poll() is None, f"control ended while waiting for {what}:\n{words}"
            assert time.monotonic() < deadline, f"no {what} within {_PATIENCE:g} s; last words:\n{words}"

    def put(self, topic: str, key: bytes, value: Any) -> None:
        self.producer.send(topic, 0, None if value is None else orjson.dumps(value), key=key)
        self.producer.flush(10.0)

    def status(self, name: str, service: str, partition: int | None, state: str, reason: str | None = None) -> None:
        status = QueryStatus(name, 1, service, "events", partition, state, reason, 7)
        self.put(self.topics.query_status, status.key.encode(), status.body())

    def states(self) -> dict[str, str]:
        _, found = self.ask("GET", "/api/queries")
        return {one["name"]: one["state"] for one in found["queries"]}

    def messages(self, topic: str) -> list[tuple[bytes | None, Any]]:
        """All that stands in a topic."""
        place = TopicPartition(topic, 0)
        reader = self.log.consumer(self.settings.group("test"), committed_only=True)
        try:
            reader.assign({place: 0})
            found = []
            while not reader.at_end(place):
                found += [(one.key, one.value and orjson.loads(one.value)) for one in reader.poll(100, 0.5)]
            return found
        finally:
            reader.close()


@pytest.fixture(scope="module")
def system(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    control_port, metrics_port = free_ports(2)
    data = tmp_path_factory.mktemp("control")
    settings = Settings(data=data, snapshots=data, bootstrap=broker, prefix="control-e2e.")
    system = System(replace(settings, control_port=control_port, metrics_port=metrics_port))
    try:
        system.start()
        yield system
    finally:
        system.close()


def test_a_query_is_added_and_its_state_followed(system: System) -> None:
    text = TEXT.format(name="rally")
    status, added = system.ask("POST", "/api/queries", {"text": text})
    assert (status, added["state"]) == (201, "pending")
    row = {"record": 1, "name": "rally", "version": 1, "op": "add", "text": text, "from": "now", "shed": "auto"}
    assert (b"rally", row) in system.messages(system.topics.queries)
    system.status("rally", "matcher", None, "ready")
    system.until("taking up", lambda: system.states()["rally"] == "starting")
    system.status("rally", "windowing", 0, "active")
    system.until("activation", lambda: system.states()["rally"] == "active")
    status, shown = system.ask("GET", "/api/queries/rally")
    assert (status, shown["plan"]["kind"]) == (200, "match")
    assert [one["service"] for one in shown["services"]] == ["matcher", "windowing"]


def test_a_wrong_query_is_refused_before_the_topic_and_shown_when_it_gets_there(system: System) -> None:
    status, refused = system.ask("POST", "/api/queries", {"text": WRONG, "name": "wrong"})
    assert status == 400
    assert "^" in refused["error"]["text"]
    assert b"wrong" not in [key for key, _ in system.messages(system.topics.queries)]
    row = {"name": "wrong", "version": 1, "op": "add", "text": WRONG, "from": "now"}
    system.put(system.topics.queries, b"wrong", row)
    system.put(system.topics.queries, b"torn", "not an object")
    system.status("wrong", "matcher", None, "rejected", refused["error"]["text"])
    system.until("rejection", lambda: system.states().get("wrong") == "rejected")
    assert system.ask("GET", "/api/live")[1]["problems"][0]["key"] == "torn"
    assert system.ask("DELETE", "/api/queries/wrong")[0] == 200
    assert (b"wrong", None) in system.messages(system.topics.queries)


def test_results_are_shown_once_committed(system: System) -> None:
    writer = system.log.producer("control-e2e.writer")
    try:
        writer.begin()
        writer.send(system.topics.complex_events, 0, orjson.dumps({"id": "1", "query": "rally", "detected_at": 1}))
        writer.commit()
        writer.begin()
        writer.send(system.topics.trends, 0, orjson.dumps({"id": "2", "query": "downtrends", "detected_at": 2}))
        writer.flush(10.0)
        assert [one["id"] for one in system.ask("GET", "/api/results")[1]["results"]] == ["1"]
        writer.commit()
        system.until("results", lambda: len(system.ask("GET", "/api/results")[1]["results"]) == 2)
    finally:
        writer.close()


def test_digests_make_the_live_numbers(system: System) -> None:
    now = time.time_ns() // 1_000_000
    digest = {"stream": "events", "partition": 0, "at": now, "interval_ms": 1000, "events": 5000, "results": 40}
    more = {"latency_ms": {"p50": 20.0, "p99": 45.0}, "partial_matches": 12, "watermark": 1, "lag": 0}
    for service in ("windowing", "matcher"):
        system.put(system.topics.health, service.encode(), {"service": service, **digest, **more})
    system.until("digests", lambda: len(system.ask("GET", "/api/live")[1]["services"]) == 2)
    live = system.ask("GET", "/api/live")[1]
    assert (live["events_per_second"], live["latency_ms"], live["partial_matches"]) == (
        5000.0,
        {"p50": 20.0, "p99": 45.0},
        12,
    )


def test_killed_and_started_again_it_knows_all_that_it_knew(system: System) -> None:
    assert system.ask("POST", "/api/queries", {"text": TEXT.format(name="late")})[0] == 201
    before = without_times(system.ask("GET", "/api/queries")[1])
    system.end(signal.SIGKILL)
    assert system.ask("GET", "/healthz") == (0, None)
    system.start()
    assert without_times(system.ask("GET", "/api/queries")[1]) == before


def without_times(listed: Any) -> list[dict[str, Any]]:
    """The writer takes its own clock until it has read the message back, with the broker's time."""
    return [{**one, "changed_at": None} for one in listed["queries"]]


def test_it_outlives_a_restart_of_the_broker(system: System, broker_node: Broker) -> None:
    broker_node.kill()
    assert system.ask("GET", "/healthz")[0] == 200
    broker_node.start()
    system.put(
        system.topics.queries, b"direct", {"name": "direct", "version": 1, "op": "add", "text": "x", "from": "now"}
    )
    system.until("the table to go on", lambda: "direct" in system.states())
    found = system.ask("POST", "/api/queries/direct/pause")
    assert found[0] == 200, found


def test_it_ends_in_good_order_even_without_a_broker(system: System, broker_node: Broker) -> None:
    broker_node.kill()
    try:
        assert system.end(signal.SIGTERM) == 0
    finally:
        broker_node.start()
