"""The kinds of metrics, and what a metric is declared with (`metric_names`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Metric:
    """A metric. `series`: its name and labels, as NAME{LABEL,...}. `help`: its meaning. `remedy`: for a bad value."""

    series: str
    help: str
    remedy: str

    @cached_property
    def name(self) -> str:
        return self.series.partition("{")[0]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(filter(None, self.series.partition("{")[2].rstrip("}").split(",")))


class Counter(Metric):
    """A metric that only grows. `name` is without "_total", which the exposition appends."""


class Gauge(Metric):
    """A metric that rises and falls."""


class Histogram(Metric):
    """A distribution of times: observed in ms, exposed in seconds."""
