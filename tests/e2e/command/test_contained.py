"""One query cannot hurt another, on the real broker: one raises an exception, one ends its process, again and again."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import orjson
import pytest

from tests.e2e.command.command import Command

MODULE = """
import os

import saffron


@saffron.aggregate
def boom(acc, x):
    if x == 666:
        raise RuntimeError("no such number")
    return acc + x


@saffron.aggregate
def deadly(acc, x):
    if x == 777:
        os._exit(3)
    return acc + x
"""
GOOD = "QUERY good PATTERN SEQ(A a, B b) WITHIN 1 minute"
BAD = "QUERY bad PATTERN SEQ(A+ a[], B b) WITHIN 1 minute RETURN boom(a[].x) AS s"
KILLER = "QUERY killer PATTERN SEQ(A+ a[], C c) WITHIN 1 minute RETURN deadly(a[].x) AS s"
_PATIENCE = 300.0

T = TypeVar("T")


def events(values: list[int], ender: str, first: int) -> list[bytes]:
    """An A with each value, and what ends its matches; then what brings the watermark behind them."""
    kinds = [kind for value in values for kind in (("A", value), (ender, 0), ("B", 0))] + [("D", 0)] * 3
    return [orjson.dumps({"type": kind, "ts": first + 10 * n, "x": x}) for n, (kind, x) in enumerate(kinds)]


def test_the_others_go_on_through_exceptions_and_deaths(
    broker: str, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "poison.py").write_text(MODULE, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    command = Command(
        tmp_path / "data",
        SAFFRON_AGGREGATES="poison",
        SAFFRON_PARTITIONS="1",
        SAFFRON_BOOTSTRAP=broker,
        SAFFRON_PREFIX=prefix,
    )
    now = time.time_ns() // 1_000_000
    batches = [events([1, 2, 666, 3], "B", now), events([5, 777, 6, 7], "C", now + 10_000)]
    try:
        command.run("up", "--without", "model_builder", "--without", "greta", "--without", "control")
        command.run("query", "add", "-e", GOOD, "-e", BAD, "-e", KILLER, "--timeout", "300")
        produce(command, tmp_path, batches[0])
        wait(lambda: states(command), lambda found: found["bad"] == "failed")
        produce(command, tmp_path, batches[1])
        wait(lambda: states(command), lambda found: found["killer"] == "failed")
        assert states(command) == {"good": "active", "bad": "failed", "killer": "failed"}
        assert "failed reporting" in command.run("query", "show", "bad").stdout
        shown = {one["name"]: one["reason"] for one in command.json("query", "list")}
        assert "RuntimeError('no such number')" in shown["bad"]
        assert "its process died in it 2 times" in shown["killer"]
        found = [
            one for one in command.json("doctor", status=1) if one["check"] == "queries" and one["state"] == "error"
        ]
        assert {one["where"] for one in found} == {"query bad", "query killer"}
        assert all("saffron query replace" in one["fix"] for one in found)
        expected = replayed(command, tmp_path, batches)
        wait(lambda: good(command), lambda ids: len(ids) >= len(expected))
        assert good(command) == expected
        command.run("query", "replace", "bad", "-e", BAD, "--timeout", "300")
        command.run("query", "remove", "killer")
        assert states(command) == {"good": "active", "bad": "active"}
    finally:
        command.run("down")


def produce(command: Command, directory: Path, batch: list[bytes]) -> None:
    path = directory / "events.ndjson"
    path.write_bytes(b"\n".join(batch) + b"\n")
    command.run("produce", str(path))


def states(command: Command) -> dict[str, str]:
    return {one["name"]: one["state"] for one in command.json("query", "list")}


def good(command: Command) -> list[str]:
    """The ids of the committed results of the query that goes on."""
    done = command.run("tail", "complex-events", "--from", "earliest", "--end")
    results = [orjson.loads(line) for line in done.stdout.splitlines()]
    return [one["id"] for one in results if one["query"] == "good"]


def wait(ask: Callable[[], T], until: Callable[[T], bool]) -> None:
    """Ask again until it is so."""
    end = time.monotonic() + _PATIENCE
    while not until(found := ask()):
        assert time.monotonic() < end, found


def replayed(command: Command, directory: Path, batches: list[list[bytes]]) -> list[str]:
    """The ids of the results of the query that goes on, as an undisturbed run gives them."""
    path = directory / "all.ndjson"
    path.write_bytes(b"\n".join(line for batch in batches for line in batch) + b"\n")
    done = command.run("replay", "-e", GOOD, str(path))
    return [orjson.loads(line)["id"] for line in done.stdout.splitlines()]
