"""Processes that outlive the command that started them: identity, liveness, and end.

A pid alone is no identity: it is reused after its process ends. So a pid is kept with its process's start time, and a
signal is sent only if both match.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

_POLL_SECONDS = 0.02
"""Interval of checks of a process that is no child of ours, and so cannot be waited on."""
_ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
_TICKS = os.sysconf("SC_CLK_TCK")
"""Clock ticks per second, the unit of start times on Linux."""


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process of this machine. `began`: its start time, as `_began` writes it."""

    pid: int
    began: str

    def alive(self) -> bool:
        """True if the process runs. A zombie does not."""
        return _began(self.pid) == self.began

    def send(self, number: signal.Signals) -> None:
        """Sends a signal, if the process still exists."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):  # of another user
                os.kill(self.pid, number)


def identify(pid: int) -> ProcessId | None:
    """The process with this pid now, or None."""
    began = _began(pid)
    return None if began is None else ProcessId(pid, began)


def write(path: Path, process: ProcessId) -> None:
    """Writes a pid file."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(f"{process.pid} {process.began}\n", "utf-8")
    fresh.replace(path)


def read(path: Path) -> ProcessId | None:
    """The running process of a pid file; None if it is gone, or there is no file."""
    try:
        pid, began = path.read_text("utf-8").strip().split(" ", 1)
        process = ProcessId(int(pid), began)
    except (OSError, ValueError):
        return None
    return process if process.alive() else None


def end(processes: Iterable[ProcessId], patience: float) -> list[ProcessId]:
    """Ends processes: SIGTERM, `patience` seconds for all together, then SIGKILL. Returns those that were killed."""
    remaining = list(processes)
    for process in remaining:
        process.send(signal.SIGTERM)
    remaining = _wait(remaining, patience)
    for process in remaining:
        process.send(signal.SIGKILL)
    _wait(remaining, patience)
    return remaining


def of_session(leader: int) -> list[ProcessId]:
    """Running processes of the session of process `leader`, without it."""
    found = (identify(pid) for pid in psutil.pids() if pid != leader and _session(pid) == leader)
    return [process for process in found if process is not None]


def _wait(processes: list[ProcessId], patience: float) -> list[ProcessId]:
    deadline = time.monotonic() + patience
    remaining = [process for process in processes if process.alive()]
    while remaining and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        remaining = [process for process in remaining if process.alive()]
    return remaining


def _session(pid: int) -> int | None:
    """The session of a process; None if it has ended, or is none of ours."""
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def _began(pid: int) -> str | None:
    """The start time of a running process; None if it has ended, or is none of ours.

    On Linux it is in clock ticks since the boot, since a time of day moves when the system's clock is set.
    """
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            if process.status() in _ENDED:
                return None
            began = process.create_time()
    except (psutil.Error, ValueError):  # a pid file may hold a number that is no pid
        return None
    return str(round((began - psutil.boot_time()) * _TICKS)) if psutil.LINUX else str(began)
