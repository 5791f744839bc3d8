"""The plan of a query."""

from __future__ import annotations

from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.trend_plan import TrendPlan

Plan = MatchPlan | TrendPlan
UNTIL_SEEN = "until one has, a type is never met, and an attribute is null"
"""What the names mean that a plan waits for: those which no event has had yet."""
