"""`--only` of a benchmark names what there is, or ends with the names."""

from __future__ import annotations

import pytest
from bench.shared.table import picked

NAMES = ("abc_any", "abc_next", "stock")


@pytest.mark.parametrize(
    ("only", "right"),
    [("*", NAMES), ("stock", ("stock",)), ("stock,abc_*", NAMES), ("*_next,abc_next", ("abc_next",))],
)
def test_names_and_patterns_pick_in_the_order_of_the_names(only: str, right: tuple[str, ...]) -> None:
    assert tuple(picked(only, NAMES)) == right


@pytest.mark.parametrize("only", ["nosuch", "stock,nosuch", "", "stock,"])
def test_a_name_of_nothing_ends_the_benchmark_with_what_there_is(only: str) -> None:
    with pytest.raises(SystemExit, match=r"nothing is called .*; there are: abc_any, abc_next, stock"):
        picked(only, NAMES)
