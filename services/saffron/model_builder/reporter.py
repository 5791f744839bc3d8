"""The reporter of the model builder: health, metrics and log."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from saffron.engine.models.features.event_model import EVENTS, EventModel
from saffron.engine.models.reader import AnyModel
from saffron.engine.models.transitions.model import TRANSITIONS, TransitionModel
from saffron.model_builder.batch import BatchResult
from saffron.model_builder.job import Job
from saffron.records.envelope import Version
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metric_names import (
    CONSUMER_LAG,
    MODEL_AGE,
    MODEL_BATCHES,
    MODEL_INPUT_RATE,
    MODEL_INPUT_REFUSED,
    MODEL_OFFSETS_BEHIND,
    MODEL_VERSION,
    RESTARTS,
)
from saffron.runtime.telemetry.metrics import Metrics

_LOG = logging.getLogger(__name__)
_VERSION_PARTS = ("epoch", "batch")
_NO_STREAM = ""


class Reporter:
    """The reporter of the job's state to health, metrics and log."""

    def __init__(self, health: Health, metrics: Metrics, group: str) -> None:
        self.health = health
        self.metrics = metrics
        self._group = group
        metrics.add(RESTARTS, 0)
        metrics.add(MODEL_BATCHES, 0)
        self._published: dict[str, tuple[float, Version]] = {}

    def done(self, done: BatchResult) -> None:
        """Report a batch; it is called in Spark's callback thread."""
        self.metrics.add(MODEL_BATCHES, 1 if done.rows else 0)
        self.metrics.add(MODEL_INPUT_REFUSED, done.refused)
        for model in done.models:
            name = _name(model)
            self._published[name] = time.monotonic(), model.version
            self.health.detail(f"model {name}", list(model.version))
            _LOG.info("model of %s: version %s, %d observations", name, list(model.version), model.observations)

    def withdrawn(self, keys: Sequence[bytes]) -> None:
        """Report that the models with these record keys are withdrawn."""
        for key in keys:
            name = key.decode(errors="replace").removesuffix(f"/{TRANSITIONS}")
            if self._published.pop(name, None) is not None:
                self.health.detail(f"model {name}", "withdrawn")
                _LOG.info("model of %s: withdrawn, for the query was removed", name)

    def refresh(self, job: Job) -> None:
        """Report that the loop is alive, the progress of the query, and the age of the models."""
        self.health.beat()
        now = time.monotonic()
        published = dict(self._published)
        self.metrics.replace(MODEL_AGE, {(name,): now - since for name, (since, _) in published.items()})
        parts = (
            (name, *part)
            for name, (_, version) in published.items()
            for part in zip(_VERSION_PARTS, version, strict=True)
        )
        self.metrics.replace(MODEL_VERSION, {(name, part): number for name, part, number in parts})
        progress = job.progress()
        if progress is not None:
            self.metrics.set(MODEL_INPUT_RATE, progress.rows_per_second)
            self.metrics.set(MODEL_OFFSETS_BEHIND, progress.behind)
            lags = progress.lags.items()
            self.metrics.replace(CONSUMER_LAG, {(_NO_STREAM, *where, self._group): lag for where, lag in lags})
            self.health.detail("batch", progress.batch)


def _name(model: AnyModel) -> str:
    """The name of a model in metrics: QUERY, QUERY/events or @STREAM."""
    if isinstance(model, EventModel):
        return f"{model.query}/{EVENTS}"
    return model.query if isinstance(model, TransitionModel) else f"@{model.stream}"
