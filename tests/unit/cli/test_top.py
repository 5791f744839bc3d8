"""The live view: numbers from simulated state, and frames that fit whatever terminal there is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from prometheus_client.samples import Sample

from saffron.cli.system.routes import RouteLine
from saffron.cli.system.scrape import Page
from saffron.cli.system.top_screen import SORTS, Shown, lines, next_sort
from saffron.cli.system.top_view import Counted, QueryLine, ServiceLine, View, view
from saffron.control.tables import Tables
from saffron.runtime.log.topics import Topics

NOW = 1_700_000_000_000
TOPICS = Topics("saffron.")
RALLY = QueryLine("rally", "active", "events", 3006.0, 18.0, 481, 93.0, 202.0, 0.0, 0, 0)
LONG = QueryLine(
    "a-query-of-a-very-long-name-indeed", "paused", "events", None, None, None, None, 1500.0, 0.123, 7, None
)
SERVICES = (
    ServiceLine("windowing", "ready", 3006.0, 64, None, 586),
    ServiceLine("matcher", "silent", 0.0, 1_234_567, 35_600, 41_000),
)
FRAME = View(NOW, "kafka:9092 saffron.*", 1000.0, (RALLY, LONG), SERVICES)


def digest(service: str, **fields: Any) -> tuple[str, bytes]:
    body = {
        "service": service, "stream": "events", "partition": 0, "at": NOW - 500, "interval_ms": 1000, "events": 0,
        "results": 0, "latency_ms": None, "partial_matches": 0, "watermark": None, "lag": 0,
    }  # fmt: skip
    return f"{service}/events/0", orjson.dumps(body | fields)


def tables() -> Tables:
    """A query that is active, two services that speak, and a shedder that drops."""
    found = Tables(TOPICS, 1000)
    add = {"name": "rally", "version": 1, "op": "add", "text": "-", "from": "now"}
    said = {"name": "rally", "version": 1, "stream": "events", "partition": 0, "reason": None, "position": 0}
    in_force = {**said, "service": "windowing", "state": "active"}
    load = {"service": "matcher", "stream": "events", "partition": 0, "position": 35_600, "at": NOW}
    shed = {
        "why": "shed",
        "share": 0.5,
        "keep": None,
        "estimated": {"rally": {"due": 25.0, "lost": 1.0, "found": 24.0, "false": 0.0}},
    }
    rows = [
        (TOPICS.queries, "rally", orjson.dumps(add)),
        (TOPICS.query_status, "rally/matcher/events/0", orjson.dumps({**said, "service": "matcher", "state": "ready"})),
        (TOPICS.query_status, "rally/windowing/events/0", orjson.dumps(in_force)),
        (TOPICS.load, "matcher/events/0", orjson.dumps({**load, "partial_matches": {"rally": 481}})),
        (TOPICS.health, *digest("windowing", events=3006, lag=64)),
        (TOPICS.health, *digest("shedder", shed=shed)),
        (TOPICS.health, *digest("matcher", latency_ms={"p50": 20.0, "p99": 60.0}, at=NOW - 300)),
    ]  # fmt: skip
    for topic, key, value in rows:
        at = orjson.loads(value)["at"] if topic == TOPICS.health else NOW
        found.apply(topic, key.encode(), value, at)
    assert not found.problems
    return found


def page(results: float) -> Page:
    """What matcher and shedder have counted; all results took between 50 and 100 ms."""
    query = {"query": "rally"}
    buckets = [
        Sample("saffron_detection_latency_seconds_bucket", {**query, "le": le}, results) for le in ("0.1", "+Inf")
    ]
    return Page([
        Sample("saffron_complex_events_total", query, results),
        Sample("saffron_detection_latency_seconds_bucket", {**query, "le": "0.05"}, 0.0),
        *buckets,
        Sample("saffron_latency_bound_seconds", {"overload": "shed"}, 0.5),
        Sample("saffron_shed_events_total", {**query, "reason": "overload"}, 30.0),
        Sample("saffron_shed_partial_matches_total", query, 4.0),
    ])  # fmt: skip


def test_numbers_of_a_query_come_from_digests_and_from_what_services_have_counted() -> None:
    counted = Counted(page(100.0), page(100.0).since(page(60.0)), 2.0)
    found = view(tables(), counted, None, NOW, "here")
    assert found.bound_ms == 500.0
    (rally,) = found.queries
    assert (rally.state, rally.events, rally.results, rally.partial_matches) == ("active", 3006.0, 20.0, 481)
    assert rally.p50 == pytest.approx(75.0)
    assert rally.p99 == pytest.approx(99.5)
    assert (rally.loss, rally.dropped_events, rally.dropped_matches) == (0.04, 30, 4)
    matcher = next(one for one in found.services if one.name == "matcher")
    assert (matcher.position, matcher.age_ms, matcher.lag) == (35_600, 300, 0)


def test_from_elsewhere_a_query_has_the_latencies_of_its_service() -> None:
    found = view(tables(), None, None, NOW, "there")
    (rally,) = found.queries
    assert (rally.p50, rally.p99, rally.results, found.bound_ms) == (20.0, 60.0, None, 1000)


def test_sources_of_streams_made_from_topics_are_shown() -> None:
    lag = Page([Sample("saffron_route_lag", {"stream": "shop", "partition": "orders/0"}, 12_000.0)])
    found = view(tables(), Counted(lag, lag, 2.0), None, NOW, "here")
    assert found.sources == (RouteLine("shop", "orders", 0, 12_000, 0),)
    frame = lines(replace(FRAME, sources=found.sources), Shown(width=80))
    assert frame[-2:] == ["source  stream  lag  null values  events", "orders  shop    12k            0       0"]


def test_a_wide_frame_shows_everything() -> None:
    assert lines(FRAME, Shown(width=160)) == [
        "saffron kafka:9092 saffron.*  22:13:20 UTC  bound 1000 ms  by name",
        "",
        (
            "query                         state   events/s  results/s  partial    p50      p99  p99 of bound    loss"
            "  dropped events  dropped partial"
        ),
        (
            "a-query-of-a-very-long-name…  paused         -          -        -      -  1500 ms   ██████████!  12.3 %"
            "               7                -"
        ),
        (
            "rally                         active      3006         18      481  93 ms   202 ms   ██░░░░░░░░    0.0 %"
            "               0                0"
        ),
        "",
        "service    state     lag     heard  events/s  position",
        "windowing  ready      64   1 s ago      3006         -",
        "matcher    silent  1.23M  41 s ago         0     35.6k",
    ]


@pytest.mark.parametrize("width", [*range(1, 60), 80, 100, 120, 160])
def test_nothing_wraps_however_narrow_the_terminal(width: int) -> None:
    for ascii_only in (False, True):
        frame = lines(FRAME, Shown(width=width, keys=True, ascii_only=ascii_only))
        assert max(map(len, frame)) <= width
        assert all(one.isascii() for one in frame) or not ascii_only


def test_a_narrow_frame_keeps_what_matters() -> None:
    titles = lines(FRAME, Shown(width=44))[2].split()
    assert titles == ["query", "state", "results/s", "p99"]
    assert lines(FRAME, Shown(width=24))[2].split() == ["query", "state"]


def test_a_low_terminal_shows_the_first_queries_and_how_many_more() -> None:
    many = replace(FRAME, queries=tuple(replace(RALLY, name=f"q{number:02}") for number in range(40)))
    frame = lines(many, Shown(width=100, rows=14, keys=True))
    assert len(frame) == 14
    assert frame[3].startswith("q00")
    assert [one for one in frame if one.endswith("more")] == ["and 35 more"]
    assert frame[-1] == "q quit  p pause  s sort"


def test_queries_are_sorted_by_what_was_chosen() -> None:
    assert lines(FRAME, Shown(sort="p99"))[3].startswith("a-query")
    assert lines(FRAME, Shown(sort="results/s"))[3].startswith("rally")
    sort, seen = "name", []
    for _ in SORTS:
        seen.append(sort := next_sort(sort))
    assert sorted(seen) == sorted(SORTS)


def test_a_system_without_queries_says_how_to_add_one() -> None:
    frame = lines(replace(FRAME, queries=(), services=()), Shown())
    assert "no standing queries; saffron query add FILE adds one" in frame
    assert "no service has said anything" in frame
