"""Grafana's dashboards, from their panels: `python -m tools.monitoring.dashboards` writes the JSON anew."""

from __future__ import annotations

import json
from pathlib import Path

from tools.monitoring.kafka_models import KAFKA_MODELS
from tools.monitoring.latency import LATENCY
from tools.monitoring.overload import OVERLOAD
from tools.monitoring.panel import Dashboard
from tools.monitoring.stages import STAGES

FOLDER = Path(__file__).resolve().parents[2] / "k8s" / "overlays" / "monitoring" / "dashboards"
DASHBOARDS = (LATENCY, STAGES, OVERLOAD, KAFKA_MODELS)


def path_of(dashboard: Dashboard) -> Path:
    """The path of the dashboard's file."""
    return FOLDER / f"{dashboard.uid}.json"


def text_of(dashboard: Dashboard) -> str:
    """The dashboard as JSON text."""
    return json.dumps(dashboard.json(), indent=2) + "\n"


if __name__ == "__main__":
    for one in DASHBOARDS:
        path_of(one).write_text(text_of(one), "utf-8")
