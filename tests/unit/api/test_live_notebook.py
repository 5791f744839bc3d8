"""docs/live.ipynb: all cells run, the second half on a broker in memory that has the results of the first."""

from __future__ import annotations

import ast
import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import orjson
import pytest

import saffron
from saffron.runtime.log.kafka import kafka_log
from saffron.runtime.log.topics import topic_specs
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

NOTEBOOK = Path(__file__).parents[3] / "docs" / "live.ipynb"
SYSTEM = "Results from Kafka"


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryLog]:
    """A system in memory, which `saffron.subscribe` finds by the settings."""
    broker = MemoryBroker(lambda: 5)
    log = MemoryLog(broker)
    log.create_topics(topic_specs("saffron.", 1))
    monkeypatch.setattr(kafka_log, "connect", lambda _: MemoryLog(broker))
    monkeypatch.setenv("SAFFRON_BOOTSTRAP", "memory")
    yield log
    log.close()


def test_all_cells_run(log: MemoryLog) -> None:
    names: dict[str, Any] = {}
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        if cell.cell_type == "code":
            assert not cell.outputs
            run(cell.source, names)
        elif SYSTEM in cell.source:
            write(log, names["found"])
    found = [one.id for one in names["found"]]
    assert found == [one.id for one in saffron.replay(names["rally"], names["quotes"][:3000])]
    assert names["same"]
    assert [one.returns["host"] for one in names["missing"]] == ["a"]
    assert [one.id for one in names["read"] + names["more"]] == found
    assert names["number"] == len(list(saffron.replay(names["rally"], names["quotes"][:1000]))) > 0


def run(source: str, names: dict[str, Any]) -> None:
    """One cell, as a notebook runs it: with `await` at the top level."""
    code = compile(source, str(NOTEBOOK), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(eval(code, names))  # noqa: S307
    else:
        exec(code, names)  # noqa: S102


def write(log: MemoryLog, results: list[saffron.Result]) -> None:
    producer = log.producer("matcher")
    producer.begin()
    for one in results:
        producer.send(
            "saffron.complex-events", 0, orjson.dumps({**one.to_dict(), "detected_at": 5}), key=one.query.encode()
        )
    producer.commit()
