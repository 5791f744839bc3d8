"""The supervisor of `saffron up`: starts broker, topics and services, restarts what dies, and ends all in order.

It is one process with one thread. Signals wake it through a pipe; everything else is polled four times a second. Its
state is in the state file (`state.py`), the only source for other commands.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from saffron.errors import SaffronError, SettingsError
from saffron.runtime.local import processes, state
from saffron.runtime.local.broker import Broker, BrokerError
from saffron.runtime.local.ports import free_ports, own_address
from saffron.runtime.local.service_process import ServiceProcess
from saffron.runtime.local.state import SystemState
from saffron.runtime.log.kafka import kafka_log
from saffron.runtime.log.topics import Topics, topic_specs
from saffron.runtime.process.config import Settings, environment_of
from saffron.runtime.process.listening import in_url

_POLL = 0.25
_PATIENCE = 20.0
"""Seconds for a clean end of all services together."""
_STAGES = (("windowing", "shedder", "matcher", "greta"), ("control", "model_builder"))
"""Services by stage of the start. Those on a result's path come first, so that Spark does not slow them down."""
_BROKER_PAUSE = 5.0
"""Seconds between attempts to restart the broker."""
_GIVE_UP = 5
"""Deaths before its first readiness after which a service makes the start fail."""
_MARK = ".saffron"
"""File that marks a data directory as ours. `--fresh` empties only such a directory."""
_KEPT = (_MARK, "supervisor.lock", "supervisor.log")


@dataclass(frozen=True)
class StartOptions:
    """The options of `up`. `services`: those to run."""

    settings: Settings
    services: tuple[str, ...] = state.SERVICES
    fresh: bool = False


