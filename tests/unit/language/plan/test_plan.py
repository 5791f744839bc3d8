"""The plan's limits are those of the engine that runs it (the matcher reads its own from the plan)."""

from __future__ import annotations

from saffron.engine.trends.core import limits
from saffron.language.plan.limits import MAX_STATES


def test_every_plan_that_binds_can_be_compiled() -> None:
    assert MAX_STATES <= limits.MAX_STATES
