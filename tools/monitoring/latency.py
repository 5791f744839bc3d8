"""Dashboard 1: are complex events on time?"""

from __future__ import annotations

from saffron.runtime.telemetry.metric_names import (
    COMPLEX_EVENTS,
    DETECTION_LATENCY,
    ESTIMATED_MATCHES,
    EVENTS_APPLIED,
    LATENCY_BOUND,
    OVERDUE_RESULTS,
    TRENDS,
)
from tools.monitoring.expressions import buckets, gauge, observed, quantile, rate, ratio
from tools.monitoring.panel import BOUND, Dashboard, Panel, Query

_BOUND = Query(gauge("min", LATENCY_BOUND), BOUND)

LATENCY = Dashboard(
    "saffron-latency",
    "Saffron: detection latency",
    "Are complex events on time, what does that cost, and how much comes in and goes out?",
    (
        Panel(
            "Detection latency against the bound",
            "From the message time of the last contributing event to the commit of the result, over all chosen queries."
            " p99 above the dashed line: see the dashboard of stages for the slow one.",
            "s",
            (
                Query(quantile(0.5, DETECTION_LATENCY), "p50"),
                Query(quantile(0.95, DETECTION_LATENCY), "p95"),
                Query(quantile(0.99, DETECTION_LATENCY), "p99"),
                _BOUND,
            ),
            width=16,
            height=10,
        ),
        Panel(
            "Results within the bound",
            "Share of results that were committed within the latency bound. The objective, and the error budget of"
            " alerts, is 99 %.",
            "percentunit",
            (Query(f"1 - {rate(OVERDUE_RESULTS)} / {observed(DETECTION_LATENCY)}", "on time"),),
            kind="stat",
            width=4,
            height=5,
            low=0.99,
        ),
        Panel(
            "Latency bound",
            "The bound that is set, and what is done where it cannot be held: pass drops nothing and is late, shed and"
            " catch-up drop what is worth least.",
            "s",
            (Query(gauge("min", LATENCY_BOUND, "overload"), "{{overload}}"),),
            kind="stat",
            width=4,
            height=5,
        ),
        Panel(
            "Estimated loss",
            "Estimated share of complex events missed by dropping events and partial matches since the processes"
            " started, of all partitions together.",
            "percentunit",
            (Query(ratio(ESTIMATED_MATCHES, "query", some="lost", of="due"), "{{query}}"),),
            width=8,
            height=5,
        ),
        Panel(
            "Events applied",
            "Events a second that matcher and greta applied, by service: each applies all events of its streams.",
            "cps",
            (Query(rate(EVENTS_APPLIED, "job"), "{{job}}"),),
        ),
        Panel(
            "Results",
            "Complex events and trends committed a second, by query.",
            "cps",
            (
                Query(rate(COMPLEX_EVENTS, "query"), "{{query}}"),
                Query(rate(TRENDS, "query"), "{{query}} (trends)"),
            ),
        ),
        Panel(
            "Distribution of detection latency",
            "How many results took how long. Two bands: some queries, or some partitions, are slower than others.",
            "s",
            (Query(buckets(DETECTION_LATENCY), "{{le}}"),),
            kind="heatmap",
        ),
        Panel(
            "p99 of detection latency by query",
            "Which query is late. One alone: its own work (see its plan with `saffron explain`); all: the machine.",
            "s",
            (Query(quantile(0.99, DETECTION_LATENCY, "query"), "{{query}}"), _BOUND),
        ),
    ),
)
