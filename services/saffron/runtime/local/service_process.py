"""One service under the supervisor: start, readiness, and restart after its death."""

from __future__ import annotations

import http.client
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from saffron.runtime.local import processes
from saffron.runtime.local.ports import free_ports, is_free, own_address
from saffron.runtime.local.state import ServiceState

_FIRST_DELAY = 0.5
_LONGEST_DELAY = 15.0
_STEADY_SECONDS = 30.0
"""Run time after which the delay before restarts begins anew."""
_ASK_SECONDS = 0.5
_READY_SECONDS = 1.0
"""Time after which one that is ready is asked again; its death is noticed at once."""
_HUNG = "kill -USR1 of its process writes to its log where it stands"


class ServiceProcess:
    """Runs `saffron run NAME` in its own session, so that all its children can be found and ended with it."""

    def __init__(
        self, name: str, port: int, log: Path, environment: Mapping[str, str], host: str = "127.0.0.1"
    ) -> None:
        """`host`: the address that services listen on."""
        self.name = name
        self._host = own_address(host)
        self._port = port
        self._log = log
        self._environment = environment
        self._child: subprocess.Popen[bytes] | None = None
        self._process: processes.ProcessId | None = None
        self._started = 0.0
        self._delay = _FIRST_DELAY
        self._restart_at: float | None = None
        self._restarts = 0
        self._failures = 0
        self._ready = False
        self._answered = False
        self._waiting = "starting"
        self._asked = -math.inf

    @property
    def ready(self) -> bool:
        return self._ready

    @property
    def waiting(self) -> str:
        """The obstacles that it, or some of its streams, wait for, as text; "" if there are none."""
        return self._waiting

    @property
    def failures(self) -> int:
        """Number of deaths since it was last ready."""
        return self._failures

    def tail(self) -> str:
        """The end of the service's log."""
        return log_tail(self._log)

    def start(self, now: float) -> None:
        """Starts it, with output appended to its log file."""
        with self._log.open("ab") as log:
            self._child = subprocess.Popen(
                _command(self.name),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self._environment, "SAFFRON_METRICS_PORT": str(self._port)},
                start_new_session=True,
            )
        self._process = processes.identify(self._child.pid)
        self._started, self._restart_at = now, None
        self._ready, self._answered, self._waiting = False, False, "starting"

    def look(self, now: float) -> str | None:
        """Detects its death, and restarts it after a delay that doubles. Returns a message when something happened."""
        if self._child is None:
            if self._restart_at is not None and now >= self._restart_at:
                self._restarts += 1
                if not self._answered and not is_free(self._port):  # another process was faster
                    (self._port,) = free_ports(1)
                self.start(now)
                return f"{self.name}: started again"
            return None
        status = self._child.poll()
        if status is None:
            return None
        self._sweep()
        self._failures += 1
        if now - self._started > _STEADY_SECONDS:
            self._delay = _FIRST_DELAY
        self._child, self._process = None, None
        self._restart_at, self._ready = now + self._delay, False
        self._waiting = f"it ended ({_ending(status)}); started again in {self._delay:g} s; log: {self._log}"
        self._delay = min(2 * self._delay, _LONGEST_DELAY)
        return f"{self.name}: {self._waiting}"

    def ask(self, now: float) -> None:
        """Queries the service's readiness, and what it waits for; of one that is ready, once a second."""
        if self._child is None or (self._ready and now - self._asked < _READY_SECONDS):
            return
        self._asked = now
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_ASK_SECONDS)
        try:
            connection.request("GET", "/readyz")
            answer = json.loads(connection.getresponse().read())
            self._ready, self._answered = bool(answer["ready"]), True
            self._waiting = "; ".join(map(str, (*answer["waiting"].values(), *answer.get("streams", ()))))
            if self._ready:
                self._failures = 0
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            self._ready = False
            self._waiting = f"it does not answer; {_HUNG}" if self._answered else "starting"
        finally:
            connection.close()

    def terminate(self) -> None:
        """Requests its end: it commits and leaves its group."""
        self._restart_at = None
        if self._child is not None:
            self._child.send_signal(signal.SIGTERM)

    def finish(self, patience: float) -> bool:
        """Waits for its end, then kills it with its children. False: it had to be killed."""
        if self._child is None:
            return True
        try:
            self._child.wait(patience)
            clean = True
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
            clean = False
        self._sweep()
        self._child, self._process = None, None
        self._ready, self._waiting = False, ""
        return clean

    def _sweep(self) -> None:
        """Ends remaining processes of its session (Spark's JVM and workers)."""
        if self._process is not None:
            processes.end(processes.of_session(self._process.pid), 3.0)

    def state(self) -> ServiceState:
        """The state for the state file."""
        if self._child is None:
            name = "dead" if self._restart_at is not None else "stopped"
        else:
            name = "ready" if self._ready else "not ready" if self._restarts or self._answered else "starting"
        return ServiceState(
            self.name,
            name,
            self._port,
            str(self._log),
            self._process,
            self._restarts,
            self._waiting,
            self._host,
        )


def log_tail(path: Path, lines: int = 10) -> str:
    """The last lines of a log file."""
    return "\n".join(path.read_text("utf-8", "replace").splitlines()[-lines:])


def _command(name: str) -> list[str]:
    return [sys.executable, "-m", "saffron", "run", name]


def _ending(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"
