"""Models of events from the training share: the features that queries ask for, and what matches say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saffron.distribution import install
from saffron.engine.models.events.event_trainer import train_events
from saffron.engine.models.features.event_model import BY_FOREST, BY_TREE, EventModel
from saffron.engine.models.features.feature_counts import FeatureCounts
from saffron.engine.models.features.features import FeatureSpec
from saffron.errors import InputError
from saffron.language.cost.shedding import AUTO

VERSION = (0, 0)


@dataclass(frozen=True)
class Learning:
    """`spec`: the features of events, None: none are learned. `shedder`: which may need trees."""

    spec: FeatureSpec | None
    shedder: str

    @property
    def trees(self) -> bool:
        return self.shedder in (AUTO, BY_TREE, BY_FOREST)


def event_models(rows: Sequence[Mapping[str, Any]], learning: Learning) -> list[EventModel]:
    """One of each query that rows of `observations.features` tell of, and that has matches to learn from."""
    spec = learning.spec
    if spec is None:
        return []
    books: dict[tuple[str, int], FeatureCounts] = {}
    for row in rows:
        identity = str(row["query"]), int(row["query_version"])
        books.setdefault(identity, FeatureCounts(*identity, spec.identity)).add(row)
    learned = [counts for counts in books.values() if any(half.matches for half in counts.halves)]
    return [_trained(counts, spec, learning) for counts in learned]


def _trained(counts: FeatureCounts, spec: FeatureSpec, learning: Learning) -> EventModel:
    try:
        return train_events(counts, spec, VERSION, {}, trees=learning.trees)
    except ImportError as error:
        if learning.shedder == AUTO:
            return train_events(counts, spec, VERSION, {}, trees=False)
        raise InputError(f"{learning.shedder} is trained with scikit-learn: {install('model-builder')}") from error
