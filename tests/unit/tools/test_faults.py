"""The plan of faults, and the comparison of what was seen with what is right."""

from __future__ import annotations

import json

import pytest
from faults.plan import Kind, plan
from faults.verdict import Verdict, verdict

PLACE = ("complex-events", 0)
ONE, TWO, THREE = (json.dumps({"id": name, "detected_at": 1}, separators=(",", ":")).encode() for name in "abc")


def test_a_plan_has_every_kind_in_the_order_of_the_events_and_is_the_same_by_its_seed() -> None:
    faults = plan(7, 20, 1000)
    assert faults == plan(7, 20, 1000) != plan(8, 20, 1000)
    assert {one.kind for one in faults} == set(Kind)
    assert [one.after for one in faults] == sorted(one.after for one in faults)
    assert all(0 < one.after < 1000 and one.targets for one in faults)


@pytest.mark.parametrize(
    ("seen", "counts"),
    [
        ([ONE, TWO], (0, 0, 0, 0, 0)),
        ([ONE.replace(b":1", b":2"), TWO], (0, 0, 0, 0, 0)),
        ([ONE], (1, 0, 0, 0, 0)),
        ([ONE, ONE, TWO], (0, 1, 0, 0, 0)),
        ([ONE, TWO, THREE], (0, 0, 1, 0, 0)),
        ([TWO, ONE], (0, 0, 0, 0, 1)),
        ([ONE, TWO[:-1] + b',"x":1}'], (0, 0, 0, 1, 0)),
    ],
)
def test_what_is_lost_doubled_extra_changed_or_out_of_order_is_counted(
    seen: list[bytes], counts: tuple[int, int, int, int, int]
) -> None:
    found = verdict({PLACE: seen}, {PLACE: [ONE, TWO]})
    assert found == Verdict(2, *counts)
    assert found.right == (sum(counts) == 0)


def test_a_dead_letter_is_wrong_though_all_results_are_right() -> None:
    assert not verdict({PLACE: [ONE]}, {PLACE: [ONE]}, letters=1).right
