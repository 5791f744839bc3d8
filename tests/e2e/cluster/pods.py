"""Pods as plain processes: what a manifest says of command, variables, ports, volumes, probes and the end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from saffron.runtime.local.ports import free_ports
from saffron.runtime.process.config import user_cache_directory

ROOT = Path(__file__).parents[3]
WITHOUT_CAPABILITIES = (sys.executable, str(Path(__file__).with_name("without_capabilities.py")))
_ELSEWHERE = ("SAFFRON_CACHE", "NUMBA_CACHE_DIR")
"""As everywhere in the tests, so that nothing is compiled that has been before."""

Secret = Callable[[str, str], str]
"""(name, key) -> what stands there."""


class Pod:
    """One pod of a workload. `changed`: variables that are not what the manifest says. `image`: the root of a file
    system to run it from, in which the volumes are; None: from the sources, the volumes somewhere below `directory`.
    """

    def __init__(
        self,
        workload: Mapping[str, Any],
        config_maps: Mapping[str, Mapping[str, str]],
        secret: Secret,
        directory: Path,
        changed: Mapping[str, str],
        image: Path | None = None,
    ) -> None:
        self.name: str = workload["metadata"]["name"]
        spec = workload["spec"]["template"]["spec"]
        (self._container,) = spec["containers"]
        self._grace: int = spec["terminationGracePeriodSeconds"]
        self._log = directory / f"{self.name}.log"
        self._image = image
        self._mounts = {
            one["mountPath"]: directory / self.name / one["name"] if image is None else image / one["mountPath"][1:]
            for one in self._container["volumeMounts"]
        }
        names = [one["name"] for one in self._container["ports"]]
        self._ports = dict(zip(names, free_ports(len(names)), strict=True))
        self._environment = {**self._variables(config_maps, secret), **changed}
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        for path in self._mounts.values():
            path.mkdir(parents=True, exist_ok=self._image is not None)
        program, *arguments = self._container["command"]
        if self._image is None:
            command = [sys.executable, "-m", program, *arguments]
            fixed = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "services")}
            fixed |= {"SAFFRON_CACHE": str(user_cache_directory())}
        else:
            programs = self._image / "opt" / "saffron" / "bin"
            command = [*WITHOUT_CAPABILITIES, str(programs / program), *arguments]
            fixed = {"PATH": str(programs), "TMPDIR": str(self._mounts["/tmp"])}
        with self._log.open("wb") as log:
            self._child = subprocess.Popen(
                command,
                env=self._environment | fixed,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def answers(self, probe: str) -> bool:
        """Whether a probe (startup, readiness, liveness) succeeds now."""
        asked = self._container[f"{probe}Probe"]["httpGet"]
        return self.ask("GET", asked["path"], port=asked["port"])[0] == 200

    def wait(self, what: str, reached: Callable[[], bool], seconds: float) -> None:
        """Until `reached`; the wait for an end of the process, which would be an error, is the pace."""
        assert self._child is not None
        deadline = time.monotonic() + seconds
        while not reached():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(0.05)
            assert self._child.poll() is None, f"{self.name} ended before {what}:\n{self.words()}"
            assert time.monotonic() < deadline, f"{self.name}: no {what} in {seconds:g} s:\n{self.words()}"

    def ask(
        self, method: str, path: str, body: bytes | None = None, *, port: str, token: str = ""
    ) -> tuple[int, bytes]:
        """(status, body) of a request; (0, nothing) when nobody listens."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        url = f"http://127.0.0.1:{self._ports[port]}{path}"
        try:
            with urllib.request.urlopen(
                urllib.request.Request(url, body, headers, method=method), timeout=10
            ) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()
        except OSError:
            return 0, b""

    def command(self, *arguments: str) -> bytes:
        """What a `saffron` command says that is run in the container."""
        command = [sys.executable, "-m", "saffron", *arguments]
        fixed = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "services")}
        done = subprocess.run(command, env=self._environment | fixed, cwd="/", capture_output=True, check=True)
        return done.stdout + done.stderr

    def dump(self) -> None:
        """Have it write to its log where each thread is, and wait for that."""
        assert self._child is not None
        if self.name != "saffron-control":  # Faust's loop has no such signal
            self._child.send_signal(signal.SIGUSR1)
            self.wait("dump", lambda: "most recent call first" in self.everything(), 10)

    def end(self) -> int:
        """SIGTERM, as Kubernetes would; the exit status, within the time that the manifest allows."""
        assert self._child is not None
        self._child.send_signal(signal.SIGTERM)
        return self._child.wait(self._grace)

    def kill(self) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.kill()
            self._child.wait()

    def everything(self) -> str:
        """Its log."""
        return self._log.read_text("utf-8", "replace")

    def words(self) -> str:
        """The end of its log."""
        return self.everything()[-3000:]

    def _variables(self, config_maps: Mapping[str, Mapping[str, str]], secret: Secret) -> dict[str, str]:
        found: dict[str, str] = {}
        for one in self._container.get("envFrom", ()):
            if "configMapRef" in one:
                found |= config_maps[one["configMapRef"]["name"]]
        for one in self._container.get("env", ()):
            source = one.get("valueFrom", {}).get("secretKeyRef")
            found[one["name"]] = one["value"] if source is None else secret(source["name"], source["key"])
        ports = {"SAFFRON_METRICS_PORT": "metrics", "SAFFRON_CONTROL_PORT": "http"}
        found |= {name: str(self._ports[port]) for name, port in ports.items() if port in self._ports}
        left_out = _ELSEWHERE if self._image is None else ()
        return {name: self._here(value) for name, value in found.items() if name not in left_out}

    def _here(self, value: str) -> str:
        """A path of the container, on this machine; the innermost mount counts."""
        for mount in sorted(self._mounts, key=len, reverse=True):
            if value == mount or value.startswith(f"{mount}/"):
                return f"{self._mounts[mount]}{value.removeprefix(mount)}"
        return value
