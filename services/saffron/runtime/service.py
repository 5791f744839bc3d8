"""The main loop of a service's process: connect, step, answer probes, and end in order on SIGTERM."""

from __future__ import annotations

import faulthandler
import gc
import logging
import signal
import time
from collections.abc import Callable
from typing import Protocol

from saffron.errors import GapError, LogError, SaffronError
from saffron.runtime.log import Log
from saffron.runtime.log.control_watch import ControlWatch
from saffron.runtime.log.kafka.consumer import Waiting
from saffron.runtime.log.kafka.kafka_log import connect
from saffron.runtime.log.topics import Topics
from saffron.runtime.process.clock_watch import ClockWatch, wall_ms
from saffron.runtime.process.config import Settings
from saffron.runtime.process.own_modules import import_modules
from saffron.runtime.telemetry.health import Health, HealthServer
from saffron.runtime.telemetry.metric_names import BUSY, RESTARTS
from saffron.runtime.telemetry.metrics import Metrics

_LOG = logging.getLogger(__name__)
_IDLE_WAIT = 0.01
_QUIET_SECONDS, _QUIET_WAIT = 1.0, 0.05
"""Seconds without progress after which a step waits longer. Input ends the wait at once; control topics are read that
much later. Four idle services then take 0.03 cores, and 0.07 with the shorter wait alone.
"""
_AGAIN_SECONDS = 1.0
_BUSY_SECONDS = 1.0


class Service(Protocol):
    """A service on a log. `step` makes some progress, and waits at most `wait` seconds for input; True on progress."""

    def step(self, now_ms: int, wait: float = 0.0) -> bool: ...

    def close(self, now_ms: int) -> None: ...


Make = Callable[[Log, Settings, Metrics, Health], Service]


def run(name: str, settings: Settings, make: Make) -> int:
    """Runs a service until SIGTERM or SIGINT. Exit status: 0 when stopped; 1 after an error that a retry cannot fix.

    After a log error (no broker, topics missing, a control topic made anew) the service is created again until it
    works; /readyz gives the reason. It is created again, too, when the wall clock was set.
    """
    logging.basicConfig(level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    import_modules(settings.aggregates)
    faulthandler.register(signal.SIGUSR1)  # kill -USR1 shows in the log where every thread is
    stop = _Stop()
    health, metrics = Health(name), Metrics()
    metrics.add(RESTARTS, 0)
    server = HealthServer(health, metrics, settings.host, settings.metrics_port)
    try:
        while not stop.requested:
            log = connect(settings)
            try:
                control = ControlWatch(log, Topics(settings.prefix), name)
                service = make(log, settings, metrics, health)
                set_by = _serve(service, log.waiting, health, metrics, stop, ClockWatch(), control.step)
                again = f"the clock was set by {set_by / 1000:+,.0f} s" if set_by else ""
            except GapError:
                raise
            except LogError as error:
                again = str(error)
                health.waiting("log", again)
            finally:
                log.close()
            if again:
                _LOG.warning("%s: %s; starting again in %g s", name, again, _AGAIN_SECONDS)
                metrics.add(RESTARTS, 1)
                gc.unfreeze()  # the failed parts are garbage now, with their threads and processes
                stop.wait(_AGAIN_SECONDS, health)
    except SaffronError as error:
        _LOG.error("%s: %s", name, error)
        return 1
    finally:
        server.close()
    return 0


def _serve(
    service: Service,
    waiting: Waiting,
    health: Health,
    metrics: Metrics,
    stop: _Stop,
    clock: ClockWatch,
    check: Callable[[int], None],
) -> int:
    """Steps the service until a stop is requested or the clock was set; returns by how many ms.

    `check`: called in each step with the time (ms); raises the LogError for which the service must begin anew.
    """
    health.done("log")
    # Objects of the start-up (Numba alone: some hundred thousand) live as long as the process. A full collection
    # that walks it holds results up for more than a tenth of a second.
    gc.collect()
    gc.freeze()
    waited, since = waiting.seconds, time.monotonic()
    moved, moved_at = True, since
    set_by = 0
    while not stop.requested and not (set_by := clock.set_by()):
        started = time.monotonic()
        idle_wait = _IDLE_WAIT if started - moved_at < _QUIET_SECONDS else _QUIET_WAIT
        check(wall_ms())
        health.beat()  # where no broker answers, the check alone takes ten seconds
        moved = service.step(wall_ms(), 0.0 if moved else idle_wait)
        ended = time.monotonic()
        if moved:
            moved_at = ended
        health.beat()
        if ended - since > _BUSY_SECONDS:
            metrics.set(BUSY, max(0.0, 1.0 - (waiting.seconds - waited) / (ended - since)))
            waited, since = waiting.seconds, ended
    service.close(wall_ms())
    return set_by


class _Stop:
    """A flag set by SIGTERM and SIGINT."""

    def __init__(self) -> None:
        self.requested = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._request)

    def _request(self, number: int, frame: object) -> None:
        self.requested = True

    def wait(self, seconds: float, health: Health) -> None:
        """Waits `seconds`, or until a stop is requested. Beats meanwhile."""
        deadline = time.monotonic() + seconds
        while not self.requested and time.monotonic() < deadline:
            health.beat()
            time.sleep(0.05)
