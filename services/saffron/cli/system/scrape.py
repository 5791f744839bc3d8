"""The metrics of running services, from their /metrics pages."""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from saffron.runtime.local.state import SystemState
from saffron.runtime.process.listening import in_url

_SECONDS = 2.0
_GROWING = ("_total", "_bucket", "_count", "_sum")


class Page:
    """The metrics of one service at one moment; empty if it did not answer."""

    def __init__(self, samples: list[Sample]) -> None:
        self._samples = samples

    def has(self, name: str) -> bool:
        """True if a counter or gauge has any series."""
        return any(one.name == name for one in self._samples)

    def total(self, name: str, **labels: str) -> float:
        """The sum of a counter or gauge over all series with these labels."""
        return float(
            sum(one.value for one in self._samples if one.name == name and labels.items() <= one.labels.items())
        )

    def largest(self, name: str, **labels: str) -> float:
        """The largest value of all series with these labels; 0 if there are none."""
        return max(
            (one.value for one in self._samples if one.name == name and labels.items() <= one.labels.items()),
            default=0.0,
        )

    def series(self, name: str) -> list[tuple[Mapping[str, str], float]]:
        """Labels and value of each series of a counter or gauge."""
        return [(one.labels, one.value) for one in self._samples if one.name == name]

    def beside(self, other: Page) -> Page:
        """The samples of both pages as one page."""
        return Page(self._samples + other._samples)

    def since(self, before: Page) -> Page:
        """The growth of counters and histograms since an earlier page; gauges as they are now.

        A restarted process counts from 0.
        """
        known = {(one.name, *sorted(one.labels.items())): one.value for one in before._samples}

        def grown(one: Sample) -> Sample:
            if not one.name.endswith(_GROWING):
                return one
            earlier = known.get((one.name, *sorted(one.labels.items())), 0.0)
            return one._replace(value=one.value - earlier if one.value >= earlier else one.value)

        return Page([grown(one) for one in self._samples])

    def quantile_ms(self, name: str, share: float, **labels: str) -> float:
        """A quantile (ms) of a histogram, interpolated in its bucket; nan without observations."""
        ends: dict[float, float] = {}
        for one in self._samples:
            if one.name == f"{name}_bucket" and labels.items() <= one.labels.items():
                bound = float(one.labels["le"])
                ends[bound] = ends.get(bound, 0.0) + one.value
        low = before = 0.0
        for bound, count in sorted(ends.items()):
            if count and count >= share * max(ends.values()):
                inside = (share * max(ends.values()) - before) / (count - before) if count > before else 1.0
                return 1000 * (low + (bound - low) * inside) if math.isfinite(bound) else math.inf
            low, before = bound, count
        return math.nan


def scrape(state: SystemState | None, service: str) -> Page:
    """The metrics page of a service of this machine's system."""
    found = [(one.host, one.port) for one in state.services if one.name == service] if state is not None else []
    return page(*found)


def inputs(host: str, port: int) -> list[dict[str, Any]]:
    """A service's reports on the topics that it reads; empty if it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{in_url(host)}:{port}/status", timeout=_SECONDS) as answer:
            found: list[dict[str, Any]] = json.load(answer).get("inputs", [])
            return found
    except (urllib.error.URLError, OSError, ValueError):
        return []


def page(*places: tuple[str, int]) -> Page:
    """The metrics page at the first of these addresses and ports that has one."""
    for host, port in places:
        try:
            with urllib.request.urlopen(f"http://{in_url(host)}:{port}/metrics", timeout=_SECONDS) as answer:
                text = answer.read().decode()
            return Page([sample for family in text_string_to_metric_families(text) for sample in family.samples])
        except (urllib.error.URLError, OSError, ValueError):
            continue
    return Page([])
