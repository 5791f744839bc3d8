"""Flink's JSON format alone, over the same messages: see flink_json/FlinkJson.java."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import maven

_HERE = Path(__file__).parent / "flink_json"
VERSION = "2.2.1"
WAYS = {"parser": "Flink's JSON format, six leaves as a row", "tree": "the same by a tree of each message"}


def seconds(messages: Sequence[bytes], runs: int) -> dict[str, list[float]]:
    """Way (see `WAYS`) -> the seconds of each run over all messages, after runs that warm the JVM up."""
    jars = maven.jars(_HERE / "pom.xml", f"flink-json-{VERSION}")
    with TemporaryDirectory() as folder:
        maven.run("javac", "-cp", f"{jars}/*", "-d", folder, str(_HERE / "FlinkJson.java"))
        path = Path(folder) / "messages.ndjson"
        path.write_bytes(b"\n".join(messages))
        classes = f"{folder}:{jars}/*"
        return {way: _seconds(classes, path, way, runs) for way in WAYS}


def _seconds(classes: str, path: Path, way: str, runs: int) -> list[float]:
    printed = maven.run("java", "-Xmx3g", "-cp", classes, "FlinkJson", str(path), way, str(runs))
    return [float(line) for line in printed.split()]
