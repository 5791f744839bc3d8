"""`saffron run model-builder`: Spark learns models from the observation topics, as long as it is let."""

from __future__ import annotations

import logging
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from types import FrameType

from saffron.engine.models.features.event_model import EVENTS, EventModel
from saffron.engine.models.reader import AnyModel
from saffron.engine.models.transitions.model import TRANSITIONS, TransitionModel
from saffron.errors import DeniedError, LogError
from saffron.model_builder.batch import Batches, Done
from saffron.model_builder.job import Job, Source
from saffron.model_builder.policy import Policy
from saffron.model_builder.publisher import Publisher, newest_epoch
from saffron.model_builder.settings import settings as session_settings
from saffron.model_builder.store import Store, StoreError
from saffron.model_builder.withdrawals import Withdrawals
from saffron.records.envelope import Version
from saffron.runtime.log import Log
from saffron.runtime.log.kafka_log import connect
from saffron.runtime.log.rights import require_readable
from saffron.runtime.log.security import security_of
from saffron.runtime.log.topics import Topics
from saffron.runtime.process.config import Settings
from saffron.runtime.telemetry.health import Health, HealthServer
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
from saffron.spark import gateway, jars
from saffron.spark.session import open_session

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 0.5
_PARTS = ("epoch", "batch")
"""Of a version."""
_AGAIN_SECONDS = 2.0
"""Pause before a query that failed is started again: the broker may be on its way back."""


