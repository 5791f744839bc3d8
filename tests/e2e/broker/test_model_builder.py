"""The model builder on the real broker: observations in, models out; killed and started again, its totals are exact."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.features.feature_counts import WEIGHT
from saffron.engine.models.features.features import FeatureSpec
from saffron.engine.models.reader import AnyModel, ModelReader
from saffron.engine.models.transitions.latency import LatencySamples
from saffron.engine.models.transitions.model import LatencyModel, TransitionModel
from saffron.engine.models.transitions.observations import feature_messages, latency_message, transition_messages
from saffron.engine.models.transitions.transition_costs import TransitionCosts
from saffron.engine.shed.operator import ShedderOperator
from saffron.model_builder.books import Books
from saffron.model_builder.store import Store
from saffron.runtime.local import processes
from saffron.runtime.local.ports import free_ports
from saffron.runtime.log import Consumer, TopicPartition
from saffron.runtime.log.kafka.kafka_log import KafkaLog, connect
from saffron.runtime.log.topics import Topics, topic_specs
from saffron.runtime.process.config import Settings, environment_of

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

_PATIENCE = 120.0
_RUN = """
import sys
from saffron.model_builder.main import main
from saffron.runtime.process.config import load
sys.exit(main(load().settings))
"""
_POISON = (
    b"\xff\xfe no text",
    b"{}",
    b'{"query": "up", "transitions": [[1], [0, 99999999999999999999, 1, 1]], "processing": [[-5, 1, 1]]}',
    b'{"query": 5, "transitions": "x", "window": 7}',
    b"""{"query": "up", "query_version": 1, "stream": "events", "states": 3, "window": {"size": 100, "events": true},
    "events": 1, "lived": -7, "transitions": [[7, 0, 1], [0, 0, -4], [0, 0, 9000000000000000000], [0, 1]]}""",
)


SPEC = FeatureSpec(known=(("A",), ("B",)))
FEATURES = {
    "query": "up",
    "query_version": 1,
    "spec": SPEC.identity,
    "specification": SPEC.body(),
    "occurrences": {2**64 - 1: 30, 7: 10},
    "met": 80,
    "begun": {7: 4},
    "refusing": {2**64 - 1: 3},
    "matches": [[7, 2**64 - 1], [7, 7]],
    "weight": 2.0,
    "features": {2**64 - 1: [0, *(0 for _ in SPEC.fields[1:])], 7: [1, *(1 for _ in SPEC.fields[1:])]},
    "positions": [[0, 3, 1, 30]],
}


class Bench:
    """Topics of one test, the job as a process of its own, and what was sent."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.topics = Topics(settings.prefix)
        self.log: KafkaLog = connect(settings)
        self.log.create_topics(topic_specs(settings.prefix, 2))
        self.producer = self.log.producer()
        self.reader: Consumer = self.log.consumer(settings.group("test"), committed_only=True)
        self.reader.assign({TopicPartition(self.topics.models, 0): 0})
        self.store = Store(settings.data / "model-builder" / "checkpoint")
        self.models: list[tuple[AnyModel, bytes, bytes]] = []
        self.withdrawn: set[bytes] = set()
        self.parts = ModelReader()
        self.sent: dict[tuple[int, int], int] = {}
        self.times = TransitionCosts()
        self.events = 0
        self.child: subprocess.Popen[bytes] | None = None
        self.session: processes.ProcessId | None = None

    # ------------------------------------------------------------ the job

    def start(self) -> None:
        environment = {**os.environ, **environment_of(self.settings), "PYTHONPATH": os.pathsep.join(sys.path)}
        with (self.settings.data / "job.log").open("ab") as log:
            self.child = subprocess.Popen(
                [sys.executable, "-c", _RUN], env=environment, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self) -> None:
        """kill -9 of the Python process; its JVM must end by itself."""
        assert self.child is not None
        self.child.kill()
        self.child.wait()

    def end(self) -> int:
        """SIGTERM; the exit status."""
        assert self.child is not None
        self.child.send_signal(signal.SIGTERM)
        return self.child.wait(30)

    def close(self) -> None:
        if self.child is not None:
            if self.child.poll() is None:
                self.child.kill()
                self.child.wait()
            processes.end(processes.of_session(self.child.pid), 10.0)
        self.producer.close()
        self.reader.close()
        self.log.close()

    # ------------------------------------------------------------ in and out

    def observe(self, rounds: int, forward: int) -> None:
        """`rounds` commits of the matcher on both partitions; a partial match goes on in `forward` of 10 events."""
        for step in range(rounds):
            partition = step % 2
            rows = [self._row(0, 0, 10 - forward), self._row(0, 1, forward), self._row(1, 2, 5), self._row(1, -1, 5)]
            spent = 1_000 + step
            rows = [{**row, "nanoseconds": spent} for row in rows]
            self.times.add({(row["from"], row["to"]): row["count"] for row in rows}, spent)
            samples = LatencySamples()
            for n in (0, 10, 100, 1000):
                samples.processed(n, 10, 10 * (2_000 + 30 * n))
            for topic, messages in (
                (self.topics.observations_transitions, transition_messages(rows, stream="events", partition=partition)),
                (self.topics.observations_latency, [latency_message(samples.drain(), stream="events", partition=0)]),
                (self.topics.observations_features, feature_messages([FEATURES], stream="events", partition=partition)),
            ):
                for key, value in messages:
                    self.producer.send(topic, partition, value, key=key)
            self.events += 40
        self.producer.flush(10.0)

    def poison(self) -> None:
        for value in (*_POISON, None):
            self.producer.send(self.topics.observations_transitions, 0, value)
            self.producer.send(self.topics.observations_latency, 1, value)
            self.producer.send(self.topics.observations_features, 1, value)
        self.producer.flush(10.0)

    def until(self, what: str, reached: Callable[[], Any]) -> None:
        """Read models until `reached`; the reader's wait is the pace."""
        deadline = time.monotonic() + _PATIENCE
        while not reached():
            for record in self.reader.poll(100, 0.1):
                assert record.key is not None
                if record.value is None:
                    self.withdrawn.add(record.key)
                    continue
                model = self.parts.take(record.key, record.value)
                assert model is not None, "these are small enough for one part"
                self.models.append((model, record.key, record.value))
            words = (self.settings.data / "job.log").read_text("utf-8", "replace")[-3000:]
            assert self.child is None or self.child.poll() is None, f"the job ended:\n{words}"
            assert time.monotonic() < deadline, f"no {what} within {_PATIENCE:g} s; the job's last words:\n{words}"

    def newest(self, kind: type[AnyModel]) -> AnyModel | None:
        return next((model for model, _, _ in reversed(self.models) if isinstance(model, kind)), None)

    def all_learned(self) -> Books | None:
        """The books, once they hold every observation that was sent."""
        books = self.store.newest()
        topics = (
            self.topics.observations_transitions,
            self.topics.observations_latency,
            self.topics.observations_features,
        )
        wanted = {
            (topic, str(part)): self.reader.watermarks(TopicPartition(topic, part))[1]
            for topic in topics
            for part in (0, 1)
        }
        done = books is not None and all(
            books.offsets.get(topic, {}).get(part) == high for (topic, part), high in wanted.items()
        )
        return books if done else None

    def page(self, name: str) -> str:
        """What the job's health server answers."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.settings.metrics_port}/{name}", timeout=5) as answer:
            return str(answer.read().decode())

    def said(self, name: str) -> str:
        """The same, before it is ready or even there."""
        try:
            return self.page(name)
        except urllib.error.URLError as error:
            return str(error.read().decode()) if isinstance(error, urllib.error.HTTPError) else ""

    def _row(self, source: int, target: int, count: int) -> dict[str, Any]:
        self.sent[source, target] = self.sent.get((source, target), 0) + count
        window = {"size": 100, "events": True}
        body = {"query": "up", "query_version": 1, "states": 3, "window": window, "events": 40, "lived": 0}
        return {**body, "from": source, "to": target, "count": count}


@pytest.fixture
def bench(broker: str, prefix: str, tmp_path: Path) -> Iterator[Bench]:
    (port,) = free_ports(1)
    settings = Settings(data=tmp_path, bootstrap=broker, prefix=prefix, metrics_port=port, model_interval_ms=300)
    bench = Bench(settings)
    try:
        yield bench
    finally:
        bench.close()


def test_models_are_exact_after_kills_and_their_versions_never_go_back(bench: Bench) -> None:
    bench.observe(100, forward=2)
    bench.poison()
    bench.start()
    kinds: tuple[type[AnyModel], ...] = (TransitionModel, LatencyModel, EventModel)
    bench.until("first models", lambda: all(bench.newest(kind) for kind in kinds))
    first = bench.newest(TransitionModel)
    assert isinstance(first, TransitionModel)
    assert first.matrix[0].tolist() == pytest.approx([0.8, 0.2, 0])
    begun = bench.store.newest()
    assert begun is not None
    poisoned = begun.refused
    assert poisoned > 0

    bench.observe(150, forward=8)  # read by a batch while it is killed
    bench.until("next batch", lambda: (books := bench.store.newest()) is not None and books.batch > first.version[1])
    bench.kill()
    bench.observe(150, forward=5)
    bench.start()
    bench.until("last observation", bench.all_learned)

    books = bench.all_learned()
    assert books is not None
    counts = books.queries["up"].counts
    assert counts.cells == bench.sent
    assert counts.costs == bench.times
    # the poison's message with a sound head counts its event, too
    assert counts.events == bench.events + 2
    assert sum(events for events, _, _ in books.streams["events"].processing.values()) == 400 * 40
    halves = books.features.held["up"].counts.halves
    sums = {
        "occurrences of 7": sum(half.occurrences[7] for half in halves),
        "other occurrences": sum(half.occurrences[2**64 - 1] for half in halves),
        "met": sum(half.met for half in halves),
        "begun": sum(half.begun[7] for half in halves),
        "refusing": sum(half.refusing[2**64 - 1] for half in halves),
        "refused": books.refused,
    }
    assert sums == {
        "occurrences of 7": 400 * 10,
        "other occurrences": 400 * 30,
        "met": 400 * 80,
        "begun": 400 * 4 * WEIGHT,
        "refusing": 400 * 3,
        "refused": poisoned,
    }, books.offsets
    assert all(half.contributions[7] == 3 * half.contributions[2**64 - 1] > 0 for half in halves)
    check_what_is_published(bench)
    check_the_outside(bench)
    check_removal(bench)
    assert bench.end() == 0
    assert bench.child is not None
    assert not processes.of_session(bench.child.pid)


def test_told_to_end_while_spark_starts_it_ends_at_once(bench: Bench) -> None:
    bench.start()
    bench.until("word of the start", lambda: "starting Spark" in bench.said("readyz"))
    assert bench.end() == 0
    assert bench.child is not None
    assert not processes.of_session(bench.child.pid)


def check_what_is_published(bench: Bench) -> None:
    """In the order of the log: versions only rise, the same version is the same bytes, and a shedder takes them."""
    bench.until("a model of the second run", lambda: bench.models[-1][0].version[1] > 1)
    seen: dict[bytes, tuple[tuple[int, int], bytes]] = {}
    shedder = ShedderOperator(0, "events")
    for offset, (model, key, value) in enumerate(bench.models):
        version, before = seen.get(key, ((-1, -1), b""))
        assert model.version > version or (model.version == version and value == before)
        seen[key] = (model.version, value)
        assert shedder.offer(key, value, offset) is None
    assert len({model.version[0] for model, _, _ in bench.models}) == 1
    worth = bench.newest(EventModel)
    assert isinstance(worth, EventModel)
    assert worth.spec == SPEC
    functions = bench.newest(LatencyModel)
    assert isinstance(functions, LatencyModel)
    assert functions.processing is not None
    assert functions.processing.shape == "linear"
    assert functions.processing(500) == pytest.approx(2_000 + 30 * 500, rel=0.05)


def check_the_outside(bench: Bench) -> None:
    """Ready, with its model's version, and metrics that Prometheus can read."""
    bench.until("lag of 0", lambda: "\nsaffron_model_offsets_behind 0.0\n" in bench.page("metrics"))
    metrics = bench.page("metrics")
    assert "\nsaffron_model_input_rows_per_second " in metrics
    assert '\nsaffron_model_version{part="batch",query="up"} ' in metrics
    assert orjson.loads(bench.page("readyz"))["ready"]

    def told() -> bool:
        newest = bench.newest(TransitionModel)
        return newest is not None and orjson.loads(bench.page("readyz"))["model up"] == list(newest.version)

    bench.until("model of the version that the page tells", told)


def check_removal(bench: Bench) -> None:
    """Models of a removed query are withdrawn, and only those."""
    assert not bench.withdrawn
    bench.producer.send(bench.topics.queries, 0, None, key=b"up")
    bench.producer.flush(10.0)
    bench.until("withdrawal", lambda: len(bench.withdrawn) > 1)
    assert bench.withdrawn == {b"up/transitions", b"up/events"}
    bench.until("word of it", lambda: orjson.loads(bench.page("readyz"))["model up"] == "withdrawn")
