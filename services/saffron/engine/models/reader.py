"""The reader of records of the `models` topic, for models in one record and for those in several parts."""

from __future__ import annotations

from saffron.engine.models.events.event_record import EventParts, records_of
from saffron.engine.models.features.event_model import EVENTS, EventModel
from saffron.engine.models.transitions.model import LatencyModel, TransitionModel, decode

AnyModel = TransitionModel | LatencyModel | EventModel


class ModelReader:
    """Reads records in their order; which model is in force is the caller's to decide."""

    def __init__(self) -> None:
        self._parts: dict[str, EventParts] = {}

    def take(self, key: bytes, value: bytes | None) -> AnyModel | None:
        """The model that a record is, or completes; None where parts are missing still, or it is withdrawn.

        ModelError, by `reason`: "broken", "incomplete", "query", and "older" for a part behind a newer one.
        """
        query, _, kind = key.decode(errors="replace").partition("/")
        if kind.split("/")[0] != EVENTS:
            return None if value is None else decode(value, key=key)
        if value is None:
            self._parts.pop(query, None)
            return None
        return self._parts.setdefault(query, EventParts()).take(key, value)


def records(model: AnyModel) -> list[tuple[bytes, bytes]]:
    """(key, value) of the records that a model is written as."""
    if isinstance(model, EventModel):
        return records_of(model)
    return [(model.key, model.encode())]
