from __future__ import annotations

from typing import Any

import pytest

from saffron.control.live import SERIES_SECONDS, LiveStatistics

NOW = 1_700_000_000_000


def digest(service: str, at: int, **more: Any) -> dict[str, Any]:
    parts = {"service": service, "stream": "events", "partition": 0, "at": at, "interval_ms": 1000, "events": 0}
    rest = {"results": 0, "latency_ms": None, "partial_matches": 0, "watermark": None, "lag": 0}
    return {**parts, **rest, **more}


def hear(live: LiveStatistics, one: dict[str, Any]) -> None:
    """Applies the next digest of the topic, from a process whose clock is the broker's."""
    live.apply(one, one["at"])


def test_nobody_has_reported() -> None:
    view = LiveStatistics(100).view(NOW)
    assert view["services"] == []
    assert view["events_per_second"] is None
    assert view["latency_ms"] is None
    assert len(view["series"]) == SERIES_SECONDS
    assert {point["events_per_second"] for point in view["series"]} == {None}


def test_rates_add_up_over_partitions_and_latency_is_the_worst() -> None:
    live = LiveStatistics(100)
    hear(live, digest("windowing", NOW - 500, events=3000))
    hear(live, digest("windowing", NOW - 700, partition=1, events=500, interval_ms=500))
    hear(live, digest("matcher", NOW - 400, results=7, latency_ms={"p50": 10, "p99": 30}, partial_matches=5))
    hear(live, digest("greta", NOW - 400, results=3, latency_ms={"p50": 20, "p99": 25}, partial_matches=2))
    hear(live, digest("shedder", NOW - 400, events=9999, latency_ms={"p50": 900, "p99": 900}))
    view = live.view(NOW)
    assert view["events_per_second"] == 4000.0
    assert view["results_per_second"] == 10.0
    assert view["latency_ms"] == {"p50": 20.0, "p99": 30.0}
    assert view["partial_matches"] == 7
    assert view["bound_ms"] == 100


def test_a_source_that_fell_silent_no_longer_counts_but_is_named() -> None:
    live = LiveStatistics(100)
    hear(live, digest("windowing", NOW - 60_000, events=3000, watermark=5))
    view = live.view(NOW)
    assert view["events_per_second"] is None
    (service,) = view["services"]
    assert (service["service"], service["alive"], service["silent_ms"]) == ("windowing", False, 60_000)
    assert service["watermark"] is None


def test_the_series_counts_each_interval_once() -> None:
    live = LiveStatistics(100)
    first = NOW - 10_000
    for step in range(8):  # digests 1,250 ms apart: no second holds two, none is missing in between
        hear(live, digest("windowing", first + step * 1250, interval_ms=1250, events=1250))
    rates = [point["events_per_second"] for point in live.view(NOW)["series"]]
    assert set(rates[-9:-2]) == {1000.0}
    assert set(rates[:-11]) == {None}


@pytest.mark.parametrize("wrong", [3_600_000, -3_600_000])
def test_the_clock_of_a_service_neither_stops_its_numbers_nor_keeps_it_alive(wrong: int) -> None:
    live = LiveStatistics(100)
    live.apply(digest("windowing", NOW - 1000 + wrong, events=1000), NOW - 1000)
    live.apply(digest("windowing", NOW, events=3000, watermark=5), NOW)  # its clock was set
    view = live.view(NOW + 2000)
    assert (view["events_per_second"], view["services"][0]["alive"]) == (3000.0, True)
    assert [point["events_per_second"] for point in view["series"]][-3:] == [None, 1000.0, 3000.0]
    assert live.events_of("events", NOW) == 3000.0
    live.apply(digest("windowing", NOW + wrong), NOW + 1000)
    (service,) = live.view(NOW + 61_000)["services"]
    assert (service["alive"], service["silent_ms"]) == (False, 60_000)


