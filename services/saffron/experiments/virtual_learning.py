"""Models of events from the training share: the features of the queries, and their counts in matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from saffron.distribution import install
from saffron.engine.models.events.event_refusals import with_refusals
from saffron.engine.models.events.event_trainer import fitting_vectors, train_events
from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.features.feature_counts import FeatureCounts
from saffron.engine.models.features.features import FeatureSpec
from saffron.engine.shed.drops.shedders import FOREST, TREE, Shedder
from saffron.errors import InputError
from saffron.experiments.kind_rates import KindRates, kind_rates

VERSION = (0, 0)


@dataclass(frozen=True)
class Learning:
    """The choice of models to train. `spec`: the features of events; None: no model of events.

    `shedder`: the one that will use the models, which may need trees.
    """

    spec: FeatureSpec | None
    shedder: Shedder

    @property
    def trees(self) -> bool:
        return TREE in self.shedder.events or FOREST in self.shedder.events


@dataclass(frozen=True)
class Lessons:
    """The models of events from the training share. `rates`: of kinds of events by query, for baselines."""

    models: tuple[EventModel, ...] = ()
    rates: Mapping[str, KindRates] = field(default_factory=dict)


def learn(rows: Sequence[Mapping[str, Any]], learning: Learning) -> Lessons:
    """The models from rows of `observations.features`, of each query that has matches to learn from."""
    spec = learning.spec
    if spec is None:
        return Lessons()
    books: dict[tuple[str, int], FeatureCounts] = {}
    for row in rows:
        identity = str(row["query"]), int(row["query_version"])
        books.setdefault(identity, FeatureCounts(*identity, spec.identity)).add(row)
    learned = [counts for counts in books.values() if any(half.matches for half in counts.halves)]
    models = tuple(_trained(counts, spec, learning) for counts in learned)
    return Lessons(models, {counts.query: rates_of(counts, spec) for counts in learned})


def rates_of(counts: FeatureCounts, spec: FeatureSpec) -> KindRates:
    """The rates of kinds of events, from counts."""
    kinds = {key: vector[0] for key, vector in fitting_vectors(counts, spec).items()}
    return kind_rates(with_refusals(counts.whole()), kinds, spec.codes)


def _trained(counts: FeatureCounts, spec: FeatureSpec, learning: Learning) -> EventModel:
    try:
        return train_events(counts, spec, VERSION, {}, trees=learning.trees)
    except ImportError as error:
        if len(learning.shedder.events) > 1:
            return train_events(counts, spec, VERSION, {}, trees=False)
        raise InputError(f"{learning.shedder.name} is trained with scikit-learn: {install('model-builder')}") from error
