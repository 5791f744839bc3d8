"""The plan's limits are those of the engines that run it."""

from __future__ import annotations

from saffron.engine.match import layout
from saffron.engine.trends import wiring
from saffron.language import plan


def test_every_plan_that_binds_can_be_compiled() -> None:
    assert plan.MAX_COMPONENTS <= layout.MAX_COMPONENTS
    assert plan.MAX_STATES <= wiring.MAX_STATES
