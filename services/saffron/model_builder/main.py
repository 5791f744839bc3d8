"""`saffron run model-builder`: Spark learns models from the observation topics, as long as it is let."""

from __future__ import annotations

import logging
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

from saffron.engine.models.event_model import EVENTS, EventModel
from saffron.engine.models.model import TransitionModel
from saffron.engine.models.reader import AnyModel
from saffron.errors import DeniedError, LogError
from saffron.model_builder.batch import Batches, Done
from saffron.model_builder.job import Job, Source
from saffron.model_builder.policy import Policy
from saffron.model_builder.publisher import Publisher, newest_epoch
from saffron.model_builder.settings import settings as session_settings
from saffron.model_builder.store import Store, StoreError
from saffron.runtime.config import Settings
from saffron.runtime.health import Health, HealthServer
from saffron.runtime.kafka_log import connect
from saffron.runtime.log import Log
from saffron.runtime.metric_names import (
    CONSUMER_LAG,
    MODEL_AGE,
    MODEL_BATCHES,
    MODEL_INPUT_RATE,
    MODEL_INPUT_REFUSED,
    MODEL_OFFSETS_BEHIND,
    MODEL_VERSION,
    RESTARTS,
)
from saffron.runtime.metrics import Metrics
from saffron.runtime.rights import require_readable
from saffron.runtime.security import security_of
from saffron.runtime.topics import Topics
from saffron.spark import gateway, jars
from saffron.spark.session import open_session

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 0.5
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
            check = partial(require_readable, log, settings.group("model-builder-rights"), observed)
            epoch = store.open(int(time.time() * 1000), _newest_epoch(log, topics.models, check, desk.health))
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
            job = Job(spark, source, Batches(store, epoch, publisher.publish, policy), desk.done)
            _on_signal(lambda *_: stop.set())
            status = _run(job, check, desk, stop)
            spark.stop()
            return status
        except SystemExit:
            jvm.kill()
            raise
        finally:
            jvm.close()
            publisher.close()


def _newest_epoch(log: Log, topic: str, check: Callable[[], None], health: Health) -> int:
    """That of the models in the topic, once all can be read that is needed: the JVM that runs by now is worth the wait.
    `check`: LogError where something else cannot be.
    """
    while True:
        try:
            newest = newest_epoch(log, topic)
            check()
            health.done("log")
            return newest
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


def _run(job: Job, check: Callable[[], None], desk: Desk, stop: threading.Event) -> int:
    """Keep the query running until told to stop. `check`: tells more of what Kafka denies than Spark does."""
    job.start()
    desk.health.done("start")
    while not stop.wait(_LOOK_SECONDS):
        failure = job.failure()
        if failure is None:
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


class Desk:
    """What the outside is told: health, metrics, log."""

    def __init__(self, health: Health, metrics: Metrics, group: str) -> None:
        self.health = health
        self.metrics = metrics
        self._group = group
        metrics.add(RESTARTS, 0)
        metrics.add(MODEL_BATCHES, 0)
        self._published: dict[str, float] = {}

    def done(self, done: Done) -> None:
        """After a batch (in Spark's callback thread)."""
        self.metrics.add(MODEL_BATCHES, 1 if done.rows else 0)
        self.metrics.add(MODEL_INPUT_REFUSED, done.refused)
        for model in done.models:
            name = _name(model)
            self._published[name] = time.monotonic()
            epoch, batch = model.version
            self.metrics.set(MODEL_VERSION, epoch, name, "epoch")
            self.metrics.set(MODEL_VERSION, batch, name, "batch")
            self.health.detail(f"model {name}", [epoch, batch])
            _LOG.info("model of %s: version %s, %d observations", name, list(model.version), model.observations)

    def look(self, job: Job) -> None:
        """Twice a second: the loop turns; how far the query is, and how old the models are."""
        self.health.beat()
        now = time.monotonic()
        for name, since in list(self._published.items()):
            self.metrics.set(MODEL_AGE, now - since, name)
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
