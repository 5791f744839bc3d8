"""An embedded Kafka broker: one node with its own ports and data directory, without containers.

    broker = Broker(directory)
    broker.start()              formats the directory once, starts the JVM, waits until clients are served
    broker.bootstrap            "127.0.0.1:PORT", the same after every restart
    broker.stop()               clean;  broker.kill() is kill -9

The ports are chosen once and kept with the data, since clients and the broker's metadata name them.
"""

from __future__ import annotations

import base64
import contextlib
import json
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from saffron.errors import SaffronError
from saffron.runtime.local import broker_settings, jars, jvm, processes
from saffron.runtime.local.broker_settings import FENCED, JVM, LOGGING, STARTED
from saffron.runtime.local.jars import Progress
from saffron.runtime.local.ports import free_ports
from saffron.runtime.local.service_process import log_tail
from saffron.runtime.process.config import user_cache_directory

_START_SECONDS = 60.0
_ANSWER_SECONDS = 5.0
_STOP_SECONDS = 20.0
_FENCED_GROWTHS = 40
"""Growths of the controller's log within which it fences a broker, if there is one to be fenced (usually 2 or 3)."""
_DURABLE_GROWTHS = 3
"""Growths of the log after which a decision is on disk.

One is for the write in progress, one for what waited for it. The same thread appends everything after the decision.
"""
_POLL_SECONDS = 0.03
_METADATA = "__cluster_metadata-0"
_CLEAN = ".kafka_cleanshutdown"
"""File that Kafka leaves after a clean stop."""


class BrokerError(SaffronError):
    """The embedded broker cannot be started."""


