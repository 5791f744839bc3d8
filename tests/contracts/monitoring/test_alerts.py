"""Rules of Prometheus: each reads what is exported, fires when it should, and has a section in the runbook."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contracts.monitoring.promql import FIRST_COUNT, Exported, breaches, exported
from tools.monitoring.dashboards import FOLDER
from tools.monitoring.prometheus import MissingError, program

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
GROUPS = yaml.safe_load((FOLDER.parent / "rules.yaml").read_text("utf-8"))["spec"]["groups"]
RULES: list[dict[str, Any]] = [rule for group in GROUPS for rule in group["rules"]]
RECORDED = {rule["record"]: Exported(frozenset(), False) for rule in RULES if "record" in rule}
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}
TESTS = sorted(HERE.glob("*.yaml"))
OF_MANY_COUNTS = {"SaffronTransactionAborts", "SaffronModelOld"}
"""Alerts on what goes on for long, or has not for long: no single count decides."""


@pytest.fixture(scope="module")
def promtool() -> Path:
    try:
        return program("promtool")
    except MissingError as error:
        pytest.skip(str(error))


def test_rules_read_what_is_exported() -> None:
    found = {rule.get("alert") or rule["record"]: breaches(rule["expr"], exported() | RECORDED) for rule in RULES}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_every_alert_has_its_section_in_the_runbook() -> None:
    text = (ROOT / "docs" / "runbook.md").read_text("utf-8")
    sections = {title.lower().replace(" ", "-"): title for title in re.findall(r"^## (.+)$", text, re.MULTILINE)}
    named = {rule["annotations"]["runbook_url"] for rule in ALERTS.values()}
    assert named == {f"docs/runbook.md#{anchor}" for anchor in sections}
    assert [name for name in ALERTS if f"`{name}`" not in text] == []


def test_a_first_count_fires_also_where_its_series_begins_with_it() -> None:
    growing = {name: rule["expr"] for name, rule in ALERTS.items() if "increase(" in rule["expr"]}
    assert {name for name, expr in growing.items() if not FIRST_COUNT.search(expr)} == OF_MANY_COUNTS


def test_every_alert_is_tested_and_says_how_bad_it_is() -> None:
    cases = [
        case for path in TESTS for test in yaml.safe_load(path.read_text("utf-8"))["tests"] for case in _cases(test)
    ]
    assert {case["alertname"] for case in cases if case["exp_alerts"]} == set(ALERTS)
    assert {rule["labels"]["severity"] for rule in ALERTS.values()} == {"critical", "warning"}


def test_alerts_fire_when_they_should(promtool: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": GROUPS}), "utf-8")
    for path in TESTS:
        shutil.copy(path, tmp_path)
    for command in (["check", "rules", "rules.yml"], ["test", "rules", *(path.name for path in TESTS)]):
        done = subprocess.run([promtool, *command], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def _cases(test: dict[str, Any]) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = test["alert_rule_test"]
    return cases
