"""A worker of Kafka Connect with a JDBC sink, both with jars from Maven."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import maven

from sinks.postgres import free_port

_HERE = Path(__file__).parent


def worker_jars() -> Path:
    """The folder of the worker's jars."""
    return maven.jars(_HERE / "worker.pom.xml", "connect-4.3.1")


def sink_jars() -> Path:
    """The folder of the jars of Debezium's JDBC sink, a plugin of the worker."""
    return maven.jars(_HERE / "sink.pom.xml", "connect-plugins/debezium-jdbc-3.4.0")


class Worker:
    """A standalone worker with one sink. `sink`: its properties."""

    def __init__(self, folder: Path, bootstrap: str, sink: Mapping[str, str]) -> None:
        self._folder = folder
        worker = {
            "bootstrap.servers": bootstrap,
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "true",
            "consumer.isolation.level": "read_committed",
            "consumer.auto.offset.reset": "earliest",
            "offset.storage.file.filename": str(folder / "offsets"),
            "offset.flush.interval.ms": "1000",
            "plugin.path": str(sink_jars().parent),
            "listeners": f"HTTP://127.0.0.1:{free_port()}",
        }
        self._files = [_properties(folder / "worker.properties", worker), _properties(folder / "sink.properties", sink)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begins to work; the log goes on in the file `connect.log`."""
        class_path = f"{worker_jars()}/*"
        command = ["java", "-Xmx512m", "-cp", class_path, "org.apache.kafka.connect.cli.ConnectStandalone"]
        with (self._folder / "connect.log").open("ab") as log:
            self._process = subprocess.Popen([*command, *self._files], stdout=log, stderr=subprocess.STDOUT)

    def kill(self) -> None:
        """Ends the process as kill -9 does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()


def _properties(path: Path, values: Mapping[str, str]) -> str:
    path.write_text("".join(f"{name}={value}\n" for name, value in values.items()), "utf-8")
    return str(path)