class Supervisor:
    """Runs one system over one data directory until it is stopped."""

    def __init__(self, options: StartOptions, report: Callable[[str], None]) -> None:
        self._settings = options.settings
        self._fresh = options.fresh
        self._names = tuple(name for name in state.SERVICES if name in options.services)
        self._report = report
        self._data = options.settings.data
        self._broker: Broker | None = None
        self._services: list[ServiceProcess] = []
        self._ports: dict[str, int] = {}
        self._state: SystemState | None = None
        self._stop = False
        self._broker_retry_at = 0.0

    def run(self, on_ready: Callable[[SystemState], None] | None = None) -> None:
        """Starts the broker, if none is given, and the services; calls `on_ready`, and supervises until a signal
        (SIGTERM, SIGINT, SIGHUP). Then ends all services, and the broker last.

        `on_ready` is not called after a signal during the start. SaffronError: another supervisor runs here, or the
        start failed and everything started was ended.
        """
        with self._signals() as wake, self._lock():
            try:
                self._start(wake)
                if not self._stop and on_ready is not None and self._state is not None:
                    on_ready(self._state)
                while not self._stop:
                    self._turn(wake)
                self._write("stopping", "stopping")
            except SaffronError as error:
                self._write("failed", str(error))
                raise
            finally:
                self._end()

    # ------------------------------------------------------------ start

    def _start(self, wake: int) -> None:
        """Starts the broker, if none is given, and the services by stage, and waits for the readiness of each stage.

        With `fresh` the data directory is emptied first. A signal ends the start early, without an error.
        """
        if self._fresh:
            erase(self._data)
        (self._data / "logs").mkdir(parents=True, exist_ok=True)
        self._prepare_ports()
        self._write("starting", "starting")
        if not self._settings.bootstrap:
            self._broker = Broker(self._data / "broker", self._progress)
            self._broker.start()
            self._settings = replace(self._settings, bootstrap=self._broker.bootstrap)
        self._create_topics()
        for stage in _STAGES:
            for name in (name for name in self._names if name in stage and not self._stop):
                log = self._data / "logs" / f"{name}.log"
                service = ServiceProcess(
                    name, self._ports[name], log, environment_of(self._settings), self._settings.host
                )
                service.start(time.monotonic())
                self._services.append(service)
            self._wait_until_ready(wake)
        if not self._stop:
            self._write("running", "")

    def _prepare_ports(self) -> None:
        *ports, control = free_ports(len(self._names) + 1)
        self._ports = dict(zip(self._names, ports, strict=True))
        if not self._settings.control_port:
            self._settings = replace(self._settings, control_port=control)

    def _create_topics(self) -> None:
        self._progress(f"creating topics {self._settings.prefix}* at {self._settings.bootstrap}")
        log = kafka_log.connect(self._settings)
        try:
            log.create_topics(topic_specs(self._settings.prefix, self._settings.partitions))
        finally:
            log.close()

    def _wait_until_ready(self, wake: int) -> None:
        """Supervises the services started so far until all are ready, or a signal stops the start.

        SaffronError: a service has died five times before it was ready.
        """
        while not self._stop:
            waiting = [one for one in self._services if not one.ready]
            if not waiting:
                return
            for one in waiting:
                if one.failures >= _GIVE_UP:
                    raise SaffronError(
                        f"{one.name} does not start: it ended {one.failures} times before it was ready."
                        f" Its log says\n{one.tail()}"
                    )
            first = waiting[0]
            names = ", ".join(one.name for one in waiting)
            self._progress(f"waiting for {names} ({first.name}: {first.waiting})")
            self._turn(wake)

    # ------------------------------------------------------------ supervision

    def _turn(self, wake: int) -> None:
        """One round: waits a moment or for a signal, then checks everything once."""
        if select.select([wake], [], [], _POLL)[0]:
            os.read(wake, 4096)
        if self._stop:
            return
        now = time.monotonic()
        if self._broker is not None and self._broker.process is None and now >= self._broker_retry_at:
            self._restart_broker(self._broker, now)
        for one in self._services:
            if event := one.look(now):
                self._report(event)
            one.ask(now)
        if self._state is not None:
            self._write(self._state.phase, self._state.message)

    def _restart_broker(self, broker: Broker, now: float) -> None:
        """Restarts the broker; services wait meanwhile.

        After a failure (a full disk, a taken port) it is tried again.
        """
        self._report("broker: it ended; starting it again")
        phase = self._state.phase if self._state is not None else "starting"
        try:
            broker.stop()
            broker.start()
            self._write(phase, "")
        except BrokerError as error:
            self._broker_retry_at = now + _BROKER_PAUSE
            self._report(str(error))
            self._write(phase, f"the broker does not start: {error}")

    def _end(self) -> None:
        """Ends services, all signalled at once, then the broker that they need to finish."""
        for one in self._services:
            one.terminate()
        deadline = time.monotonic() + _PATIENCE
        for one in self._services:
            if not one.finish(max(0.0, deadline - time.monotonic())):
                self._report(f"{one.name}: did not end within {_PATIENCE:g} s and was killed")
        if self._broker is not None:
            self._broker.stop()
        if self._state is not None and self._state.phase != "failed":
            self._write("stopped", "")

    # ------------------------------------------------------------ plumbing

    def _progress(self, line: str) -> None:
        if self._state is None or line != self._state.message:
            self._report(line)
            self._write("starting" if self._state is None else self._state.phase, line)

    def _write(self, phase: str, message: str) -> None:
        """Notes the present state, with this phase and message, and writes the state file if anything has changed.

        Nothing is written while there is no data directory.
        """
        me = processes.identify(os.getpid())
        assert me is not None
        fresh = SystemState(
            phase,
            message,
            me,
            self._settings.prefix,
            self._settings.bootstrap,
            self._broker is not None,
            self._settings.partitions,
            self._broker.process if self._broker is not None else None,
            self._control_url() if "control" in self._names else "",
            tuple(one.state() for one in self._services),
        )
        if fresh != self._state and self._data.is_dir():
            state.write_state(self._data, fresh)
        self._state = fresh

    def _control_url(self) -> str:
        return f"http://{in_url(own_address(self._settings.host))}:{self._settings.control_port}"

    @contextlib.contextmanager
    def _signals(self) -> Iterator[int]:
        """Installs signal handlers. The descriptor yielded becomes readable on each signal, also on a child's death."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        os.set_blocking(reading, False)
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        before = {number: signal.signal(number, self._on_signal) for number in numbers}
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        wakeup = signal.set_wakeup_fd(writing)
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(reading)
            os.close(writing)

    def _on_signal(self, number: int, frame: object) -> None:
        self._stop = True

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Allows one supervisor per directory."""
        claim(self._data)
        with (self._data / "supervisor.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise SaffronError(f"a supervisor runs already over {self._data}; `saffron down` ends it") from error
            yield


def claim(data: Path) -> None:
    """Creates the data directory, and marks it as ours if it is empty. SettingsError: that, or writing there, fails."""
    try:
        data.mkdir(parents=True, exist_ok=True)
        if not any(data.iterdir()):
            (data / _MARK).touch()
        if not os.access(data, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise SettingsError(
            f"data directory {data} cannot be made or written: {error.strerror}; --data DIR or SAFFRON_DATA names"
            " another"
        ) from error


def erase(data: Path) -> None:
    """Deletes a system's files under `data`.

    SaffronError: the directory is not marked as ours, and holds other files.
    """
    foreign = [path.name for path in data.iterdir() if path.name not in _KEPT]
    if foreign and not (data / _MARK).exists():
        raise SaffronError(
            f"--fresh would delete all of {data}, which was not empty when it became a data directory ({foreign[0]}):"
            " delete it yourself, or name another with --data"
        )
    for path in (data / name for name in foreign):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def end_leftovers(found: SystemState) -> list[str]:
    """Ends what a killed supervisor left running, the broker last; returns the names."""
    known = [one.process for one in found.services if one.process is not None]
    own = [one for one in known if processes.identify(one.pid) in (None, one)]  # others have the pids of the rest
    running = [one for one in found.services if one.process is not None and one.process.alive()]
    processes.end([one.process for one in running if one.process is not None], _PATIENCE)
    for leader in own:
        processes.end(processes.of_session(leader.pid), 3.0)
    names = [one.name for one in running]
    if found.broker is not None and found.broker.alive():
        processes.end([found.broker], _PATIENCE)
        names.append("broker")
    return names


def require_broker(settings: Settings) -> None:
    """LogError: no broker answers at the address in the settings, or it refuses us."""
    log = kafka_log.connect(settings)
    try:
        log.partitions(Topics(settings.prefix).events)
    finally:
        log.close()
