"""Models that a replay is given instead of training any: they must be of its queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from saffron.engine.events.columns import Columns
from saffron.engine.models.features.choosing import MOST_KINDS
from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.features.feature_keys import FeatureKeys
from saffron.engine.models.features.features import FeatureError
from saffron.engine.models.reader import ModelReader
from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.shed.drops.shedders import Shedder
from saffron.errors import InputError, SaffronError
from saffron.language.plan.match_plan import MatchPlan
from saffron.runtime.replay.fused import QUERY_VERSION
from saffron.schema.event_types import type_names

Records = Sequence[tuple[bytes, bytes]]

_FIX = "train on this stream (leave --models out), or give the models that --save-models wrote for these queries"


def require_fitting(
    given: Records, plans: Sequence[MatchPlan], states: Mapping[str, int], shedder: Shedder, columns: Columns
) -> None:
    """InputError where a model does not fit its query, or a query has none to be shed by; others' models do not matter.

    `plans`: of the queries on which the shedder acts. `states`: by query, of its transitions, where it has any.
    `columns`: events of the stream.
    """
    transitions, events = _read(given)
    _require_kind(bool(transitions), bool(events), shedder)
    for plan in plans:
        name = plan.name
        ours, theirs = transitions.get(name), events.get(name)
        if ours is None and theirs is None and (shedder.events or _ranks(shedder)):
            known = ", ".join(sorted({*transitions, *events})) or "none"
            raise InputError(f"query {name} has no model among those given, which are of {known}: {_FIX}")
        wrong = "" if ours is None else _of_version(ours) or ours.misfit(states.get(name), _window(plan))
        wrong = wrong or ("" if theirs is None else _of_version(theirs) or _of_events(theirs, plan, columns))
        if wrong:
            raise InputError(f"the model given for query {name} is not of this query: {wrong}. To mend it, {_FIX}")


def _read(given: Records) -> tuple[dict[str, TransitionModel], dict[str, EventModel]]:
    """The transition models and event models in records, by query. InputError: a record is no model."""
    reader = ModelReader()
    transitions: dict[str, TransitionModel] = {}
    events: dict[str, EventModel] = {}
    for number, (key, value) in enumerate(given, 1):
        try:
            model = reader.take(key, value)
        except SaffronError as error:
            raise InputError(f"record {number} of the models given: {error}") from error
        if isinstance(model, TransitionModel):
            transitions[model.query] = model
        elif isinstance(model, EventModel):
            events[model.query] = model
    return transitions, events


def _ranks(shedder: Shedder) -> bool:
    return shedder.partial is not None and shedder.partial.ranks


def _require_kind(transitions: bool, events: bool, shedder: Shedder) -> None:
    """Refuse models (InputError) that the shedder cannot rank by: it would drop by chance."""
    lacks = "events" if shedder.partial is None and shedder.events and not events else ""
    lacks = "partial matches" if _ranks(shedder) and not shedder.events and not transitions else lacks
    if lacks:
        raise InputError(f"{shedder.name} goes by models of {lacks}, and none is among those given: {_FIX}")


def _window(plan: MatchPlan) -> tuple[int, bool]:
    return plan.window.size, plan.window.events


def _of_version(model: TransitionModel | EventModel) -> str:
    if model.query_version == QUERY_VERSION:
        return ""
    return f"it was learned from version {model.query_version} of one of its name, and a replay's are {QUERY_VERSION}"


def _of_events(model: EventModel, plan: MatchPlan, columns: Columns) -> str:
    """The reason why a model of events does not fit, as far as its features show; "" if there is none."""
    spec = model.spec
    place = spec.kinds.index("type") if "type" in spec.kinds else None
    known = {values[place] for values in spec.known} if place is not None else set()
    missing = [name for name in type_names(one.types for one in plan.components) if name not in known]
    if place is not None and missing and len(spec.known) < MOST_KINDS:
        return f"its features know no events of type {', '.join(missing)}"
    try:
        FeatureKeys(spec).apply(columns)
    except FeatureError as error:
        return str(error)
    return ""
