"""The series of a removed query end, those of the others and of chains that moved to another member go on."""

from __future__ import annotations

from saffron.runtime.telemetry import metric_names as names
from saffron.runtime.telemetry.gone_queries import GoneQueries
from saffron.runtime.telemetry.metrics import Metrics


def test_a_query_of_a_removed_ones_name_begins_at_0() -> None:
    metrics = Metrics()
    gone = GoneQueries(metrics)
    for query in ("q", "r"):
        metrics.add(names.SHED_PARTIAL_MATCHES, 5, query)
    gone.forget({0: ["q", "r"], 1: ["q"]})
    gone.forget({0: ["q", "r"]})
    assert metrics.value(names.SHED_PARTIAL_MATCHES, "q") == 5
    gone.forget({0: ["r"]})
    assert 'query="q"' not in metrics.text().decode()
    metrics.add(names.SHED_PARTIAL_MATCHES, 1, "q")
    gone.forget({0: ["r", "q"]})
    assert [metrics.value(names.SHED_PARTIAL_MATCHES, query) for query in ("q", "r")] == [1, 5]


def test_a_chain_that_replays_its_past_ends_no_series() -> None:
    metrics = Metrics()
    gone = GoneQueries(metrics)
    metrics.add(names.COMPLEX_EVENTS, 3, "kept")
    metrics.add(names.COMPLEX_EVENTS, 4, "removed meanwhile")
    gone.forget({0: ["kept", "removed meanwhile"]})
    gone.forget({})  # it begins anew, from before either was added
    gone.forget({0: ["kept"]})
    assert metrics.value(names.COMPLEX_EVENTS, "kept") == 3
    assert metrics.value(names.COMPLEX_EVENTS, "removed meanwhile") == 0
