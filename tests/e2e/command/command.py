"""The `saffron` command as a process of its own, in an environment of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import orjson
import psutil

_SECONDS = 600
"""When a command hangs. A first start beside two others, everything still to be fetched and compiled, has taken 200."""
ROOT = Path(__file__).parents[3]


class Command:
    """Runs `saffron ARGUMENTS` against one data directory. Every process that comes of it carries a mark.

    `settings`: by the names of their environment variables.
    """

    def __init__(self, data: Path, **settings: str) -> None:
        self.data = data
        self._settings = settings
        self._mark = f"saffron-test-{uuid.uuid4().hex}"

    def environment(self) -> dict[str, str]:
        found = {name: value for name, value in os.environ.items() if not name.startswith("SAFFRON_")}
        if "SAFFRON_CACHE" in os.environ:
            found["SAFFRON_CACHE"] = os.environ["SAFFRON_CACHE"]
        path = f"{ROOT / 'services'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        found |= self._settings
        return found | {"SAFFRON_DATA": str(self.data), "MARK": self._mark, "PYTHONPATH": path, "NO_COLOR": "1"}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start it in a session of its own, as a shell does; both outputs in one pipe."""
        return subprocess.Popen(
            [sys.executable, "-m", "saffron", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment(),
            start_new_session=True,
        )

    def run(self, *arguments: str, status: int = 0, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run it to its end, which must have this exit status."""
        done = self._ended(*arguments, stdin=stdin)
        assert done.returncode == status, (
            f"saffron {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
        )
        assert "Traceback" not in done.stderr
        return done

    def wait_ready(self) -> None:
        """Until `saffron status` says that all is up."""
        until = time.monotonic() + _SECONDS
        while (done := self._ended("status")).returncode:
            assert time.monotonic() < until, done.stdout + done.stderr

    def json(self, *arguments: str, status: int = 0) -> Any:
        """What it prints as JSON."""
        return orjson.loads(self.run(*arguments, "--json", status=status).stdout)

    def _ended(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "saffron", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=self.environment(),
            timeout=_SECONDS,
            check=False,
        )

    def survivors(self) -> list[str]:
        """Command lines of all running processes that came of this object's commands."""
        running = psutil.process_iter(["environ", "cmdline"])
        found = [
            " ".join(one.info["cmdline"] or ()) for one in running if self._mark in (one.info["environ"] or {}).values()
        ]
        return [line for line in found if line]


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """Read the process's output up to a line that holds `text`; all that was read."""
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if text in line:
            return seen
    raise AssertionError(f"it ended before {text!r}:\n{seen}")


def interrupt(process: subprocess.Popen[str]) -> str:
    """Ctrl-C: the signal goes to the whole foreground group; the rest of the output, when it has ended."""
    os.killpg(process.pid, signal.SIGINT)
    return process.communicate(timeout=_SECONDS)[0]
