"""Spark's JVM, started without Spark's shell scripts.

`spark-submit` starts a JVM that prints the command of a second one. Starting the second one directly halves the time,
and needs no wrapper for runtimes without an incubator module. It is then our child process, and can use a class
archive. The JVM ends when its standard input closes, so it never outlives this process.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import IO

from saffron.distribution import install
from saffron.errors import SaffronError
from saffron.runtime.local import jvm
from saffron.runtime.process.config import user_cache_directory

NEWEST_JAVA = 23
"""Spark 4.0's Hadoop calls Subject.getSubject, which Java 24 and later refuse."""

_SOURCES = Path(__file__).parents[2]
"""Spark's Python workers on this machine import the code that runs here."""
_START_SECONDS = 120.0
_STOP_SECONDS = 15.0
_POLL_SECONDS = 0.02

SMALL = ("-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Options for a JVM beside all services: a small heap, cheap collector, C1 for short batches."""
ALONE: Mapping[str, str] = {"SPARK_LOCAL_IP": "127.0.0.1"}
"""The environment of a JVM in local mode, which no other machine may reach."""
_OPENED = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs",
    "sun.security.action", "sun.util.calendar",
)  # fmt: skip
"""Packages of java.base that Spark's own launcher opens too."""


class GatewayError(SaffronError):
    """Spark's JVM cannot be started."""


@dataclass
class Gateway:
    """A running JVM. `environment`: variables that make pyspark connect to it, and name the Python of its workers.

    `process`: None for a JVM of spark-submit, which is not ours to end.
    """

    process: subprocess.Popen[bytes] | None
    environment: Mapping[str, str]

    @property
    def submitted(self) -> bool:
        """True if spark-submit started the JVM, and has set the master."""
        return self.process is None

    def kill(self) -> None:
        """End the JVM at once."""
        if self.process is not None:
            self.process.kill()

    def close(self, patience: float = _STOP_SECONDS) -> None:
        """End the JVM by closing its standard input; kill it after `patience` seconds."""
        if self.process is None:
            return
        with contextlib.suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def submitted(environment: Mapping[str, str] = os.environ) -> Gateway | None:
    """The JVM that started this process (spark-submit, Spark's operator), None without one."""
    keys = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")
    return Gateway(None, {key: environment[key] for key in keys}) if keys[0] in environment else None


def class_path(connector: Sequence[Path]) -> list[Path]:
    """Spark's jars and the connector's, in a fixed order, on which a class archive depends."""
    import pyspark

    own = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    if not own:
        raise GatewayError(f"PySpark has no jars: install it again ({install('spark')})")
    return [*own, *connector]


def archive_stem(jars: Sequence[Path]) -> Path:
    """The path of the class archive for these jars, without its suffix. Jars installed again have another path.

    Times are in whole seconds, as in the JVM's comparison: a container image keeps no fractions.
    """
    marks = (f"{path} {path.stat().st_size} {int(path.stat().st_mtime)}" for path in jars)
    digest = hashlib.sha256("\n".join(marks).encode()).hexdigest()[:12]
    return user_cache_directory() / "jvm" / f"spark-{digest}"


def start(
    connector: Sequence[Path],
    scratch: Path,
    *,
    record: Path | None = None,
    output: IO[bytes] | None = None,
    memory: Sequence[str] = SMALL,
    environment: Mapping[str, str] = ALONE,
) -> Gateway:
    """Start the JVM and wait until it accepts connections.

    `scratch`: directory for Spark's temporary files. `record`: path of a class archive that the JVM writes at its end.
    `output`: file for its log (default: that of this process). `memory`: options for heap, collector and compilers.
    `environment`: added to the environment of this process.
    Raises GatewayError, JavaError: no fitting Java, or the JVM ended while starting.
    """
    java = jvm.find_java(newest=NEWEST_JAVA)
    jars = class_path(connector)
    known = jvm.archive_in_use(java, archive_stem(jars))
    classes = known if record is None else jvm.archiving(java, record)
    with tempfile.TemporaryDirectory(prefix="saffron-spark-") as folder:
        answer = Path(folder) / "gateway"
        process = subprocess.Popen(
            [
                str(java.path),
                *memory,
                *_options(jars),
                *classes,
                "org.apache.spark.deploy.SparkSubmit",
                "pyspark-shell",
            ],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            env={**_environment(answer, scratch), **environment},
            process_group=0,  # Ctrl-C is for us; the JVM ends when we close its input
        )
        try:
            port, secret = _wait(process, answer)
        except BaseException:
            process.kill()
            process.wait()
            raise
    keys = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    return Gateway(process, {**keys, "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable)})


def _options(jars: Sequence[Path]) -> list[str]:
    """The JVM's options for Spark."""
    logging = resources.files("saffron.spark").joinpath("log4j2.properties")
    return [
        "-Xss4m",
        "-XX:-UsePerfData",
        "-Xlog:disable",
        "-Xlog:all=error:stderr",
        "-XX:+IgnoreUnrecognizedVMOptions",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
        "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        f"-Dlog4j2.configurationFile={logging}",
        "-cp",
        ":".join(map(str, jars)),
    ]


def _environment(answer: Path, scratch: Path) -> dict[str, str]:
    """The JVM's environment: Spark's home and scratch, and the file for its `answer`."""
    import pyspark

    return {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_DIRS": os.environ.get("SPARK_LOCAL_DIRS", str(scratch)),
        "SPARK_CONNECT_MODE": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_SOURCES), os.environ.get("PYTHONPATH")])),
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(answer),
    }


def _wait(process: subprocess.Popen[bytes], answer: Path) -> tuple[int, str]:
    """(port, secret), which the JVM writes to the file `answer` once it listens."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if answer.is_file():
            content = answer.read_bytes()
            port, length = struct.unpack(">ii", content[:8])
            return port, content[8 : 8 + length].decode()
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise GatewayError(
                f"Spark's JVM ended while starting, status {process.wait(_POLL_SECONDS)}: see its lines above"
            )
    raise GatewayError(f"Spark's JVM did not answer within {_START_SECONDS:g} s and was killed")
