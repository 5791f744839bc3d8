"""A system that is started as a user starts it, and what a fault does to its processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from faults.plan import BROKER, Fault, Kind
from saffron.runtime.local.state import SystemState, read_state

_SESSION_MS = 2_000
_PAUSE_S = 1.5 * _SESSION_MS / 1000
"""A paused member has lost its partitions when it wakes."""
_PATIENCE_S = 180.0
_SETTINGS = {
    "SAFFRON_SESSION_MS": str(_SESSION_MS),
    "SAFFRON_SNAPSHOT_MS": "1000",
    "SAFFRON_CHECKPOINT_EVENTS": "20000",
}


class Target:
    """One system under a data directory of its own."""

    def __init__(self, data: Path, settings: Mapping[str, str]) -> None:
        self.data = data
        self._environment = {**os.environ, **_SETTINGS, **settings, "SAFFRON_DATA": str(data), "NO_COLOR": "1"}

    def command(self, *words: str) -> str:
        """Run `saffron WORDS`; returns its standard output. SystemExit, with its standard error, if it fails."""
        done = subprocess.run(
            [sys.executable, "-m", "saffron", *words],
            capture_output=True,
            text=True,
            env=self._environment,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"saffron {' '.join(words)}: status {done.returncode}\n{done.stderr}")
        return done.stdout

    @property
    def state(self) -> SystemState:
        """The running system."""
        found = read_state(self.data)
        assert found is not None, f"nothing runs under {self.data}"
        return found

    @property
    def bootstrap(self) -> str:
        return self.state.bootstrap

    def strike(self, fault: Fault) -> None:
        """Let the fault happen. The supervisor of `saffron up` starts again what has ended."""
        if fault.kind is Kind.PAUSE:
            self._send(fault.targets, signal.SIGSTOP)
            time.sleep(_PAUSE_S)
            self._send(fault.targets, signal.SIGCONT)
            return
        self._send(fault.targets, signal.SIGTERM if fault.kind is Kind.RESTART else signal.SIGKILL)
        if fault.kind is Kind.TEAR:
            self._tear(fault.targets[0])

    def wait_ready(self) -> None:
        """Wait until `saffron status` finds all services ready; SystemExit after minutes.

        It may not have noticed the last fault yet. Then the next one comes while services start: faults overlap.
        """
        deadline = time.monotonic() + _PATIENCE_S
        while any(one.state != "ready" for one in self.state.services) or self.state.broker is None:
            if time.monotonic() > deadline:
                waiting = "; ".join(f"{one.name}: {one.waiting}" for one in self.state.services if one.waiting)
                raise SystemExit(f"the system is not ready again within {_PATIENCE_S:g} s: {waiting}")
            time.sleep(0.1)

    def _send(self, targets: Sequence[str], number: signal.Signals) -> None:
        state = self.state
        processes = {one.name: one.process for one in state.services} | {BROKER: state.broker}
        for name in targets:
            if (process := processes.get(name)) is not None:
                process.send(number)

    def _tear(self, service: str) -> None:
        """Cut the end off the newest snapshot of every chain of a service, as a power cut may."""
        for folder in sorted({path.parent for path in self.data.rglob("*.snapshot") if service in path.parts}):
            newest = max(folder.glob("*.snapshot"))
            os.truncate(newest, max(1, newest.stat().st_size // 2))


@contextmanager
def running(data: Path, partitions: int, settings: Mapping[str, str] | None = None) -> Iterator[Target]:
    """The path of an event (no control, no model builder), started by `saffron up` and ended by `saffron down`."""
    target = Target(data, settings or {})
    left_out = ("--without", "control", "--without", "model-builder")
    try:
        target.command("up", "--partitions", str(partitions), *left_out)
        yield target
    finally:
        target.command("down")
