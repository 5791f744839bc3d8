"""The choice of features (papers G1): the values that queries compare, in bins as fine as a sample can be counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterator, Sequence

import numpy as np

from saffron.engine.events.column_operations import column_values, slice_columns
from saffron.engine.events.columns import Column, Columns
from saffron.engine.models.features.asked_features import Asked, asked_of
from saffron.engine.models.features.feature_columns import as_floats
from saffron.engine.models.features.feature_keys import FeatureKeys
from saffron.engine.models.features.features import MOST_BINS, Binned, FeatureSpec, Pane, Value
from saffron.language.plan.plan import Plan
from saffron.schema.schema import Kind, Schema

MOST_KINDS = 64
MOST_ATTRIBUTES = 8
EVENTS_PER_KEY = 8
"""A key should occur so often in the sample on average: one that is seen once or twice teaches little."""
SAMPLE = 20_000
"""Events of a sample that are looked at, at most."""
PANE = Pane(10)

_FINEST = 1 << 12
_GRAINS = ((1.0, 7), (1.3, 7), (1.3, 3), (1.7, 3), (2.5, 3), (2.5, 1), (math.inf, 1), (0.0, 1), (0.0, 0))
"""Levels of detail from fine to coarse: (growth of frequency bins, edges of an attribute not compared with constants).

Growth 1.0 gives a bin to each number; inf tells only zero from more; 0.0 leaves frequencies out.
"""


def choose_features(
    plans: Sequence[Plan], schema: Schema, sample: Columns, *, pane: Pane = PANE, seed: int = 0
) -> FeatureSpec:
    """Features for the events that these queries read; the finest of a few that `sample` can teach.

    Events of no type, string or integer that a query names are one kind. A number that is compared with constants has
    their places as edges; one that is compared otherwise has quantiles of the sample.
    """
    asked, sample = asked_of(plans), slice_columns(sample, 0, SAMPLE)
    kinds = _kinds(asked, schema)
    known = _known(asked, kinds, sample)
    conditions = tuple(asked.comparisons)
    chosen = FeatureSpec()
    for growth, quantiles in _GRAINS:
        chosen = FeatureSpec(
            kinds=kinds,
            known=known,
            pane=pane,
            frequency_edges=tuple(_frequency_edges(growth, pane, len(sample))),
            attributes=tuple(_attributes(asked, schema, sample, quantiles)),
            conditions=conditions,
            seed=seed,
        )
        distinct = len(FeatureKeys(chosen).apply(sample).distinct)
        if 0 < distinct * EVENTS_PER_KEY <= len(sample):
            break
    return chosen


def covers(spec: FeatureSpec, plans: Sequence[Plan], schema: Schema) -> bool:
    """True if features chosen by another sample of the stream have all that these queries name, compare and ask of an
    event.

    Only quantiles, and other values that are told apart, come from the sample.
    """
    asked = asked_of(plans)
    kinds = _kinds(asked, schema)
    if spec.kinds != kinds or set(spec.conditions) != set(asked.comparisons):
        return False
    values = [{values[index] for values in spec.known} for index in range(len(kinds))]
    named = [set(asked.types if name == "type" else asked.named[name]) for name in kinds]
    edges = {one.name: set(one.edges) for one in spec.attributes}
    cuts = {name: _cuts(asked, name) for name in asked.cuts if not schema.kinds.get(name, Kind.STRING).has_texts}
    return all(one <= known for one, known in zip(named, values, strict=True)) and all(
        cut <= edges.get(name, set()) for name, cut in cuts.items()
    )


def _kinds(asked: Asked, schema: Schema) -> tuple[str, ...]:
    return ("type", *(name for name in asked.named if name in schema.kinds))


def _known(asked: Asked, kinds: Sequence[str], sample: Columns) -> tuple[tuple[Value, ...], ...]:
    """Combinations of named values: those of the patterns' types, then what else the sample has, the frequent first."""
    found: dict[tuple[Value, ...], None] = {(name, *(None for _ in kinds[1:])): None for name in asked.types}
    columns = [
        _named(sample.type, asked.types) if name == "type" else _named(sample.attributes[name], asked.named[name])
        for name in kinds
    ]
    counts = Counter(zip(*columns, strict=True))
    found |= dict.fromkeys(sorted(counts, key=lambda values: (-counts[values], repr(values))))
    return tuple(found)[:MOST_KINDS]


def _named(column: Column, values: Container[object]) -> list[Value]:
    """Each event's value where it is among `values`, else None."""
    return [value if isinstance(value, str | int) and value in values else None for value in column_values(column)]


def _frequency_edges(growth: float, pane: Pane, sample: int) -> Iterator[int]:
    """The edges of frequency bins: from 1 on, each `growth` times the last, or one more, up to the size of a pane."""
    most = min(pane.length if pane.events else sample, _FINEST)
    if growth <= 0:
        return
    edge = 1
    while edge <= most:
        yield edge
        if math.isinf(growth):
            return
        edge = max(edge + 1, int(edge * growth))


def _attributes(asked: Asked, schema: Schema, sample: Columns, quantiles: int) -> Iterator[Binned]:
    """The numbers and truth values that conditions read, with their edges, at most MOST_ATTRIBUTES.

    `quantiles`: how many of the sample become edges where a condition reads a number without a constant. Of more than
    MOST_BINS - 1 edges the lowest stay.
    """
    names = dict.fromkeys((*asked.cuts, *asked.free))
    number = 0
    for name in names:
        kind = schema.kinds.get(name)
        if kind is None or kind.has_texts or number >= MOST_ATTRIBUTES:
            continue
        edges = _cuts(asked, name)
        if name in asked.free:
            edges |= {1.0} if kind is Kind.BOOL else _quantiles(as_floats(sample.attributes[name]), quantiles)
        if edges:
            number += 1
            yield Binned(name, tuple(sorted(edges)[: MOST_BINS - 1]))


def _cuts(asked: Asked, name: str) -> set[float]:
    """The numbers at which a comparison of an attribute with a constant changes its truth."""
    return {edge for operator, constant in asked.cuts.get(name, {}) for edge in _edges_at(operator, constant)}


def _edges_at(operator: str, constant: float) -> set[float]:
    """The numbers at which a comparison with a constant changes its truth."""
    above = math.nextafter(constant, math.inf)
    return {"<": {constant}, ">=": {constant}, "<=": {above}, ">": {above}}.get(operator, {constant, above})


def _quantiles(values: np.typing.NDArray[np.float64], number: int) -> set[float]:
    values = values[np.isfinite(values)]
    if not len(values) or not number:
        return set()
    places = np.arange(1, number + 1) / (number + 1)
    return {float(edge) for edge in np.quantile(values, places, method="higher")} - {float(values.min())}
