"""The trainer of event models: from counts to tables, trees and thresholds. Equal counts, equal model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.events.event_refusals import with_refusals
from saffron.engine.models.events.event_times import times_saved
from saffron.engine.models.events.position_curve import position_curve, position_table
from saffron.engine.models.events.validation import validated
from saffron.engine.models.features.contributions import PRIOR, contributions, shrunk
from saffron.engine.models.features.curve import Curve, curve_of
from saffron.engine.models.features.event_model import BY_FOREST, BY_KEY, BY_POSITION, BY_TREE, EventModel, SortedMap
from saffron.engine.models.features.feature_counts import WEIGHT, FeatureCounts, Half
from saffron.engine.models.features.feature_keys import content_keys, rows_of
from saffron.engine.models.features.features import FeatureSpec
from saffron.engine.models.features.forest import Forest, train_forest, train_tree
from saffron.engine.models.transitions.model import Offsets
from saffron.records.envelope import Version

Floats = NDArray[np.float64]

LEAST_KEYS = 4
"""Different keys with vectors below which no tree is fitted."""


@dataclass(frozen=True)
class Learned:
    """The values of keys learned from one set of counts: a model without its thresholds."""

    spec: FeatureSpec
    keys: SortedMap
    contents: SortedMap
    kinds: Floats
    overall: float
    tree: Forest | None
    forest: Forest | None


def train_events(
    counts: FeatureCounts,
    spec: FeatureSpec,
    version: Version,
    trained_through: Offsets,
    *,
    prior: float = PRIOR,
    trees: bool = True,
) -> EventModel:
    """The event model of a query: utilities by key, content, kind and position, and curves of loss by shedder.

    `prior`: the weight, in events, that the mean of a content has in a key's utility. `trees`: fit the tree and the
    forest too, which needs scikit-learn.

    Shares of matches lost are those of each half's matches under what the other half taught, where both have matches.
    """
    whole, vectors = with_refusals(counts.whole()), fitting_vectors(counts, spec)
    halves = _crossed(tuple(with_refusals(half) for half in counts.halves))
    saved = _saved(whole, vectors, spec)
    learned, *taught = (learn(half, vectors, spec, saved, prior=prior, trees=trees) for half in (whole, *halves))
    parts, content_parts = contributions(whole, halves, vectors, spec)
    return EventModel(
        query=counts.query,
        query_version=counts.query_version,
        version=version,
        spec=spec,
        keys=learned.keys,
        contents=learned.contents,
        contributions=parts,
        content_contributions=content_parts,
        kinds=learned.kinds,
        overall=learned.overall,
        tree=learned.tree,
        forest=learned.forest,
        positions=position_table(whole.positions, spec.codes),
        curves=_curves(whole, halves, learned, taught, vectors),
        matches=sum(whole.matches.lists().values()) / WEIGHT,
        observations=counts.observations,
        trained_through=trained_through,
        length=whole.matches.length if whole.matches else 0.0,
    )


def _saved(half: Half, vectors: Mapping[int, tuple[int, ...]], spec: FeatureSpec) -> dict[int, float]:
    """The time that dropping an event saves (see `event_times`), by key. Keys of unknown vectors are left out."""
    contents = dict(zip(vectors, content_keys(spec, rows_of(spec, vectors, vectors)).tolist(), strict=True))
    times = times_saved(half, contents)
    return {key: times[content] for key, content in contents.items() if content in times}


def learn(
    half: Half,
    vectors: Mapping[int, tuple[int, ...]],
    spec: FeatureSpec,
    saved: Mapping[int, float],
    *,
    prior: float,
    trees: bool,
) -> Learned:
    """The utilities (G3) of keys, contents and kinds, and the trees fitted to them (G5).

    A contribution counts by the time that is `saved` by dropping an event of its key, 1 where that is not known. Trees
    are fitted to the utilities of keys in the table. These are shrunk: each key is treated as if some events of its
    content's mean had been seen before. Utilities of the few events of a key alone would give leaves that tell chance.
    """
    keys = np.array(sorted(key for key, count in half.occurrences.items() if count), dtype=np.uint64)
    occurrences = np.array([half.occurrences[key] for key in keys.tolist()], dtype=np.float64)
    contributed = np.array([half.contributions.get(key, 0) for key in keys.tolist()], dtype=np.float64) / WEIGHT
    contributed /= np.array([saved.get(key, 1.0) for key in keys.tolist()])
    overall = float(contributed.sum() / occurrences.sum()) if len(keys) else 0.0
    seen = np.array([key in vectors for key in keys.tolist()], dtype=np.bool_)
    rows = rows_of(spec, vectors, keys[seen].tolist())
    contents, means = _contents(spec, rows, contributed[seen], occurrences[seen])
    codes = rows[:, 0].astype(np.int64)
    by_kind = np.bincount(codes, occurrences[seen], spec.codes)
    with np.errstate(invalid="ignore"):
        kinds = np.bincount(codes, contributed[seen], spec.codes) / by_kind
    before = np.full(len(keys), overall)
    before[seen] = means
    utility = shrunk((contributed, occurrences), before, prior)
    tree = forest = None
    if trees and len(rows) >= LEAST_KEYS:
        grown = rows, utility[seen], occurrences[seen], spec.seed
        tree, forest = train_tree(*grown), train_forest(*grown)
    return Learned(spec, SortedMap(keys, utility), contents, kinds, overall, tree, forest)


def _contents(
    spec: FeatureSpec, rows: NDArray[np.int16], contributions: Floats, occurrences: Floats
) -> tuple[SortedMap, Floats]:
    """Mean utility by content, and that of each row's."""
    keys, place = np.unique(content_keys(spec, rows), return_inverse=True)
    means = np.bincount(place, contributions, len(keys)) / np.bincount(place, occurrences, len(keys))
    return SortedMap(keys, means), means[place]


