"""The service `saffron run model-builder`: Spark learns models from the observation topics."""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from types import FrameType

from saffron.errors import DeniedError, LogError
from saffron.model_builder.batch import Batches
from saffron.model_builder.job import Job, Source
from saffron.model_builder.policy import Policy
from saffron.model_builder.publisher import Published, Publisher, newest_epoch
from saffron.model_builder.reporter import Reporter
from saffron.model_builder.settings import settings as session_settings
from saffron.model_builder.store import Store, StoreError
from saffron.model_builder.withdrawals import Withdrawals
from saffron.runtime.log import Log, TopicPartition
from saffron.runtime.log.kafka.kafka_log import connect
from saffron.runtime.log.rights import require_readable
from saffron.runtime.log.security.java_security import java_settings
from saffron.runtime.log.security.security import security_of
from saffron.runtime.log.topics import Topics
from saffron.runtime.process.config import Settings
from saffron.runtime.telemetry.health import Health, HealthServer
from saffron.runtime.telemetry.metric_names import (
    RESTARTS,
)
from saffron.runtime.telemetry.metrics import Metrics
from saffron.spark import gateway, jars
from saffron.spark.session import open_session

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 0.5
_NICE = 5
"""The priority of this process and Spark's: on a busy machine the services that give results get three times as much
processor time. With none at all, there would be no models when events must be dropped.
"""
_RETRY_SECONDS = 2.0
"""Pause before a failed query is started again."""


def main(settings: Settings) -> int:
    """Run the service until SIGTERM or SIGINT. The exit status is 0, or 1 if the checkpoint is unusable.

    SettingsError: Spark's client of Kafka cannot be given the security settings.
    """
    java_settings(security_of(settings))
    os.setpriority(os.PRIO_PROCESS, 0, max(_NICE, os.getpriority(os.PRIO_PROCESS, 0)))
    stop = threading.Event()
    _on_signal(_leave)
    health, metrics = Health("model-builder"), Metrics()
    health.waiting("start", "starting Spark")
    probes = HealthServer(health, metrics, settings.host, settings.metrics_port)
    log = connect(settings)
    try:
        return _serve(settings, log, Reporter(health, metrics, settings.group("model-builder")), stop)
    except StoreError as error:
        _LOG.error("%s", error)
        return 1
    finally:
        log.close()
        probes.close()


def _serve(settings: Settings, log: Log, reporter: Reporter, stop: threading.Event) -> int:
    """Run the job until SIGTERM or SIGINT; the exit status."""
    topics = Topics(settings.prefix)
    checkpoint = settings.data / "model-builder" / "checkpoint"
    publisher = Publisher(log, topics.models)
    with tempfile.TemporaryDirectory(prefix="saffron-spark-") as folder:
        jvm = gateway.submitted() or _own_jvm(settings, reporter.health, Path(folder))
        try:
            store = Store(checkpoint)
            observed = topics.observations_transitions, topics.observations_latency, topics.observations_features
            read = *observed, topics.queries
            check = partial(require_readable, log, settings.group("model-builder-rights"), read)
            newest, withdrawals = _once_readable(log, topics, check, reporter.health)
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
            published = Published(log, topics.models)
            batches = Batches(store, epoch, publisher.publish, policy, lambda: withdrawals.removed, published.before)
            job = Job(spark, source, batches, reporter.done, partial(is_unused, log))
            _on_signal(lambda *_: stop.set())
            with closing(withdrawals):
                status = _run(job, check, withdrawals, reporter, stop)
            spark.stop()
            return status
        except SystemExit:
            jvm.kill()
            raise
        finally:
            jvm.close()
            publisher.close()


def is_unused(log: Log, topic: str) -> bool:
    """True if a topic has never had a record, so that no batch that has begun has any of it."""
    places = [TopicPartition(topic, index) for index in range(log.partitions(topic) or 0)]
    ends = log.ends(places)
    return bool(places) and all(ends.get(place) == 0 for place in places)


def _once_readable(log: Log, topics: Topics, check: Callable[[], None], health: Health) -> tuple[int, Withdrawals]:
    """The newest epoch of the models, and their withdrawals, once all topics are readable. The JVM runs meanwhile.

    `check`: raises LogError if another topic is not readable.
    """
    while True:
        try:
            newest = newest_epoch(log, topics.models)
            check()
            withdrawals = Withdrawals(log, topics)
            health.done("log")
            return newest, withdrawals
        except LogError as error:
            _LOG.warning("model-builder: %s; trying again in %g s", error, _RETRY_SECONDS)
            health.waiting("log", str(error))
            health.beat()
            time.sleep(_RETRY_SECONDS)


def _own_jvm(settings: Settings, health: Health, folder: Path) -> gateway.Gateway:
    """A new JVM with Spark's connector."""
    connector = jars.given_or_ensured(settings.spark_jars, lambda line: health.waiting("start", line))
    return gateway.start(connector, folder)


def _on_signal(handler: Callable[[int, FrameType | None], None]) -> None:
    """Set the handler of SIGTERM and SIGINT."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    """The handler while Spark starts: exit at once, as nothing can be lost yet."""
    raise SystemExit(0)


def _run(
    job: Job, check: Callable[[], None], withdrawals: Withdrawals, reporter: Reporter, stop: threading.Event
) -> int:
    """Keep the query running until `stop`; the exit status. `check`: raises DeniedError if access is denied."""
    job.start()
    reporter.health.done("start")
    while not stop.wait(_POLL_SECONDS):
        failure = job.failure()
        if failure is None:
            _withdraw(withdrawals, reporter)
            reporter.refresh(job)
            continue
        if isinstance(failure, StoreError):
            raise failure
        why = _denied(check) or _first_line(failure)
        _LOG.warning("the streaming query ended, started again in %g s: %s", _RETRY_SECONDS, why)
        reporter.health.waiting("query", "the streaming query ended; waiting to start it again")
        reporter.metrics.add(RESTARTS, 1)
        stop.wait(_RETRY_SECONDS)
        job.start()
        reporter.health.done("query")
    job.stop()
    return 0


def _withdraw(withdrawals: Withdrawals, reporter: Reporter) -> None:
    try:
        reporter.withdrawn(withdrawals.step())
    except LogError as error:
        _LOG.warning("models of removed queries could not be withdrawn, trying again: %s", error)


def _denied(check: Callable[[], None]) -> str | None:
    """The message of a DeniedError that `check` raises, else None."""
    try:
        check()
    except DeniedError as error:
        return str(error)
    except LogError:
        pass
    return None


def _first_line(failure: BaseException) -> str:
    """The type and the first line of an error's message."""
    kind = "" if isinstance(failure, LogError) else f"{type(failure).__name__}: "
    return kind + (str(failure).strip().splitlines() or ["(no message)"])[0][:300]
