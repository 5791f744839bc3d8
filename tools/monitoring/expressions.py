"""PromQL of panels, written from the metrics' declarations: a metric that is renamed is renamed here.

Every selector has the dashboard's namespace, and its query where the metric is of one.
"""

from __future__ import annotations

from saffron.runtime.telemetry.metric_kinds import Counter, Gauge, Histogram, Metric
from saffron.runtime.telemetry.metric_names import MODEL_AGE, MODEL_VERSION

WINDOW = "[$__rate_interval]"
_OF_MODELS = (MODEL_AGE, MODEL_VERSION)
"""Their label "query" names a model: of a query, of its events, or of a stream."""


def rate(counter: Counter, *by: str) -> str:
    """Growth a second, summed."""
    return f"{_sum(by)} (rate({counter.name}_total{_where(counter)}{WINDOW}))"


def increase(counter: Counter, *by: str) -> str:
    """Growth in an interval of the panel, summed."""
    return f"{_sum(by)} (increase({counter.name}_total{_where(counter)}{WINDOW}))"


def quantile(share: float, histogram: Histogram, *by: str) -> str:
    """A quantile in seconds."""
    buckets = f"rate({histogram.name}_bucket{_where(histogram)}{WINDOW})"
    return f"histogram_quantile({share:g}, {_sum(('le', *by))} ({buckets}))"


def buckets(histogram: Histogram) -> str:
    """Observations by bucket in an interval of the panel."""
    return f"sum by (le) (increase({histogram.name}_bucket{_where(histogram)}{WINDOW}))"


def observed(histogram: Histogram, *by: str) -> str:
    """Observations a second, summed."""
    return f"{_sum(by)} (rate({histogram.name}_count{_where(histogram)}{WINDOW}))"


def gauge(how: str, gauge: Gauge, *by: str, **labels: str) -> str:
    """A gauge, all series with the same `by` put together: `how` is max, min or sum. `labels`: only these series."""
    return f"{how}{_by(by)} ({gauge.name}{_where(gauge, **labels)})"


def ratio(gauge: Gauge, *by: str, some: str, of: str) -> str:
    """The ratio of two parts of a gauge, each summed."""
    return f"{_part(gauge, by, some)} / {_part(gauge, by, of)}"


def _part(gauge: Gauge, by: tuple[str, ...], part: str) -> str:
    return f"{_sum(by)} ({gauge.name}{_where(gauge, part=part)})"


def _sum(by: tuple[str, ...]) -> str:
    return f"sum{_by(by)}"


def _by(labels: tuple[str, ...]) -> str:
    return f" by ({', '.join(labels)})" if labels else ""


def _where(metric: Metric, **labels: str) -> str:
    wanted = ['namespace=~"$namespace"']
    if "query" in metric.labels and metric not in _OF_MODELS:
        wanted.append('query=~"$query"')
    wanted += [f'{name}="{value}"' for name, value in labels.items()]
    return "{" + ", ".join(wanted) + "}"
