"""Shedders of partial matches: what an order says each of them is worth (P5, P8, P10).

pspice     U = w P / tau: the weight of its query, its probability to complete, and what it still costs until then.
pspice--   U = w P.
pm-bl      each partial match is as good as any other: which go is a seeded draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.models.transitions.partial_match import PartialMatchModel, partial_match_models
from saffron.engine.shed.drops.partial_curve import PartialCurve, partial_curve

_BY_TIME = {"pspice": True, "auto": True, "pspice--": False}


@dataclass
class UtilityTables:
    """What orders say, kept as long as models and weights stay the same: tables are large."""

    seed: int
    _models: Mapping[str, TransitionModel] = field(default_factory=dict)
    _weights: Mapping[str, float] = field(default_factory=dict)
    _tables: dict[bool, Mapping[str, PartialMatchModel]] = field(default_factory=dict)
    _bodies: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    _curves: dict[tuple[str, str], PartialCurve] = field(default_factory=dict)

    def use(self, models: Mapping[str, TransitionModel], weights: Mapping[str, float]) -> None:
        """The models in force by query, and the weights of queries."""
        versions = {query: model.version for query, model in models.items()}
        if versions != {query: model.version for query, model in self._models.items()} or weights != self._weights:
            self._models, self._weights = dict(models), dict(weights)
            self._tables, self._bodies, self._curves = {}, {}, {}

    def of(self, query: str, by: str) -> Mapping[str, Any]:
        """What a "keep" record says of a query that the shedder `by` acts on; without a model it is drawn, as PM-BL."""
        body = self._bodies.get((query, by))
        if body is None:
            body = self._bodies[query, by] = self._body(query, by)
        return body

    def curve(self, query: str, by: str) -> PartialCurve | None:
        """What dropping its partial matches loses; None without a model, and where they are drawn."""
        model = self._models.get(query)
        if model is None or by == "pm-bl":
            return None
        if (query, by) not in self._curves:
            self._curves[query, by] = partial_curve(model, self._table(query, by).utility)
        return self._curves[query, by]

    def _body(self, query: str, by: str) -> Mapping[str, Any]:
        model = self._models.get(query)
        if model is None:
            return {"utility": [], "loss": [], "bin": 1, "per_ms": 0.0, "by": "random", "seed": self.seed}
        table = self._table(query, by).body()
        if by == "pm-bl":
            return {**table, "utility": [], "by": "random", "seed": self.seed}
        return {**table, "by": "utility"}

    def _table(self, query: str, by: str) -> PartialMatchModel:
        """Tables of all queries are made together, for they compare."""
        by_time = _BY_TIME.get(by, True)
        if by_time not in self._tables:
            self._tables[by_time] = partial_match_models(list(self._models.values()), self._weights, by_time=by_time)
        return self._tables[by_time][query]
