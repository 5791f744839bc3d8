"""A model of events as named flat arrays with a small head, and back with every check that a reader needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.features.curve import Curve
from saffron.engine.models.features.event_model import BY_FOREST, BY_KEY, BY_POSITION, BY_TREE, EventModel, SortedMap
from saffron.engine.models.features.features import FeatureSpec
from saffron.engine.models.features.forest import Forest
from saffron.engine.models.transitions.model import offsets_of
from saffron.records.envelope import Version

Array = NDArray[Any]
Arrays = Mapping[str, Array]

_CURVE = ("lower", "upper", "end", "share", "lost", "false")
_FOREST = ("nodes", "values", "roots")
_TABLE = ("keys", "values")


def arrays_of(model: EventModel) -> dict[str, Array]:
    """The model's numbers, one-dimensional, by name."""
    found = {"kinds": model.kinds, "positions": model.positions.ravel()}
    parts: dict[str, tuple[object, tuple[str, ...]]] = {
        "keys": (model.keys, _TABLE),
        "contents": (model.contents, _TABLE),
        "contributions": (model.contributions, _TABLE),
        "content_contributions": (model.content_contributions, _TABLE),
        **{f"curves.{shedder}": (curve, _CURVE) for shedder, curve in sorted(model.curves.items())},
        **{f"trees.{name}": (trees, _FOREST) for name, trees in sorted(_trees(model).items())},
    }
    for name, (part, fields) in parts.items():
        found |= {f"{name}.{field}": getattr(part, field).ravel() for field in fields}
    return found


def head_of(model: EventModel) -> dict[str, Any]:
    """The parts of a model that are no arrays."""
    return {
        "spec": model.spec.body(),
        "overall": model.overall,
        "matches": model.matches,
        "length": model.length,
        "curves": sorted(model.curves),
        "trees": sorted(_trees(model)),
    }


def model_of(content: Mapping[str, Any], version: Version, head: Mapping[str, Any], arrays: Arrays) -> EventModel:
    """The model; KeyError, TypeError or ValueError where a part is missing or does not fit the others.

    "length" may be missing, as records of older versions lack it.
    """
    spec = FeatureSpec.of(head["spec"])
    trees = {str(name): _forest(arrays, str(name), len(spec.fields)) for name in head["trees"]}
    curves = {str(name): _curve(arrays, str(name)) for name in head["curves"]}
    _expect(set(curves) <= {BY_KEY, BY_TREE, BY_FOREST, BY_POSITION}, "thresholds of an unknown order")
    _expect(set(trees) == set(curves) & {BY_TREE, BY_FOREST}, "trees without thresholds, or thresholds without trees")
    length = float(head.get("length", 0.0))
    _expect(0 <= length < np.inf, f"matches of {length} events")
    kinds, positions = arrays["kinds"], arrays["positions"]
    _expect(len(kinds) == spec.codes and len(positions) % spec.codes == 0, "tables by kind for other kinds")
    return EventModel(
        query=str(content["query"]),
        query_version=int(content["query_version"]),
        version=version,
        spec=spec,
        keys=_table(arrays, "keys"),
        contents=_table(arrays, "contents"),
        contributions=_table(arrays, "contributions"),
        content_contributions=_table(arrays, "content_contributions"),
        kinds=kinds,
        overall=float(head["overall"]),
        tree=trees.get(BY_TREE),
        forest=trees.get(BY_FOREST),
        positions=positions.reshape(spec.codes, -1),
        curves=curves,
        matches=float(head["matches"]),
        observations=int(content["observations"]),
        trained_through=offsets_of(content["trained_through"]),
        length=length,
    )


def _trees(model: EventModel) -> dict[str, Forest]:
    return {name: trees for name, trees in ((BY_TREE, model.tree), (BY_FOREST, model.forest)) if trees is not None}


def _table(arrays: Arrays, name: str) -> SortedMap:
    keys, values = (arrays[f"{name}.{field}"] for field in _TABLE)
    _expect(len(keys) == len(values) and bool((keys[1:] > keys[:-1]).all()), f"{name} that do not ascend")
    _expect(bool(np.isfinite(values).all()), f"{name} of no value")
    return SortedMap(keys, values)


def _forest(arrays: Arrays, name: str, fields: int) -> Forest:
    nodes, values, roots = (arrays[f"trees.{name}.{field}"] for field in _FOREST)
    forest = Forest(nodes.reshape(-1, 4), values, roots)
    _expect(forest.fits(fields), f"{name} that cannot be walked")
    return forest


def _curve(arrays: Arrays, name: str) -> Curve:
    curve = Curve(*(arrays[f"curves.{name}.{field}"] for field in _CURVE))
    _expect(len(curve.lower) == len(curve.upper) == len(curve.end), f"levels of {name} that do not fit")
    points = {len(one) for one in (curve.share, curve.lost, curve.false)}
    _expect(len(points) == 1 and 0 not in points, f"points of {name} that do not fit")
    for rising in (curve.end, curve.share):
        _expect(bool((np.diff(rising) >= 0).all()), f"shares of {name} that fall")
    return curve


def _expect(fits: bool, message: str) -> None:
    if not fits:
        raise ValueError(message)