def test_a_clock_of_the_broker_or_of_control_stops_nothing() -> None:
    live = LiveStatistics(100)
    live.apply(digest("matcher", NOW), NOW)
    live.apply(digest("windowing", NOW, events=1000), NOW)
    live.apply(digest("windowing", NOW + 1000, events=3000), NOW - 600_000)  # the broker's was set back
    view = live.view(NOW - 600_000)
    assert {one["service"]: one["alive"] for one in view["services"]} == {"matcher": False, "windowing": True}
    assert view["events_per_second"] == 3000.0
    view = live.view(NOW - 4_000_000)  # control's is behind
    assert view["events_per_second"] == 3000.0


def test_digests_that_come_a_little_late_leave_no_gap() -> None:
    live = LiveStatistics(100)
    for step, late in enumerate((0, 40, 5, 300, 10, 90, 20)):
        stamped = NOW - 8_000 + step * 1000 + late
        live.apply(digest("windowing", stamped, events=1000), stamped)
    rates = [point["events_per_second"] for point in live.view(NOW)["series"]]
    assert set(rates[-7:]) == {1000.0}


def test_a_service_that_was_taken_away_is_forgotten_after_an_hour() -> None:
    live = LiveStatistics(100)
    hear(live, digest("windowing", NOW))
    hear(live, digest("greta", NOW))
    hear(live, digest("windowing", NOW + 3_590_000))
    named = [one["service"] for one in live.view(NOW + 3_590_000)["services"]]
    assert named == ["greta", "windowing"]
    hear(live, digest("windowing", NOW + 3_600_000))
    assert [one["service"] for one in live.view(NOW + 3_600_000)["services"]] == ["windowing"]


def test_memory_is_bounded() -> None:
    live = LiveStatistics(100)
    for step in range(1000):
        hear(live, digest("windowing", NOW + step * 1000))
    (kept,) = live._digests.values()
    assert len(kept) < SERIES_SECONDS + 10


def test_a_digest_of_a_whole_service_has_no_partitions() -> None:
    live = LiveStatistics(100)
    hear(live, digest("model_builder", NOW - 500, stream=None, partition=None, lag=None, events=10))
    (service,) = live.view(NOW)["services"]
    assert (service["partitions"], service["lag"], service["events_per_second"]) == (0, None, 10.0)


def test_overload_is_that_of_the_worst_partition() -> None:
    live = LiveStatistics(100)
    assert live.view(NOW)["overload"] is None
    passing = {"why": "pass", "share": 0.0, "keep": None, "estimated": {}}
    hear(live, digest("shedder", NOW - 400, shed=passing))
    wanted = {"why": "pass", "share": 0.0, "keep": None, "missed": {}, "false": {}}
    assert live.view(NOW)["overload"] == wanted
    hear(live, digest("shedder", NOW - 300, partition=1, shed={**passing, "why": "shed", "share": 0.5, "keep": 7}))
    hear(live, digest("shedder", NOW - 300, partition=2, shed={**passing, "keep": 3}))
    assert live.view(NOW)["overload"] == {**wanted, "why": "shed", "share": 0.5, "keep": 10}


def test_what_a_query_misses_is_so_of_all_partitions_together() -> None:
    live = LiveStatistics(100)
    large = {"a": {"due": 900.0, "lost": 9.0, "found": 900.0, "false": 9.0}}
    small = {
        "a": {"due": 100.0, "lost": 91.0, "found": 10.0, "false": 4.65},
        "b": {"due": 4.0, "lost": 2.0, "found": 0.0, "false": 0.0},
    }
    for partition, estimated in enumerate((large, small)):
        shed = {"why": "shed", "share": 0.0, "keep": None, "estimated": estimated}
        hear(live, digest("shedder", NOW - 300, partition=partition, shed=shed))
    overload = live.view(NOW)["overload"]
    assert overload["missed"] == {"a": 0.1, "b": 0.5}
    assert overload["false"] == {"a": 0.015, "b": 0.0}
