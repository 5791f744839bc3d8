"""HAVING over all results at once keeps what it keeps of each by itself."""

from __future__ import annotations

import numpy as np
import pytest

from saffron.engine.events.strings import Strings
from saffron.engine.trends.core.layout import O_WORDS
from saffron.engine.trends.core.measures import measures_of
from saffron.engine.trends.values.returns import Returns, Rows
from saffron.language import compile_query
from saffron.language.plan.trend_plan import TrendPlan

CONDITIONS = [
    *(f"COUNT(*) {sign} {value}" for sign in ("<", "<=", ">", ">=", "=", "!=") for value in ("3", "-1", "2.5", "1e30")),
    "COUNT(A) > 3",
    "3 < COUNT(*)",
    "COUNT(*) > COUNT(A)",
    "SUM(A.x) > 3",
    "COUNT(*) > 3 OR COUNT(A) = 2",
]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("largest_scale", [0, 70])
def test_what_is_kept(condition: str, largest_scale: int) -> None:
    kept = []  # of the second form each row is asked by itself
    for asked in (condition, f"({condition}) AND 1 = 1"):
        plan = compile_query(f"RETURN COUNT(*) PATTERN A+ WITHIN 9 ms HAVING {asked}", None, name="q")
        assert isinstance(plan, TrendPlan)
        measures = measures_of(plan)
        generator = np.random.default_rng(7)
        shape = 40, len(measures.numbers)
        out = np.zeros((40, O_WORDS), dtype=np.int64)
        out[:, 0] = np.arange(40)
        scales = generator.integers(0, largest_scale + 1, shape).astype(np.int32) & ~1
        rows = Rows(out, generator.integers(1, 6, shape), scales, np.zeros((40, 0)))
        kept.append(Returns(plan, measures, ()).kept(rows, Strings()).out[:, 0].tolist())
    assert kept[0] == kept[1]
