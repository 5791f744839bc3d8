from __future__ import annotations

from typing import Any

from saffron.control.live import SERIES_SECONDS, LiveStatistics

NOW = 1_700_000_000_000


def digest(service: str, at: int, **more: Any) -> dict[str, Any]:
    parts = {"service": service, "stream": "events", "partition": 0, "at": at, "interval_ms": 1000, "events": 0}
    rest = {"results": 0, "latency_ms": None, "partial_matches": 0, "watermark": None, "lag": 0}
    return {**parts, **rest, **more}


def test_nobody_has_reported() -> None:
    view = LiveStatistics(100).view(NOW)
    assert view["services"] == []
    assert view["events_per_second"] is None
    assert view["latency_ms"] is None
    assert len(view["series"]) == SERIES_SECONDS
    assert {point["events_per_second"] for point in view["series"]} == {None}


def test_rates_add_up_over_partitions_and_latency_is_the_worst() -> None:
    live = LiveStatistics(100)
    live.apply(digest("windowing", NOW - 500, events=3000))
    live.apply(digest("windowing", NOW - 700, partition=1, events=500, interval_ms=500))
    live.apply(digest("matcher", NOW - 400, results=7, latency_ms={"p50": 10, "p99": 30}, partial_matches=5))
    live.apply(digest("greta", NOW - 400, results=3, latency_ms={"p50": 20, "p99": 25}, partial_matches=2))
    live.apply(digest("shedder", NOW - 400, events=9999, latency_ms={"p50": 900, "p99": 900}))
    view = live.view(NOW)
    assert view["events_per_second"] == 4000.0
    assert view["results_per_second"] == 10.0
    assert view["latency_ms"] == {"p50": 20.0, "p99": 30.0}
    assert view["partial_matches"] == 7
    assert view["bound_ms"] == 100


def test_a_source_that_fell_silent_no_longer_counts_but_is_named() -> None:
    live = LiveStatistics(100)
    live.apply(digest("windowing", NOW - 60_000, events=3000, watermark=5))
    view = live.view(NOW)
    assert view["events_per_second"] is None
    (service,) = view["services"]
    assert (service["service"], service["alive"], service["silent_ms"]) == ("windowing", False, 60_000)
    assert service["watermark"] is None


def test_the_series_counts_each_interval_once() -> None:
    live = LiveStatistics(100)
    first = NOW - 10_000
    for step in range(8):  # digests 1,250 ms apart: no second holds two, none is missing in between
        live.apply(digest("windowing", first + step * 1250, interval_ms=1250, events=1250))
    rates = [point["events_per_second"] for point in live.view(NOW)["series"]]
    assert set(rates[-9:-2]) == {1000.0}
    assert set(rates[:-11]) == {None}


def test_old_and_repeated_digests_change_nothing() -> None:
    live = LiveStatistics(100)
    live.apply(digest("windowing", NOW - 500, events=3000))
    before = live.view(NOW)
    live.apply(digest("windowing", NOW - 500, events=1))
    live.apply(digest("windowing", NOW - 900, events=1))
    assert live.view(NOW) == before


def test_memory_is_bounded() -> None:
    live = LiveStatistics(100)
    for step in range(1000):
        live.apply(digest("windowing", NOW + step * 1000))
    (kept,) = live._digests.values()
    assert len(kept) < SERIES_SECONDS + 10


def test_a_digest_of_a_whole_service_has_no_partitions() -> None:
    live = LiveStatistics(100)
    live.apply(digest("model_builder", NOW - 500, stream=None, partition=None, lag=None, events=10))
    (service,) = live.view(NOW)["services"]
    assert (service["partitions"], service["lag"], service["events_per_second"]) == (0, None, 10.0)


def test_overload_is_that_of_the_worst_partition() -> None:
    live = LiveStatistics(100)
    assert live.view(NOW)["overload"] is None
    passing = {"why": "pass", "share": 0.0, "keep": None, "estimated": {}}
    live.apply(digest("shedder", NOW - 400, shed=passing))
    wanted = {"why": "pass", "share": 0.0, "keep": None, "missed": {}, "false": {}}
    assert live.view(NOW)["overload"] == wanted
    live.apply(digest("shedder", NOW - 300, partition=1, shed={**passing, "why": "shed", "share": 0.5, "keep": 7}))
    live.apply(digest("shedder", NOW - 300, partition=2, shed={**passing, "keep": 3}))
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
        live.apply(digest("shedder", NOW - 300, partition=partition, shed=shed))
    overload = live.view(NOW)["overload"]
    assert overload["missed"] == {"a": 0.1, "b": 0.5}
    assert overload["false"] == {"a": 0.015, "b": 0.0}