class Broker:
    """A broker over one directory. Not thread-safe; one owner at a time (a second start fails)."""

    def __init__(self, directory: Path, progress: Progress = lambda line: None, *, more: str = "") -> None:
        """`more`: further lines of server.properties; {client} and {controller} are the ports."""
        self.directory = directory.absolute()
        self.log_path = self.directory / "broker.log"
        self._pid_path = self.directory / "broker.pid"
        self._properties = self.directory / "server.properties"
        self._progress = progress
        self._template = broker_settings.SERVER + more
        self._child: subprocess.Popen[bytes] | None = None
        self._archive: tuple[Path, Path] | None = None

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for clients. BrokerError: `start` was never called."""
        return f"127.0.0.1:{self._ports()['client']}"

    @property
    def process(self) -> processes.ProcessId | None:
        """The running broker process of this directory, whoever started it."""
        return processes.read(self._pid_path)

    def start(self, *, wait: bool = True) -> None:
        """Starts the broker. `wait`: returns once it serves clients.

        BrokerError: one runs already over this directory, a port is taken, or it did not start (with the end of its
        log).
        """
        if (running := self.process) is not None:
            raise BrokerError(
                f"a broker runs already over {self.directory} (pid {running.pid}); `saffron down` ends it"
            )
        java = jvm.find_java()
        paths = jars.ensure(jars.KAFKA, self._progress)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._choose_ports()
        class_path = ":".join(map(str, paths))
        if not (self.directory / "kafka" / "meta.properties").exists():
            self._format(java, class_path)
        elif not (self.directory / "kafka" / _CLEAN).exists():
            self._fence(java, class_path)
        self._start(java, class_path)
        if wait:
            self.ready()

    def ready(self, timeout: float = _START_SECONDS) -> None:
        """Waits until the broker is registered and answers an admin client."""
        self._progress(f"waiting for the broker at {self.bootstrap} (log: {self.log_path})")
        deadline = time.monotonic() + timeout
        if not self._wait_for_line(STARTED, self.log_path, deadline):
            state = "did not start in time" if self.process else "ended while starting"
            if not self.process:
                self._reap()
            last_lines = log_tail(self.log_path, 15)
            raise BrokerError(f"the broker {state}. Its last words, from {self.log_path}:\n{last_lines}")
        while (error := self._unanswered()) is not None:
            if time.monotonic() > deadline:
                raise BrokerError(f"the broker at {self.bootstrap} started but does not answer: {error}") from error

    def _unanswered(self) -> KafkaException | None:
        """The error of one question to the broker; None: it answers.

        Each time by a new client: one that was told of no controller, just before there is one, may wait in vain.
        """
        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            client.describe_cluster(request_timeout=_ANSWER_SECONDS).result()
        except KafkaException as error:
            return error
        return None

    def stop(self) -> None:
        """Ends the broker cleanly, or kills it after a time limit. No error if it does not run."""
        process = self.process
        if process is not None:
            processes.end([process], _STOP_SECONDS)
        self._reap()
        self._keep_archive()

    def kill(self) -> None:
        """Kills the broker (kill -9), for tests of recovery."""
        process = self.process
        if process is not None:
            process.send(signal.SIGKILL)
            processes.end([process], _STOP_SECONDS)
        self._reap()

    # ------------------------------------------------------------ preparation

    def _ports(self) -> dict[str, int]:
        try:
            found = json.loads((self.directory / "ports.json").read_text("utf-8"))
            return {"client": int(found["client"]), "controller": int(found["controller"])}
        except (OSError, ValueError, KeyError) as error:
            raise BrokerError(f"there is no broker in {self.directory} yet: `saffron up` makes one") from error

    def _choose_ports(self) -> None:
        if (self.directory / "ports.json").exists():
            for role, port in self._ports().items():
                _require_free(port, role, self.directory)
        else:
            client, controller = free_ports(2)
            text = json.dumps({"client": client, "controller": controller})
            (self.directory / "ports.json").write_text(text, "utf-8")
        self._properties.write_text(self._settings(self._template), "utf-8")

    def _settings(self, template: str) -> str:
        return template.format(logs=self.directory / "kafka", **self._ports())

    def _format(self, java: jvm.Java, class_path: str) -> None:
        """Format the storage of the broker, unless it is formatted. BrokerError: that failed."""
        self._progress(f"formatting the broker's storage in {self.directory / 'kafka'}")
        tool = ["kafka.tools.StorageTool", "format", "--standalone", "-t", _cluster_id(), "-c", str(self._properties)]
        archive = jvm.archive_in_use(java, _archive_stem())
        done = subprocess.run(
            [str(java.path), *JVM, *archive, "-cp", class_path, *tool, "--ignore-formatted"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise BrokerError(f"Kafka's storage could not be formatted: {(done.stderr or done.stdout).strip()[-800:]}")

    def _fence(self, java: jvm.Java, class_path: str) -> None:
        """Ends the old registration of a killed broker through the controller alone, before the broker starts.

        With the old registration a starting broker leads its partitions as before. It completes transactions whose end
        was decided before it was killed. Once the registration ends and nobody leads, it drops their markers (Kafka
        4.3: "these partitions are likely deleted"). Their results would never become visible, and positions could not
        be read. The broker would not start sooner either: it would wait for that end.
        """
        self._progress("the broker was killed: its old registration is ended first")
        properties, log = self.directory / "controller.properties", self.directory / "controller.log"
        properties.write_text(self._settings(broker_settings.CONTROLLER), "utf-8")
        self._spawn(java, class_path, jvm.archive_in_use(java, _archive_stem()), properties, log)
        deadline = time.monotonic() + _START_SECONDS
        if self._wait_for_line(STARTED, log, deadline):
            self._wait_until_fenced(log, deadline)
        self.stop()

    def _wait_until_fenced(self, log: Path, deadline: float) -> None:
        """Waits until the end of the registration is on disk. A controller that stops drops pending writes.

        Time is measured by the controller's log, to which it adds a record every 50 ms while it runs. On a busy machine
        the detection may take seconds.
        """
        size, growths, enough = self._metadata_size(), 0, _FENCED_GROWTHS
        fenced = False
        while growths < enough and time.monotonic() < deadline and self.process is not None:
            self._pause()
            if not fenced and FENCED in log.read_text("utf-8", "replace"):
                fenced, enough = True, growths + _DURABLE_GROWTHS
            before, size = size, self._metadata_size()
            growths += size != before

    def _metadata_size(self) -> int:
        """Bytes of the controller's log."""
        return sum(path.stat().st_size for path in (self.directory / "kafka" / _METADATA).glob("*.log"))

    def _start(self, java: jvm.Java, class_path: str) -> None:
        stem = _archive_stem()
        options, fresh = jvm.archive_options(java, stem)
        self._archive = None if fresh is None else (fresh, jvm.archive_path(java, stem))
        self._progress(f"starting Kafka (Java {java.major}, {java.source})")
        self._spawn(java, class_path, options, self._properties, self.log_path)

    def _spawn(self, java: jvm.Java, class_path: str, options: Sequence[str], properties: Path, log_path: Path) -> None:
        """Starts a JVM of Kafka with `properties`, in a session of its own, and writes the pid file.

        Its output replaces the file at `log_path`.
        """
        command = [str(java.path), *JVM, *options, *LOGGING, "-cp", class_path, "kafka.Kafka", str(properties)]
        with log_path.open("wb") as log:  # a new file for each start: readiness is a line in it
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
                start_new_session=True,  # a Ctrl-C in the terminal is for us; we end the broker in the right order
            )
        process = processes.identify(self._child.pid)
        if process is not None:
            processes.write(self._pid_path, process)

    def _wait_for_line(self, line: str, log_path: Path, deadline: float) -> bool:
        """Waits until the process writes the line to its log. False: it ended, or the deadline passed."""
        position = 0
        tail = b""
        with log_path.open("rb") as log:
            while time.monotonic() < deadline:
                alive = self.process is not None
                log.seek(position)
                text = tail + log.read()
                position, tail = log.tell(), text[-len(line) :]
                if line.encode() in text:
                    return True
                if not alive:
                    break
                self._pause()
        return False

    def _pause(self) -> None:
        """Wait for a short time, or until the broker ends."""
        if self._child is None:
            time.sleep(_POLL_SECONDS)
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(_POLL_SECONDS)

    def _reap(self) -> None:
        if self._child is not None:
            self._child.wait()
            self._child = None
        self._pid_path.unlink(missing_ok=True)

    def _keep_archive(self) -> None:
        """Keeps the class archive that the JVM wrote at its exit, for the next start."""
        if self._archive is not None and self._archive[0].exists():
            jvm.keep_archive(*self._archive)
        self._archive = None


def _archive_stem() -> Path:
    """The path of the class archive for these jars. The broker writes it; the formatting tool uses it, too."""
    return user_cache_directory() / "jvm" / jars.KAFKA


def _require_free(port: int, role: str, directory: Path) -> None:
    """Refuse a port (BrokerError) that another process has taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise BrokerError(
                f"port {port} ({role}), which belongs to the data in {directory}, is taken by another process."
                f" End that process (`lsof -i :{port}` names it), or start over with `saffron up --fresh`."
            ) from error


def _cluster_id() -> str:
    """A new cluster id: 22 characters of url-safe base64. A leading "-" would be read as an option."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text
