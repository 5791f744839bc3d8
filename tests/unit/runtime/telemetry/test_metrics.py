"""Metrics: what is added is what a scrape shows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from saffron.runtime.telemetry.histogram import BOUNDS_MS, Buckets
from saffron.runtime.telemetry.metric_names import (
    COMPLEX_EVENTS,
    DETECTION_LATENCY,
    EVENTS_IN,
    METRICS,
    PARTIAL_MATCHES,
)
from saffron.runtime.telemetry.metrics import Metrics


def scraped(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(metrics.text().decode())
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for family in families for one in family.samples}


def test_counters_and_gauges_are_exposed_with_their_labels() -> None:
    metrics = Metrics()
    metrics.add(COMPLEX_EVENTS, 2, "rally")
    metrics.add(COMPLEX_EVENTS, 3, "rally")
    metrics.set(PARTIAL_MATCHES, 7, "rally", "0")
    found = scraped(metrics)
    assert found["saffron_complex_events_total", (("query", "rally"),)] == 5
    assert found["saffron_partial_matches", (("partition", "0"), ("query", "rally"))] == 7
    assert metrics.value(COMPLEX_EVENTS, "rally") == metrics.total(COMPLEX_EVENTS) == 5


def test_what_is_no_longer_named_is_no_longer_shown() -> None:
    metrics = Metrics()
    metrics.set(PARTIAL_MATCHES, 7, "rally", "0")
    metrics.replace(PARTIAL_MATCHES, {("fall", "1"): 3})
    assert scraped(metrics) == {("saffron_partial_matches", (("partition", "1"), ("query", "fall"))): 3}
    with pytest.raises(ValueError, match="has the labels"):
        metrics.replace(PARTIAL_MATCHES, {("fall",): 3})


def test_what_is_gone_is_forgotten_in_every_metric() -> None:
    metrics = Metrics()
    for query in ("rally", "fall"):
        metrics.add(COMPLEX_EVENTS, 2, query)
        metrics.set(PARTIAL_MATCHES, 7, query, "0")
        metrics.observe(DETECTION_LATENCY, np.array([0.1]), query)
    metrics.add(EVENTS_IN, 1, "rally", "0")  # a stream of that name
    metrics.forget("query", "rally")
    found = scraped(metrics)
    assert not [labels for _, labels in found if ("query", "rally") in labels]
    assert found["saffron_complex_events_total", (("query", "fall"),)] == 2
    assert found["saffron_events_in_total", (("partition", "0"), ("stream", "rally"))] == 1
    assert metrics.merged(DETECTION_LATENCY).counts.sum() == 1


def test_labels_must_fit() -> None:
    with pytest.raises(ValueError, match=r"saffron_complex_events has the labels \('query',\), but was given \(\)"):
        Metrics().add(COMPLEX_EVENTS, 1)


def test_a_histogram_is_cumulative_and_in_seconds() -> None:
    metrics = Metrics()
    metrics.observe(DETECTION_LATENCY, np.array([0.1, 0.15, 20_000.0]), "rally")
    found = scraped(metrics)
    name, label = "saffron_detection_latency_seconds", ("query", "rally")
    assert found[f"{name}_bucket", (("le", "0.0001"), label)] == 1
    assert found[f"{name}_bucket", (("le", "0.0002"), label)] == 2
    assert found[f"{name}_bucket", (("le", "+Inf"), label)] == 3
    assert found[f"{name}_sum", (label,)] == pytest.approx(20.00025)
    assert metrics.merged(DETECTION_LATENCY).counts.sum() == 3


def test_each_bound_belongs_to_its_own_bucket() -> None:
    for index, bound in enumerate(BOUNDS_MS):
        buckets = Buckets()
        buckets.observe(np.array([bound, np.nextafter(bound, math.inf)]))
        expected = np.zeros(len(BOUNDS_MS) + 1, dtype=np.int64)
        expected[[index, index + 1]] = 1
        assert (buckets.counts == expected).all(), bound


def test_buckets_agree_with_searchsorted() -> None:
    values = np.exp(np.random.default_rng(7).uniform(-4, 11, 20_000))
    buckets = Buckets()
    buckets.observe(values)
    naive = np.bincount(np.searchsorted(BOUNDS_MS, values, side="left"), minlength=len(BOUNDS_MS) + 1)
    assert (buckets.counts == naive).all()


def test_a_negative_latency_counts_as_none() -> None:
    buckets = Buckets()
    buckets.observe(np.array([-5.0]))
    assert buckets.counts[0] == 1
    assert buckets.total_ms == 0


def test_quantiles_are_interpolated_within_a_bucket() -> None:
    buckets = Buckets()
    assert math.isnan(buckets.quantile(0.5))
    buckets.observe(np.array([0.3] * 99 + [1e6]))
    assert buckets.quantile(0.5) == pytest.approx(0.2 + 0.2 * 50 / 99)
    assert math.isinf(buckets.quantile(1.0))


def test_every_metric_has_a_unique_name_a_meaning_and_a_remedy() -> None:
    names = [one.name for one in METRICS]
    assert len(set(names)) == len(names) > 20
    assert all(one.name.startswith("saffron_") and one.help and one.remedy for one in METRICS)
    assert not {"key", "id"} & {label for one in METRICS for label in one.labels}
