"""Utilities of partial matches as drop orders carry them (P5, P8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.models.transitions.partial_match import PartialMatchModel
from saffron.engine.shed.drops.partial_curve import PartialCurve, partial_curve
from saffron.engine.shed.drops.shedders import PartialOrder, Tables


@dataclass
class UtilityTables:
    """The bodies of drop orders, kept as long as models and weights stay the same, since tables are large."""

    seed: int
    _models: Mapping[str, TransitionModel] = field(default_factory=dict)
    _weights: Mapping[str, float] = field(default_factory=dict)
    _tables: dict[Tables, Mapping[str, PartialMatchModel]] = field(default_factory=dict)
    _bodies: dict[tuple[str, PartialOrder], Mapping[str, Any]] = field(default_factory=dict)
    _curves: dict[tuple[str, PartialOrder], PartialCurve] = field(default_factory=dict)

    def use(self, models: Mapping[str, TransitionModel], weights: Mapping[str, float]) -> None:
        """Put transition models in force, by query, with the weights of queries."""
        versions = {query: model.version for query, model in models.items()}
        if versions != {query: model.version for query, model in self._models.items()} or weights != self._weights:
            self._models, self._weights = dict(models), dict(weights)
            self._tables, self._bodies, self._curves = {}, {}, {}

    def of(self, query: str, by: PartialOrder) -> Mapping[str, Any]:
        """The part of a "keep" record about a query under this order. Without a model its partial matches are drawn."""
        body = self._bodies.get((query, by))
        if body is None:
            body = self._bodies[query, by] = self._body(query, by)
        return body

    def curve(self, query: str, by: PartialOrder) -> PartialCurve | None:
        """The loss curve of dropping its partial matches; None without a model, and where they are drawn."""
        model = self._models.get(query)
        if model is None or not by.ranks:
            return None
        if (query, by) not in self._curves:
            self._curves[query, by] = partial_curve(model, self._table(query, by).utility)
        return self._curves[query, by]

    def _body(self, query: str, by: PartialOrder) -> Mapping[str, Any]:
        model = self._models.get(query)
        if model is None:
            return {"utility": [], "loss": [], "bin": 1, "per_ms": 0.0, "by": "random", "seed": self.seed}
        table = self._table(query, by).body()
        if by.ranks:
            return {**table, "by": "utility"}
        return {**table, "utility": [], "by": "random", "seed": self.seed}

    def _table(self, query: str, by: PartialOrder) -> PartialMatchModel:
        """Tables of all queries are made together, for they compare."""
        if by.tables not in self._tables:
            self._tables[by.tables] = by.tables(list(self._models.values()), self._weights)
        return self._tables[by.tables][query]
