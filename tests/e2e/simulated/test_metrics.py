"""Every metric that is declared is filled: by the services that the table here names, and with numbers that can be."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from saffron.engine.models.transitions.ages import AGES
from saffron.engine.models.transitions.latency import LatencyFunction
from saffron.engine.models.transitions.model import LatencyModel, TransitionModel
from saffron.engine.windows.dead_letters import REASONS
from saffron.model_builder.batch import BatchResult
from saffron.model_builder.job import Job, Progress
from saffron.model_builder.reporter import Reporter
from saffron.runtime import service as frame
from saffron.runtime.log.kafka.consumer import Waiting
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.process.clock_watch import ClockWatch
from saffron.runtime.results.large_results import REASON as TOO_LARGE
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metric_kinds import Counter
from saffron.runtime.telemetry.metric_names import (
    BUSY,
    COMPLEX_EVENTS,
    DETECTION_LATENCY,
    EVENTS_APPLIED,
    METRICS,
    MODEL_BATCHES,
    OVERDUE_RESULTS,
    TRENDS,
)
from saffron.runtime.telemetry.metrics import Metrics
from tests.e2e.simulated.system import ANY, FALLS, RALLY, RESULT_BYTES, TOPICS, Source, at_rest, close, makers, settings
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.world import NO_CHAOS, World
from tests.unit.windowing.test_routing import System

_READERS = {
    "backpressure_ratio",
    "input_incidents",
    "kafka_client_consumer_lag",
    "lost_offsets",
    "rebalances",
    "stage_latency_seconds",
    "streams_standing",
    "unreadable_records",
}
_RESULTS = {
    *_READERS,
    "dead_letters",
    "detection_latency_seconds",
    "events_applied",
    "latency_bound_seconds",
    "overdue_results",
    "partial_matches",
    "snapshot_age_seconds",
    "snapshot_duration_seconds",
    "state_bytes",
    "transaction_aborts",
    "watermark_seconds",
}
FILLED: Mapping[str, set[str]] = {
    "windowing": {
        *_READERS,
        "blocks",
        "dead_letters",
        "event_time_lag_seconds",
        "events_in",
        "late_by_silence",
        "late_events",
        "left_out_values",
        "mistyped_values",
        "times_in_seconds",
        "watermark_seconds",
    },
    "shedder": {
        *_READERS,
        "blocks",
        "events_in",
        "estimated_false_ratio",
        "estimated_loss_ratio",
        "estimated_matches",
        "events_in_flight",
        "model_belief",
        "model_version",
        "overload_decision",
        "overload_processing_seconds",
        "overload_shedding_seconds",
        "queueing_latency_seconds",
        "shed_events",
    },
    "matcher": {*_RESULTS, "complex_events", "shed_partial_matches", "shed_utility"},
    "greta": {*_RESULTS, "trends"},
    "router": {
        "filtered_messages",
        "messages_without_array",
        "route_lag",
        "route_watermark_seconds",
        "routed_events",
        "routes_waiting",
        "table_misses",
        "transaction_aborts",
    },
    "model_builder": {
        "kafka_client_consumer_lag",
        "model_age_seconds",
        "model_batches",
        "model_input_refused",
        "model_input_rows_per_second",
        "model_offsets_behind",
        "model_version",
        "restarts",
    },
    "frame": {"busy_ratio"},
    "of tables": {"table_bad_rows", "table_bytes", "table_rows"},
    "of a silent stream": {"silence_seconds"},
    "of what goes wrong": {"query_failed"},
}
DAY_MS = 86_400_000
LATENCY = LatencyModel("events", (1, 1), LatencyFunction("constant", 3e6, 0.0, 1.0), None, 9, {})
TRANSITIONS = TransitionModel(
    query="any",
    query_version=1,
    version=(1, 1),
    states=4,
    window_size=6_000,
    window_events=False,
    expected_events=10.0,
    bin_size=10,
    matrix=np.eye(4),
    completion=np.array([[0.0, 0.25, 0.5, 1.0]]),
    matches=np.zeros((0, 4)),
    remaining_ns=np.zeros((0, 4)),
    met=(6, 3, 0, 0),
    lift=np.zeros((0, AGES)),
    seen=np.zeros((0, AGES)),
    observations=9,
    trained_through={},
)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Metrics]:
    """The metrics of the four services after a quiet life: events, queries of both kinds, a model, an order."""
    folder = tmp_path_factory.mktemp("life")
    metrics = {name: Metrics() for name in ("windowing", "shedder", "matcher", "greta")}
    world = World(5, folder / "snapshots", NO_CHAOS)
    world.topics(*topic_specs("t.", 1))
    for name, make in makers(replace(settings(folder, 1), result_bytes=RESULT_BYTES), metrics.__getitem__).items():
        world.add(name, make)
    source = Source(world, 1, random.Random(5))
    for name, text in (("rally", RALLY), ("any", ANY), ("falls", FALLS)):
        source.query(name, text)
    producer = MemoryLog(world.broker).producer()
    for model in (LATENCY, TRANSITIONS):
        producer.send(TOPICS.models, 0, model.encode(), key=model.key)
    turns = itertools.count()
    world.run(1200, lambda: live(source, next(turns)))
    close(world, 1)
    world.settle(lambda: at_rest(world, 1))
    tell(world)
    return metrics


def tell(world: World) -> None:
    """One more digest of everybody."""
    for _ in range(30):
        world.now += 50
        for process in world.processes:
            assert process.service is not None
            process.service.step(world.now)


def live(source: Source, turn: int) -> None:
    if turn % 12 == 0:
        source.events(4)
    if turn % 300 == 250:
        source.order("any", 1)


def samples(metrics: Metrics) -> list[Sample]:
    families = text_string_to_metric_families(metrics.text().decode())
    return [sample for family in families for sample in family.samples]


def filled(metrics: Metrics) -> set[str]:
    """Names, as declared and without prefix, of what has a series."""
    shown = {sample.name for sample in samples(metrics)}
    ends = {one.name: "_total" if isinstance(one, Counter) else "" for one in METRICS}
    names = {name for name, end in ends.items() if {f"{name}{end}", f"{name}_count"} & shown}
    return {name.removeprefix("saffron_") for name in names}


@pytest.mark.parametrize("service", ["windowing", "shedder", "matcher", "greta"])
def test_each_service_fills_its_metrics(service: str, lived: dict[str, Metrics]) -> None:
    assert filled(lived[service]) == FILLED[service]


def test_routes_fill_their_metrics(tmp_path: Path) -> None:
    system = System(1, tmp_path, NO_CHAOS, members=1)
    system.send(0, 1_000_000, "tech")
    system.world.settle(lambda: len(system.routed()) == 1)
    system.tell()
    assert filled(system.metrics) >= FILLED["router"]


def test_the_model_builder_fills_its_metrics() -> None:
    metrics = Metrics()
    reporter = Reporter(Health("test"), metrics, "t.model-builder")
    reporter.done(BatchResult(1, (LATENCY,), 5, 2))
    progress = Progress(1, 2.5, 3, {("t.observations.latency", "0"): 3})
    reporter.refresh(cast("Job", SimpleNamespace(progress=lambda: progress)))
    assert filled(metrics) == FILLED["model_builder"]
    reporter.done(BatchResult(2, (), 0, 0))
    assert metrics.value(MODEL_BATCHES) == 1, "a batch of nothing teaches nothing"


def test_the_frame_of_a_service_measures_how_busy_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, waiting = itertools.count(), Waiting()
    times = itertools.count()
    stop = SimpleNamespace(requested=False)

    def step(now_ms: int, wait: float) -> bool:
        stop.requested = next(steps) == 8
        waiting.seconds += 0.375  # of the half second that a step takes
        return True

    service = SimpleNamespace(step=step, close=lambda now_ms: None)
    monkeypatch.setattr(time, "monotonic", lambda: next(times) / 4)
    metrics = Metrics()
    health = Health("test", clock=lambda: 0.0)
    frame._serve(service, waiting, health, metrics, cast("Any", stop), ClockWatch(), lambda now_ms: None)
    assert filled(metrics) == FILLED["frame"]
    assert metrics.value(BUSY) == pytest.approx(0.25)


def test_nothing_is_declared_that_nobody_fills() -> None:
    assert set().union(*FILLED.values()) == {one.name.removeprefix("saffron_") for one in METRICS}


def test_numbers_are_such_as_can_be(lived: dict[str, Metrics]) -> None:
    for name, metrics in lived.items():
        for one in samples(metrics):
            assert math.isfinite(one.value), (name, one)
            assert one.value >= 0 or "lag" in one.name, (name, one)
            if one.name.endswith("_ratio"):
                assert one.value <= 1, (name, one)


def test_at_rest_nothing_lags_and_every_block_was_timed(lived: dict[str, Metrics]) -> None:
    for metrics in lived.values():
        lags = {one.labels["topic"]: one.value for one in samples(metrics) if one.name.endswith("consumer_lag")}
        assert lags
        assert set(lags.values()) == {0}
    counts = {
        one.labels["stage"]: one.value
        for metrics in lived.values()
        for one in samples(metrics)
        if one.name == "saffron_stage_latency_seconds_count"
    }
    assert set(counts) == {"windowing", "shedder", "matcher_apply", "matcher_commit", "greta_apply", "greta_commit"}
    assert counts["shedder"] == counts["matcher_apply"] == counts["greta_apply"] >= counts["windowing"] > 10


def test_lag_and_progress_have_the_labels_that_the_alert_joins_them_by(lived: dict[str, Metrics]) -> None:
    for name in ("windowing", "shedder", "matcher", "greta"):
        found = {"lag": set[tuple[str, str]](), "progress": set[tuple[str, str]]()}
        for one in samples(lived[name]):
            if one.name in (
                "saffron_kafka_client_consumer_lag",
                "saffron_events_in_total",
                "saffron_events_applied_total",
            ):
                what = "lag" if one.name.endswith("lag") else "progress"
                found[what].add((one.labels["stream"], one.labels["partition"]))
        assert found["lag"] == found["progress"] != set()


def test_results_count_once_and_drops_by_query(lived: dict[str, Metrics]) -> None:
    found = samples(lived["matcher"])
    times = sum(one.value for one in found if one.name == "saffron_detection_latency_seconds_count")
    assert times == sum(one.value for one in found if one.name == "saffron_complex_events_total") > 0
    dropped = {one.labels["query"]: one.value for one in found if one.name == "saffron_shed_partial_matches_total"}
    assert dropped["rally"] == 0 < dropped["any"]
    worth = {one.labels["query"]: one.value for one in found if one.name == "saffron_shed_utility"}
    assert worth["rally"] == 0 < worth["any"] < 10
    said = samples(lived["shedder"])
    lost = {one.labels["query"]: one.value for one in said if one.name == "saffron_estimated_loss_ratio"}
    assert lost["rally"] == 0 < lost["any"] < 1


def test_results_of_the_past_count_and_are_late_for_nobody(tmp_path: Path) -> None:
    metrics = {name: Metrics() for name in ("windowing", "shedder", "matcher", "greta")}
    world = World(3, tmp_path, NO_CHAOS)
    world.topics(*topic_specs("t.", 1))
    for name, make in makers(settings(tmp_path, 1), metrics.__getitem__).items():
        world.add(name, make)
    source = Source(world, 1, random.Random(5))
    source.events(60)
    world.settle(lambda: all(metrics[name].total(EVENTS_APPLIED) for name in ("matcher", "greta")))
    world.now += DAY_MS
    for name, text in (("rally", RALLY), ("falls", FALLS)):
        source.query(name, text, since="earliest")
    counts = {"matcher": COMPLEX_EVENTS, "greta": TRENDS}
    world.settle(lambda: all(metrics[name].total(counter) for name, counter in counts.items()))
    tell(world)
    world.settle(lambda: True)  # the digests arrive
    digests = [orjson.loads(record.value or b"{}") for record in world.read(TOPICS.health, 0, committed_only=False)]
    for name, counter in counts.items():
        told = [one for one in digests if one["service"] == name]
        assert sum(one["results"] for one in told) == metrics[name].total(counter) > 0
        assert {str(one["latency_ms"]) for one in told} == {"None"}
        assert metrics[name].merged(DETECTION_LATENCY).counts.sum() == metrics[name].total(OVERDUE_RESULTS) == 0


def test_overdue_is_what_is_later_than_the_bound(lived: dict[str, Metrics]) -> None:
    for service in ("matcher", "greta"):
        numbers = {(one.name, one.labels.get("le")): 0.0 for one in samples(lived[service])}
        for one in samples(lived[service]):
            numbers[one.name, one.labels.get("le")] += one.value
        bound = numbers["saffron_latency_bound_seconds", None]
        overdue = numbers["saffron_overdue_results_total", None]
        assert bound == settings(Path(), 1).latency_bound_ms / 1000
        # The bound lies between two buckets' ends: so many results are later than the one, and than the other.
        ends = {
            float(le): count for (name, le), count in numbers.items() if le and name.startswith("saffron_detection")
        }
        below, above = max(end for end in ends if end <= bound), min(end for end in ends if end >= bound)
        assert ends[math.inf] - ends[above] <= overdue <= ends[math.inf] - ends[below]


def test_every_reason_of_dead_letters_is_counted_from_the_start(lived: dict[str, Metrics]) -> None:
    found = samples(lived["windowing"])
    counted = {one.labels["reason"]: one.value for one in found if one.name == "saffron_dead_letters_total"}
    assert set(counted) == set(REASONS)
    assert counted["late"] > 0 < counted["not-json"]
    assert counted["too-large"] == 0
    for service in ("matcher", "greta"):
        found = samples(lived[service])
        assert {one.labels["reason"] for one in found if one.name == "saffron_dead_letters_total"} == {TOO_LARGE}


def test_a_model_of_f_shows_in_the_shedder(lived: dict[str, Metrics]) -> None:
    found = {one.name: one.value for one in samples(lived["shedder"])}
    assert found["saffron_overload_processing_seconds"] == pytest.approx(0.003)
