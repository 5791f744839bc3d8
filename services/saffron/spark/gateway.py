"""The JVM in which Spark runs, started without Spark's shell scripts.

`spark-submit` starts a JVM to print the command of a second one. Starting that one directly halves the time, needs no
wrapper for runtimes that lack an incubator module, gives us its process, and lets it use a class archive.
The JVM reads its standard input and ends when that closes: it never outlives this process, however that ends.
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
_LOOK = 0.02

SMALL = ("-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""A small heap and a cheap collector for what shares the machine with all services; C1 only, for work in short batches.
"""
ALONE: Mapping[str, str] = {"SPARK_LOCAL_IP": "127.0.0.1"}
"""The environment of a JVM that does all the work itself: nobody else may reach it."""
_OPENED = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs",
    "sun.security.action", "sun.util.calendar",
)  # fmt: skip
"""Packages of java.base that Spark reaches into (its own launcher opens the same)."""


class GatewayError(SaffronError):
    """Spark's JVM cannot be started."""


@dataclass
class Gateway:
    """A running JVM; `environment` makes pyspark connect to it instead of starting its own, and names workers' Python.

    `process`: None of a JVM that is not ours to end.
    """

    process: subprocess.Popen[bytes] | None
    environment: Mapping[str, str]

    @property
    def submitted(self) -> bool:
        """Whether spark-submit started it, and said where the work is done."""
        return self.process is None

    def kill(self) -> None:
        """End it at once."""
        if self.process is not None:
            self.process.kill()

    def close(self, patience: float = _STOP_SECONDS) -> None:
        """End the JVM: it stops when its standard input closes; killed if it does not within `patience` seconds."""
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
    """The JVM that started this process as its Python program (spark-submit, Spark's operator); None: none did."""
    keys = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")
    return Gateway(None, {key: environment[key] for key in keys}) if keys[0] in environment else None


def class_path(connector: Sequence[Path]) -> list[Path]:
    """Spark's own jars and the connector's, in an order that is the same every time (a class archive depends on it)."""
    import pyspark

    own = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    if not own:
        raise GatewayError(f"PySpark has no jars: install it again ({install('spark')})")
    return [*own, *connector]


def archive_stem(jars: Sequence[Path]) -> Path:
    """Where the class archive for these jars lies; other jars, or the same ones installed again, have another.

    Times in whole seconds, as the JVM compares them: a container's image keeps no parts of them.
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
    """Start the JVM and wait until it can be connected to.

    `scratch`: directory for Spark's temporary files. `record`: write a class archive there when it ends.
    `output`: where its log goes (default: where ours goes). `memory`: its options for heap, collector and compilers.
    `environment`: what stands in its environment beside ours.
    GatewayError, JavaError: no fitting Java, or the JVM ended while starting.
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
    """Port and secret, which the JVM writes into a file once it listens (renamed into place when complete)."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if answer.is_file():
            content = answer.read_bytes()
            port, length = struct.unpack(">ii", content[:8])
            return port, content[8 : 8 + length].decode()
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise GatewayError(f"Spark's JVM ended while starting, status {process.wait(_LOOK)}: see its lines above")
    raise GatewayError(f"Spark's JVM did not answer within {_START_SECONDS:g} s and was killed")
