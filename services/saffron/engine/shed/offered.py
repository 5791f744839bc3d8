"""Models as they are offered to a shedder, by the records of `models`: the newest good one of each stays."""

from __future__ import annotations

from dataclasses import dataclass, field

from saffron.engine.models.features.event_model import EVENTS, EventModel
from saffron.engine.models.reader import AnyModel, ModelReader
from saffron.engine.models.transitions.model import TRANSITIONS, LatencyModel, TransitionModel
from saffron.engine.shed.drops.view import View
from saffron.records.envelope import ModelError, Version


@dataclass
class Offered:
    """The models offered to one chain, by query, with the latency model of the stream.

    `refused`: number of refused models, by reason.
    """

    stream: str
    transitions: dict[str, TransitionModel] = field(default_factory=dict)
    events: dict[str, EventModel] = field(default_factory=dict)
    latency: LatencyModel | None = None
    refused: dict[str, int] = field(default_factory=dict)
    _reader: ModelReader = field(default_factory=ModelReader)

    def offer(self, key: bytes, value: bytes | None, view: View) -> str | None:
        """A record; returns why it was refused, or None. `view`: the queries in force, that models must be of, and the
        versions of transition models, that none older may follow."""
        try:
            model = self._reader.take(key, value)
            if value is None:
                self._withdraw(key.decode(errors="replace"))
            elif model is not None:
                self._take(model, view)
        except ModelError as error:
            self.refused[error.reason] = self.refused.get(error.reason, 0) + 1
            return str(error)
        return None

    def _withdraw(self, name: str) -> None:
        query, _, kind = name.partition("/")
        if kind == TRANSITIONS:
            self.transitions.pop(query, None)
        elif kind == EVENTS:
            self.events.pop(query, None)

    def _take(self, model: AnyModel, view: View) -> None:
        """Put a model into its place. ModelError: it is older than the last one, or of another query."""
        if isinstance(model, LatencyModel):
            if model.stream == self.stream:
                _refuse_older(model, self.latency.version if self.latency else None)
                self.latency = model
        elif isinstance(model, EventModel):
            known = self.events.get(model.query)
            _refuse_older(model, known.version if known else None)
            self.events[model.query] = model
        else:
            offered = self.transitions.get(model.query)
            _refuse_older(model, offered.version if offered else view.models.get(model.query))
            if wrong := view.misfit(model):
                raise ModelError("query", f"model {model.key.decode()} is of another query: {wrong}")
            self.transitions[model.query] = model


def _refuse_older(model: AnyModel, floor: Version | None) -> None:
    if floor is not None and model.version < floor:
        name, version = model.key.decode(), list(model.version)
        raise ModelError("older", f"model {name} has version {version}, but {list(floor)} was in force before")
