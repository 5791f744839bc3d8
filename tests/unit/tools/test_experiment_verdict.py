"""What runs on the real pipeline show."""

from __future__ import annotations

from typing import Any

from experiments.verdict import verdict

BOUND = 1000.0


def row(shedder: str, late: float, missed: float = 0.0, virtual: float = 0.0) -> dict[str, Any]:
    return {"n": 4, "shedder": shedder, "p99.9 ms": late, "missed %": missed, "virtual missed %": virtual, "+-": 1.5}


def test_all_is_held() -> None:
    (told,) = verdict("n", [row("none", 7000.0), row("auto", 900.0, 10.0, 14.9)], BOUND)
    assert "with it held" in told


def test_a_load_that_needs_no_shedding_shows_nothing() -> None:
    (told,) = verdict("n", [row("none", 1000.0), row("auto", 900.0)], BOUND)
    assert told == "n 4, none: p99.9 is 1000 ms, so that this shows nothing: it takes more --seconds, or a higher rate"


def test_a_broken_bound_and_clocks_that_disagree_are_told() -> None:
    told = verdict("n", [row("none", 7000.0), row("auto", 1120.0), row("pspice", 900.0, 5.0, 10.5)], BOUND)
    assert told == [
        "n 4, auto: the bound is broken, p99.9 is 1120 ms",
        "n 4, pspice: 5.5 points from the virtual clock, at a standard error of 1.5",
    ]
