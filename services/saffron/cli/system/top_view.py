"""The numbers of `saffron top` at one moment, from the tables over control topics and the services' metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saffron.cli.system.routes import RouteLine, routes_of
from saffron.cli.system.scrape import Page
from saffron.control.tables import Tables
from saffron.runtime.local.state import SystemState
from saffron.runtime.log.topics import DEFAULT_STREAM
from saffron.runtime.telemetry import metric_names as names

_READERS = ("matcher", "greta")


@dataclass(frozen=True)
class QueryLine:
    """One standing query. Rates are per second, latencies in ms. None: not known from here."""

    name: str
    state: str
    stream: str
    events: float | None
    results: float | None
    partial_matches: int | None
    p50: float | None
    p99: float | None
    loss: float | None
    dropped_events: int | None
    dropped_matches: int | None


@dataclass(frozen=True)
class ServiceLine:
    """One service. `age_ms`: since its last report. `position`: sequence numbers applied, over all partitions."""

    name: str
    state: str
    events: float | None
    lag: int | None
    position: int | None
    age_ms: int | None


@dataclass(frozen=True)
class View:
    """The content of the screen. `at`: ms since 1970. `where`: the system. `sources`: of streams made from topics."""

    at: int
    where: str
    bound_ms: float
    queries: tuple[QueryLine, ...]
    services: tuple[ServiceLine, ...]
    sources: tuple[RouteLine, ...] = ()


@dataclass(frozen=True)
class Counted:
    """The metrics of this machine's services: `now`, and their growth in the last `seconds`."""

    now: Page
    grown: Page
    seconds: float


def view(tables: Tables, counted: Counted | None, state: SystemState | None, now: int, where: str) -> View:
    """The view at one moment.

    `counted`: None where no service can be reached; a query then has the latencies of its service.
    """
    live = tables.live.view(now)
    bound = 0.0 if counted is None else counted.now.largest(names.LATENCY_BOUND.name) * 1000
    return View(
        at=now,
        where=where,
        bound_ms=bound or tables.live.bound_ms,
        queries=tuple(_query(tables.query(name), tables, counted, live, now) for name in tables.queries.names()),
        services=tuple(_services(tables, live["services"], state)),
        sources=() if counted is None else tuple(routes_of(counted.now).lines),
    )


def _query(
    row: Mapping[str, Any], tables: Tables, counted: Counted | None, live: Mapping[str, Any], now: int
) -> QueryLine:
    """The line of one query. `counted` None: its latencies are those of its service, over all its queries.

    The loss is the one that was measured, which `live` has, else the estimate.
    """
    name, said = str(row["name"]), row["services"]
    stream = str(said[0]["stream"]) if said else DEFAULT_STREAM
    missed = ((live["overload"] or {}).get("missed") or {}).get(name)
    numbers = _of_service(live, said) if counted is None else _of_query(counted, name)
    return QueryLine(
        name=name,
        state=str(row["state"]),
        stream=stream,
        events=tables.live.events_of(stream, now),
        results=numbers.get("results"),
        partial_matches=row["partial_matches"],
        p50=numbers.get("p50"),
        p99=numbers.get("p99"),
        loss=numbers.get("loss") if missed is None else missed,
        dropped_events=_whole(numbers.get("dropped_events")),
        dropped_matches=_whole(numbers.get("dropped_matches")),
    )


def _of_service(live: Mapping[str, Any], said: Sequence[Mapping[str, Any]]) -> Mapping[str, float | None]:
    """The latencies of the service that runs the query, over all its queries."""
    reader = next((one["service"] for one in said if one["service"] in _READERS), None)
    row = next((one for one in live["services"] if one["service"] == reader), None)
    return {} if row is None or row["latency_ms"] is None else row["latency_ms"]


def _of_query(counted: Counted, query: str) -> Mapping[str, float | None]:
    """Recent latencies of the query, or of all time if there are no recent ones."""
    results = sum(counted.grown.total(f"{one.name}_total", query=query) for one in (names.COMPLEX_EVENTS, names.TRENDS))
    latency = counted.grown if results else counted.now
    p50, p99 = (latency.quantile_ms(names.DETECTION_LATENCY.name, share, query=query) for share in (0.5, 0.99))
    return {
        "results": results / counted.seconds,
        "p50": p50 if math.isfinite(p50) else None,
        "p99": p99 if math.isfinite(p99) else None,
        "loss": counted.now.largest(names.ESTIMATED_LOSS.name, query=query),
        "dropped_events": counted.now.total(f"{names.SHED_EVENTS.name}_total", query=query),
        "dropped_matches": counted.now.total(f"{names.SHED_PARTIAL_MATCHES.name}_total", query=query),
    }


def _services(tables: Tables, rows: list[Mapping[str, Any]], state: SystemState | None) -> list[ServiceLine]:
    """The services that report, and those that the supervisor knows and that do not."""
    said = {str(one["service"]): one for one in rows}
    supervised = {} if state is None else {one.name: one.state for one in state.services}
    positions: dict[str, int] = {}
    for one in tables.load():
        positions[one["service"]] = positions.get(one["service"], 0) + int(one["position"])
    order = [*supervised, *(name for name in said if name not in supervised)]
    return [
        ServiceLine(
            name=name,
            state=supervised.get(name) or ("ready" if said[name]["alive"] else "silent"),
            events=said[name]["events_per_second"] if name in said else None,
            lag=_whole(said[name]["lag"]) if name in said else None,
            position=positions.get(name),
            age_ms=said[name]["silent_ms"] if name in said else None,
        )
        for name in order
    ]


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
