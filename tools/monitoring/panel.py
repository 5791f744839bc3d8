"""The form of a dashboard: panels in reading order, and the JSON that Grafana reads.

Panels are laid from left to right in a grid of 24 columns, and get their ids in that order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_COLUMNS = 24
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
POD, PLACE = "{{job}} {{pod}}", "{{stream}}/{{partition}}"
"""Legends of series by pod, and by partition of a stream."""
BOUND = "bound"
"""Legend of what is drawn as a threshold: a dashed red line."""


@dataclass(frozen=True)
class Query:
    """One expression of a panel. `legend`: of its series, {{label}} standing for a label's value."""

    expr: str
    legend: str


@dataclass(frozen=True)
class Panel:
    """One panel. `unit` in Grafana's names; `kind`: timeseries, stat or heatmap; `low`: the least good share."""

    title: str
    description: str
    unit: str
    queries: tuple[Query, ...]
    kind: str = "timeseries"
    width: int = 12
    height: int = 8
    low: float | None = None


@dataclass(frozen=True)
class Dashboard:
    """One dashboard. `uid` is in people's links and never changes. `by_query`: it can be cut down to some queries."""

    uid: str
    title: str
    description: str
    panels: tuple[Panel, ...]
    by_query: bool = True

    def json(self) -> dict[str, Any]:
        """The dashboard as JSON for Grafana."""
        return {
            "annotations": {"list": []},
            "description": self.description,
            "editable": False,
            "graphTooltip": 1,
            "links": [{"type": "dashboards", "tags": ["saffron"], "title": "Saffron", "asDropdown": True}],
            "panels": [_panel(number, panel, place) for number, (panel, place) in enumerate(_laid(self.panels), 1)],
            "refresh": "10s",
            "schemaVersion": 39,
            "tags": ["saffron"],
            "templating": {"list": _variables(self.by_query)},
            "time": {"from": "now-30m", "to": "now"},
            "timezone": "browser",
            "title": self.title,
            "uid": self.uid,
        }


def _laid(panels: tuple[Panel, ...]) -> list[tuple[Panel, dict[str, int]]]:
    laid = []
    x = y = high = 0
    for panel in panels:
        if x + panel.width > _COLUMNS:
            x, y, high = 0, y + high, 0
        laid.append((panel, {"x": x, "y": y, "w": panel.width, "h": panel.height}))
        x, high = x + panel.width, max(high, panel.height)
    return laid


def _panel(number: int, panel: Panel, place: Mapping[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {
            "defaults": _defaults(panel),
            "overrides": [_threshold()] if panel.kind == "timeseries" else [],
        },
        "options": _options(panel),
        "targets": [_target(letter, panel, one) for letter, one in zip("ABCDEFGH", panel.queries, strict=False)],
    }


def _target(letter: str, panel: Panel, query: Query) -> dict[str, Any]:
    form = "heatmap" if panel.kind == "heatmap" else "time_series"
    return {
        "refId": letter,
        "datasource": _SOURCE,
        "expr": query.expr,
        "legendFormat": query.legend,
        "format": form,
        "range": True,
    }


def _defaults(panel: Panel) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit}
    if panel.kind == "timeseries":
        defaults |= {"min": 0, "custom": {"fillOpacity": 8, "lineWidth": 1, "showPoints": "never"}}
    if panel.low is not None:
        steps = [{"color": "red", "value": None}, {"color": "green", "value": panel.low}]
        defaults["thresholds"] = {"mode": "absolute", "steps": steps}
    return defaults


def _threshold() -> dict[str, Any]:
    properties = {
        "color": {"mode": "fixed", "fixedColor": "red"},
        "custom.lineStyle": {"fill": "dash", "dash": [8, 6]},
        "custom.lineWidth": 2,
        "custom.fillOpacity": 0,
    }
    return {
        "matcher": {"id": "byName", "options": BOUND},
        "properties": [{"id": name, "value": value} for name, value in properties.items()],
    }


def _options(panel: Panel) -> dict[str, Any]:
    if panel.kind == "stat":
        return {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value", "graphMode": "area"}
    if panel.kind == "heatmap":
        return {"calculate": False, "yAxis": {"unit": panel.unit}, "color": {"mode": "scheme", "scheme": "Oranges"}}
    return {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}}


def _variables(by_query: bool) -> list[dict[str, Any]]:
    source = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    chosen = [_variable("namespace", "label_values(saffron_busy_ratio, namespace)")]
    if by_query:
        chosen.append(_variable("query", 'label_values(saffron_partial_matches{namespace=~"$namespace"}, query)'))
    return [source, *chosen]


def _variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }
