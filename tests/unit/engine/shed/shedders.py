"""Shedders of the product and of experiments, by name."""

from __future__ import annotations

from collections.abc import Mapping

from saffron.engine.shed.drops.shedders import Shedder
from saffron.experiments.baselines import acting
from saffron.experiments.kind_rates import KindRates


def shedder(name: str, rates: Mapping[str, KindRates] | None = None) -> Shedder:
    """`rates`: of kinds of events, by query."""
    return acting(name, rates or {}).shedder