def main(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT. Exit status 0; 1 when the checkpoint is no good (the log says what to do)."""
    stop = threading.Event()
    _on_signal(_leave)
    health, metrics = Health("model-builder"), Metrics()
    health.waiting("start", "starting Spark")
    probes = HealthServer(health, metrics, settings.host, settings.metrics_port)
    log = connect(settings)
    try:
        return _serve(settings, log, Desk(health, metrics, settings.group("model-builder")), stop)
    except StoreError as error:
        _LOG.error("%s", error)
        return 1
    finally:
        log.close()
        probes.close()


def _serve(settings: Settings, log: Log, desk: Desk, stop: threading.Event) -> int:
    topics = Topics(settings.prefix)
    checkpoint = settings.data / "model-builder" / "checkpoint"
    publisher = Publisher(log, topics.models)
    with tempfile.TemporaryDirectory(prefix="saffron-spark-") as folder:
        jvm = gateway.submitted() or _own_jvm(settings, desk.health, Path(folder))
        try:
            store = Store(checkpoint)
            observed = topics.observations_transitions, topics.observations_latency, topics.observations_features
            read = *observed, topics.queries
            check = partial(require_readable, log, settings.group("model-builder-rights"), read)
            newest, withdrawals = _once_readable(log, topics, check, desk.health)
            epoch = store.open(int(time.time() * 1000), newest)
            spark = open_session(jvm, session_settings(Path(folder), local=not jvm.submitted))
            source = Source(
                bootstrap=settings.bootstrap,
                security=security_of(settings),
                topics=observed,
                group=settings.group("model-builder"),
                checkpoint=checkpoint,
                interval_ms=settings.model_interval_ms,
                features=topics.observations_features,
            )
            policy = Policy(half_life=settings.model_half_life_batches)
            batches = Batches(store, epoch, publisher.publish, policy, lambda: withdrawals.removed)
            job = Job(spark, source, batches, desk.done)
            _on_signal(lambda *_: stop.set())
            with closing(withdrawals):
                status = _run(job, check, withdrawals, desk, stop)
            spark.stop()
            return status
        except SystemExit:
            jvm.kill()
            raise
        finally:
            jvm.close()
            publisher.close()


def _once_readable(log: Log, topics: Topics, check: Callable[[], None], health: Health) -> tuple[int, Withdrawals]:
    """The newest epoch of the models, and who withdraws them, once all can be read that is needed: the JVM that runs by
    now is worth the wait. `check`: LogError where something else cannot be.
    """
    while True:
        try:
            newest = newest_epoch(log, topics.models)
            check()
            withdrawals = Withdrawals(log, topics)
            health.done("log")
            return newest, withdrawals
        except LogError as error:
            _LOG.warning("model-builder: %s; trying again in %g s", error, _AGAIN_SECONDS)
            health.waiting("log", str(error))
            health.beat()
            time.sleep(_AGAIN_SECONDS)


def _own_jvm(settings: Settings, health: Health, folder: Path) -> gateway.Gateway:
    connector = jars.given_or_ensured(settings.spark_jars, lambda line: health.waiting("start", line))
    return gateway.start(connector, folder)


def _on_signal(handler: Callable[[int, FrameType | None], None]) -> None:
    """What SIGTERM and SIGINT do from now on."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    """While Spark starts nothing is at stake: nobody who ends the system waits for a session that is not wanted."""
    raise SystemExit(0)


def _run(job: Job, check: Callable[[], None], withdrawals: Withdrawals, desk: Desk, stop: threading.Event) -> int:
    """Keep the query running until told to stop. `check`: tells more of what Kafka denies than Spark does."""
    job.start()
    desk.health.done("start")
    while not stop.wait(_LOOK_SECONDS):
        failure = job.failure()
        if failure is None:
            _withdraw(withdrawals, desk)
            desk.look(job)
            continue
        if isinstance(failure, StoreError):
            raise failure
        why = _denied(check) or _first_line(failure)
        _LOG.warning("the streaming query ended, started again in %g s: %s", _AGAIN_SECONDS, why)
        desk.health.waiting("query", "the streaming query ended; waiting to start it again")
        desk.metrics.add(RESTARTS, 1)
        stop.wait(_AGAIN_SECONDS)
        job.start()
        desk.health.done("query")
    job.stop()
    return 0


def _withdraw(withdrawals: Withdrawals, desk: Desk) -> None:
    try:
        desk.withdrawn(withdrawals.step())
    except LogError as error:
        _LOG.warning("models of removed queries could not be withdrawn, trying again: %s", error)


class Desk:
    """What the outside is told: health, metrics, log."""

    def __init__(self, health: Health, metrics: Metrics, group: str) -> None:
        self.health = health
        self.metrics = metrics
        self._group = group
        metrics.add(RESTARTS, 0)
        metrics.add(MODEL_BATCHES, 0)
        self._published: dict[str, tuple[float, Version]] = {}

    def done(self, done: Done) -> None:
        """After a batch (in Spark's callback thread)."""
        self.metrics.add(MODEL_BATCHES, 1 if done.rows else 0)
        self.metrics.add(MODEL_INPUT_REFUSED, done.refused)
        for model in done.models:
            name = _name(model)
            self._published[name] = time.monotonic(), model.version
            self.health.detail(f"model {name}", list(model.version))
            _LOG.info("model of %s: version %s, %d observations", name, list(model.version), model.observations)

    def withdrawn(self, keys: Sequence[bytes]) -> None:
        """Records of models with these keys stand no more."""
        for key in keys:
            name = key.decode(errors="replace").removesuffix(f"/{TRANSITIONS}")
            if self._published.pop(name, None) is not None:
                self.health.detail(f"model {name}", "withdrawn")
                _LOG.info("model of %s: withdrawn, for the query was removed", name)

    def look(self, job: Job) -> None:
        """Twice a second: the loop turns; how far the query is, and how old the models are."""
        self.health.beat()
        now = time.monotonic()
        published = dict(self._published)
        self.metrics.replace(MODEL_AGE, {(name,): now - since for name, (since, _) in published.items()})
        parts = (
            (name, *part) for name, (_, version) in published.items() for part in zip(_PARTS, version, strict=True)
        )
        self.metrics.replace(MODEL_VERSION, {(name, part): number for name, part, number in parts})
        progress = job.progress()
        if progress is not None:
            self.metrics.set(MODEL_INPUT_RATE, progress.rows_per_second)
            self.metrics.set(MODEL_OFFSETS_BEHIND, progress.behind)
            self.metrics.replace(CONSUMER_LAG, {(*where, self._group): lag for where, lag in progress.lags.items()})
            self.health.detail("batch", progress.batch)


def _name(model: AnyModel) -> str:
    if isinstance(model, EventModel):
        return f"{model.query}/{EVENTS}"
    return model.query if isinstance(model, TransitionModel) else f"@{model.stream}"


def _denied(check: Callable[[], None]) -> str | None:
    try:
        check()
    except DeniedError as error:
        return str(error)
    except LogError:
        pass
    return None


def _first_line(failure: BaseException) -> str:
    kind = "" if isinstance(failure, LogError) else f"{type(failure).__name__}: "
    return kind + (str(failure).strip().splitlines() or ["(no message)"])[0][:300]
