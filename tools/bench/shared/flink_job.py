"""Flink's job over the same small events, on the same broker: see flink_cep/FlinkCep.java."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import maven
import psutil
from bench.shared.system import System

VERSION = "2.2.1"
_HERE = Path(__file__).parent / "flink_cep"
_OPENS = ("util", "lang", "time", "util.concurrent")
"""Packages of java.base that Flink's serializers look into."""


@dataclass(frozen=True)
class Setting:
    """Milliseconds between checkpoints, which commit results, and between watermarks; 0: one behind each event."""

    name: str
    checkpoint_ms: int
    watermark_ms: int


SETTINGS = (
    Setting("checkpoints 1 s, watermarks 200 ms", 1000, 200),
    Setting("checkpoints 1 s, each event a watermark", 1000, 0),
    Setting("checkpoints 100 ms, each event a watermark", 100, 0),
)
RESULTS = "flink-results"
"""The topic of results, without the system's prefix."""


class Job:
    """A running job."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = psutil.Process(process.pid)

    def cpu(self) -> float:
        """Processor seconds so far."""
        times = self._process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def job(running: System, setting: Setting) -> Iterator[Job]:
    """A job from the system's events to a new topic of results. It has begun to read."""
    jars = maven.jars(_HERE / "pom.xml", f"flink-cep-{VERSION}")
    running.new_topic(RESULTS)
    with TemporaryDirectory() as folder:
        maven.run("javac", "-cp", f"{jars}/*", "-d", folder, str(_HERE / "FlinkCep.java"))
        opened = [word for name in _OPENS for word in ("--add-opens", f"java.base/java.{name}=ALL-UNNAMED")]
        topics = [running.settings.topic(name) for name in ("events", RESULTS)]
        words = [
            "java",
            "-Xmx3g",
            *opened,
            "-cp",
            f"{folder}:{jars}/*",
            "FlinkCep",
            running.settings.bootstrap,
            *topics,
        ]
        given = [str(setting.checkpoint_ms), str(setting.watermark_ms)]
        log = Path(folder) / "log"
        with (
            log.open("w") as errors,
            subprocess.Popen([*words, *given], stdout=subprocess.PIPE, stderr=errors, text=True) as process,
        ):
            try:
                assert process.stdout is not None
                if process.stdout.readline().strip() != "running":
                    raise SystemExit(f"Flink's job has ended: {log.read_text()[-2000:]}")
                yield Job(process)
            finally:
                process.kill()
