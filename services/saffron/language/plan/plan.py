"""The plan of a query."""

from __future__ import annotations

from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.trend_plan import TrendPlan

Plan = MatchPlan | TrendPlan
