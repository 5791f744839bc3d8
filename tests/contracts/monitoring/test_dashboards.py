"""Grafana's dashboards: as their script writes them, and reading only what services export."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from saffron.runtime.telemetry.metric_names import METRICS
from tests.contracts.monitoring.promql import breaches, exported, labels_of
from tools.monitoring.dashboards import DASHBOARDS, FOLDER, path_of, text_of

KNOWN = exported()
PANELS: list[Any] = [
    pytest.param(panel, id=f"{path.stem}: {panel['title']}")
    for path in sorted(FOLDER.glob("*.json"))
    for panel in json.loads(path.read_text("utf-8"))["panels"]
]


def test_the_files_are_those_of_the_script() -> None:
    assert sorted(FOLDER.iterdir()) == sorted(path_of(one) for one in DASHBOARDS)
    for one in DASHBOARDS:
        assert path_of(one).read_text("utf-8") == text_of(one), "run `python -m tools.monitoring.dashboards`"


def test_links_to_them_stay_good() -> None:
    assert [one.uid for one in DASHBOARDS] == [
        "saffron-latency",
        "saffron-stages",
        "saffron-overload",
        "saffron-kafka-models",
    ]


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_reads_what_is_exported_and_says_what_it_shows(panel: dict[str, Any]) -> None:
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert len(panel["description"]) > 40
    assert panel["targets"]
    for target in panel["targets"]:
        assert breaches(target["expr"], KNOWN) == []
        shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
        assert shown <= labels_of(target["expr"], KNOWN)
        assert all(name in target["expr"] for name in shown), "a legend's label that the sum has left out"


def test_nothing_is_exported_that_no_panel_shows() -> None:
    shown = " ".join(target["expr"] for panel in PANELS for target in panel.values[0]["targets"])
    assert [one.name for one in METRICS if one.name not in shown] == []


@pytest.mark.parametrize(
    ("expr", "wrong"),
    [
        ("sum(rate(saffron_nothing_total[5m]))", "nobody exports saffron_nothing_total"),
        ("sum by (qeury) (rate(saffron_trends_total[5m]))", "saffron_trends_total has no label 'qeury'"),
        ('rate(saffron_trends_total{stream="a"}[5m])', "saffron_trends_total has no label 'stream'"),
        ("max by (partition) (saffron_state_bytes)", "partitions of all streams are one by partition"),
        ("sum(saffron_trends_total)", "saffron_trends_total stands in no function"),
        ("rate(saffron_busy_ratio[5m])", "saffron_busy_ratio stands in rate"),
        ("max(saffron_busy_ratio) and on (topic) max(saffron_busy_ratio)", "saffron_busy_ratio has no label 'topic'"),
    ],
)
def test_what_is_wrong_is_found(expr: str, wrong: str) -> None:
    assert wrong in breaches(expr, KNOWN)
