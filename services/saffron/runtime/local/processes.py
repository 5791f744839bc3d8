"""Processes that outlive the command that started them: identity, liveness, and end.

A pid alone is no identity: it is reused after its process ends. So a pid is kept with its process's start time, and a
signal is sent only if both match.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_POLL_SECONDS = 0.02
"""Interval of checks of a process that is no child of ours, and so cannot be waited on."""


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process of this machine. `began`: its start time, in the system's format."""

    pid: int
    began: str

    def alive(self) -> bool:
        """Whether it runs. A zombie does not."""
        return _began(self.pid) == self.began

    def send(self, number: signal.Signals) -> None:
        """Sends a signal, if the process still exists."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
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
    if Path("/proc/self/stat").exists():
        pairs = [(int(path.name), _fields(path)[3:4]) for path in Path("/proc").iterdir() if path.name.isdigit()]
    else:  # ps knows no session ids here; the process group is the next best
        command = ["ps", "-axo", "pid=,pgid="]
        listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        pairs = [(int(line.split()[0]), line.split()[1:2]) for line in listed.splitlines()]
    found = (identify(pid) for pid, session in pairs if session == [str(leader)] and pid != leader)
    return [process for process in found if process is not None]


def _wait(processes: list[ProcessId], patience: float) -> list[ProcessId]:
    deadline = time.monotonic() + patience
    remaining = [process for process in processes if process.alive()]
    while remaining and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        remaining = [process for process in remaining if process.alive()]
    return remaining


def _began(pid: int) -> str | None:
    """The start time of a running process; None if it has ended."""
    if not Path("/proc/self/stat").exists():
        return _began_by_ps(pid)
    parts = _fields(Path(f"/proc/{pid}"))
    return None if not parts or parts[0] in "ZX" else parts[19]


def _fields(process: Path) -> list[str]:
    """The fields of /proc/PID/stat from the state on (state, parent, group, session, ..., start time); [] if gone."""
    try:
        line = (process / "stat").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return line.rpartition(")")[2].split()  # the name in brackets may hold anything


def _began_by_ps(pid: int) -> str | None:
    """For systems without /proc."""
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    state, _, began = found.partition(" ")
    return None if not began or state.startswith("Z") else began.strip()
