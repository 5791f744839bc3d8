"""One line of an experiment, and the page of all: from rows as `saffron experiment --json` writes them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from experiments import page
from experiments.catalogue import EVEN, EXPERIMENTS, SHARES
from experiments.robustness import ALLOWED, places
from experiments.summary import summary


def row(value: float, shedder: str, missed: float, estimated: float, **more: Any) -> dict[str, Any]:
    return {
        "window": value, "shedder": shedder, "missed %": missed, "+-": 1.0, "estimated %": estimated,
        "false %": 0.0, "paper %": "-", "p99.9 ms": 900.0, "oracle misses %": 0.0, **more,
    }  # fmt: skip


ROWS = [
    row(2000, "auto", 1.0, 1.2),
    row(2000, "pspice", 5.0, 9.0),
    row(2000, "pm-bl", 20.0, 25.0, **{"false %": 3.0}),
    row(4000, "auto", 3.0, 4.0, **{"oracle misses %": 2.0}),
    row(4000, "pspice", 4.0, 4.0, **{"paper %": 16}),
    row(4000, "pm-bl", 10.0, 12.4, **{"p99.9 ms": 950.0}),
]
MEASURED = {"version": "0.2.0", "date": "2026-11-29"}
PAGE = Path(__file__).resolve().parents[3] / "docs" / "experiments.md"


def test_a_line_has_medians_over_points_and_the_worst_of_what_may_not_be() -> None:
    said = summary("window", ROWS)
    assert said["best baseline keeps %"] == 85.0, "pspice is no baseline"
    assert said["ours (auto) keeps %"] == 98.0
    assert said["oracle keeps %"] == 99.0
    assert (said["baselines' false %, worst"], said["ours false %, worst"]) == (3.0, 0.0)
    assert said["p99.9 ms, worst"] == 950.0


def test_estimates_are_in_the_rule_within_a_fifth_and_half_a_point() -> None:
    said = summary("window", ROWS)
    assert said["estimates in rule"] == "4 of 6", "1.2 for 1, 4 for 3 (1.1), 4 for 4, 12.4 for 10"
    assert said["with 2 standard errors"] == "5 of 6", "25 for 20 as well, but not 9 for 5"


def test_a_page_has_a_table_of_each_experiment_that_was_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = {"benchmark": "pSPICE Q1; LB 1000 ms, one seed", **MEASURED, "rows": ROWS}
    (tmp_path / "p-q1.json").write_text(json.dumps(written), "utf-8")
    monkeypatch.setattr(sys, "argv", ["page", str(tmp_path), str(tmp_path / "page.md")])
    page.main()
    told = (tmp_path / "page.md").read_text("utf-8")
    assert (tmp_path / "page.svg").read_text("utf-8").lstrip().startswith("<")
    assert [line for line in told.splitlines() if line.startswith("## ")] == ["## `p-q1`"]
    assert "| 2000 | 1.0 (1.2) | 5.0 (9.0) | 20.0 (25.0), false 3.0 |" in told
    assert "| 4000 | 3.0 (4.0) | 4.0 (4.0), paper 16 | 10.0 (12.4) |" in told
    assert "pSPICE Q1; LB 1000 ms, one seed. Version 0.2.0, 2026-11-29.\n" in told


def test_the_worst_points_beside_even_dropping_stand_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = {
        "experiment": "r-shift", "value": 3.0, "train %": 3.0, "seeds": 30, "auto missed %": 12.0,
        "pm-bl missed %": 20.0, "bl missed %": 11.0, "worse, points": 1.0, "+-": 0.5,
    }  # fmt: skip
    rows = [beside | {"worse, points": float(worse)} for worse in range(-5, 5)]
    (tmp_path / "robustness.json").write_text(json.dumps({"benchmark": "", **MEASURED, "rows": rows}), "utf-8")
    (tmp_path / "p-q1.json").write_text(json.dumps({"benchmark": "", **MEASURED, "rows": ROWS}), "utf-8")
    monkeypatch.setattr(sys, "argv", ["page", str(tmp_path), str(tmp_path / "page.md")])
    page.main()
    told = (tmp_path / "page.md").read_text("utf-8")
    assert "Version 0.2.0, 2026-11-29. Of the" in told
    assert "rows 10 were run. Worse by more than 3 points, beyond chance: 1." in told
    listed = [line for line in told.splitlines() if line.startswith("| r-shift |")]
    assert listed[0] == "| r-shift | 3 | 3 | 30 | 12.0 | 20.0 | 11.0 | 4.0 +- 0.5 |"
    assert len(listed) == 8


def test_the_published_page_is_what_its_files_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / PAGE.name
    monkeypatch.setattr(sys, "argv", ["page", str(PAGE.with_suffix("")), str(made)])
    page.main()
    assert made.read_text("utf-8") == PAGE.read_text("utf-8")
    sections = made.read_text("utf-8").split("\n## ")[1:]
    assert [one.partition("\n")[0] for one in sections if "Version " not in one] == []


def test_no_published_row_is_worse_than_even_dropping_by_more_than_is_allowed() -> None:
    rows = json.loads((PAGE.with_suffix("") / "robustness.json").read_text("utf-8"))["rows"]
    wanted = {place for one in EXPERIMENTS for place in places(one, SHARES)}
    assert {(row["experiment"], row["value"], row["train %"] / 100) for row in rows} == wanted
    for row in rows:
        even = min(row[f"{name} missed %"] for name in EVEN)
        assert row["worse, points"] == pytest.approx(row["auto missed %"] - even), row
        assert row["worse, points"] + row["+-"] <= ALLOWED, row