def _by_key(learned: Learned, half: Half, vectors: Mapping[int, tuple[int, ...]]) -> dict[int, float]:
    """Utilities of all keys of `half` by a model, perhaps of another half; see `EventModel.by_key`."""
    keys = _keys_of(half)
    own = learned.keys.of(np.array(keys, dtype=np.uint64))
    known = [index for index, key in enumerate(keys) if np.isnan(own[index]) and key in vectors]
    rows = rows_of(learned.spec, vectors, (keys[index] for index in known))
    found = learned.contents.of(content_keys(learned.spec, rows))
    own[known] = np.where(np.isnan(found), learned.kinds[rows[:, 0]], found)
    own[np.isnan(own)] = learned.overall
    return dict(zip(keys, own.tolist(), strict=True))


def _by_forest(
    forest: Forest | None, learned: Learned, half: Half, vectors: Mapping[int, tuple[int, ...]]
) -> dict[int, float] | None:
    """Utilities of all keys of `half` by a tree or forest; None without one.

    A key without a known vector has the overall mean of `learned`.
    """
    if forest is None:
        return None
    keys = _keys_of(half)
    known = [key for key in keys if key in vectors]
    rows = rows_of(learned.spec, vectors, known)
    found = dict(zip(known, forest.utilities(rows).tolist(), strict=True))
    return {key: found.get(key, learned.overall) for key in keys}


Worth = Callable[[Learned, Half, Mapping[int, tuple[int, ...]]], dict[int, float] | None]

_SHEDDERS: Mapping[str, Worth] = {
    BY_KEY: _by_key,
    BY_TREE: lambda learned, half, vectors: _by_forest(learned.tree, learned, half, vectors),
    BY_FOREST: lambda learned, half, vectors: _by_forest(learned.forest, learned, half, vectors),
}


def _crossed(halves: tuple[Half, ...]) -> tuple[Half, ...]:
    """The halves if each can be tried on the other: both have matches."""
    return halves if all(half.matches for half in halves) else ()


def _curves(
    whole: Half,
    halves: tuple[Half, ...],
    learned: Learned,
    taught: Sequence[Learned],
    vectors: Mapping[int, tuple[int, ...]],
) -> dict[str, Curve]:
    """Thresholds by shedder, where it can be taught; `taught`: by each of `halves`, none where none can be tried."""
    curves = {}
    for shedder, worth in _SHEDDERS.items():
        values = worth(learned, whole, vectors)
        if values is None:
            continue
        curve = curve_of(values, whole.occurrences, whole.matches.lists(), whole.abandoned.lists())
        tried = [_tried(worth, other, half, vectors) for other, half in zip(taught[::-1], halves, strict=True)]
        curves[shedder] = validated(curve, [one for one in tried if one is not None], whole.matches.length)
    if whole.positions:
        curve, others = _curves_by_position(whole, halves, learned, taught, vectors)
        curves[BY_POSITION] = validated(curve, others, whole.matches.length)
    return curves


def _tried(
    worth: Worth, learned: Learned, half: Half, vectors: Mapping[int, tuple[int, ...]]
) -> tuple[Curve, int] | None:
    """The curve of one half's events under the model of the other half, and the weight of its matches."""
    values = worth(learned, half, vectors)
    if values is None:
        return None
    matches = half.matches.lists()
    return curve_of(values, half.occurrences, matches, half.abandoned.lists()), sum(matches.values())


def _curves_by_position(
    whole: Half,
    halves: tuple[Half, ...],
    learned: Learned,
    taught: Sequence[Learned],
    vectors: Mapping[int, tuple[int, ...]],
) -> tuple[Curve, list[tuple[Curve, int]]]:
    """eSPICE's curve of all observations, and one of each half tried on the other half's matches."""

    def curve(half: Half, table: Floats, known: Learned) -> Curve:
        return position_curve(half, table, known.kinds, known.overall, _refused(half, vectors))

    tables = [position_table(half.positions, learned.spec.codes) for half in (whole, *halves)]
    others = [
        (curve(half, table, other), sum(half.matches.lists().values()))
        for half, table, other in zip(halves, tables[:0:-1], taught[::-1], strict=True)
    ]
    return curve(whole, tables[0], learned), others


def _refused(half: Half, vectors: Mapping[int, tuple[int, ...]]) -> dict[int, int]:
    """The weight of the partial matches that events of a kind end by a NOT, by kind."""
    found: dict[int, int] = {}
    for keys, weight in half.abandoned.lists().items():
        for key in keys:
            if key in vectors:
                kind = vectors[key][0]
                found[kind] = found.get(kind, 0) + weight
    return found


def _keys_of(half: Half) -> list[int]:
    """All keys that occur in counts or lists."""
    listed = (key for lists in (half.matches.held, half.abandoned.held) for keys in lists for key in keys)
    return sorted({*half.occurrences, *half.contributions, *listed})


def fitting_vectors(counts: FeatureCounts, spec: FeatureSpec) -> dict[int, tuple[int, ...]]:
    """Vectors by key, those of this specification alone: one wrong message stops nothing."""
    fields = spec.fields
    return {
        key: vector
        for key, vector in counts.vectors.items()
        if len(vector) == len(fields) and all(0 <= n < most for n, most in zip(vector, fields, strict=True))
    }
