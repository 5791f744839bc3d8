"""`saffron demo` with parts in memory: what it says, and its status, where the services get stuck."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from saffron.cli.client import Client
from saffron.cli.options import System
from saffron.cli.system import demo
from saffron.errors import SaffronError
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.process.config import Settings
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog


class Produced:
    """A production that has ended."""

    sent, last, running, error = 3, 5, False, None

    def __init__(self, *given: Any) -> None: ...

    def start(self) -> None: ...

    def end(self) -> None: ...


class Stuck:
    """Readers that do not get on."""

    def __init__(self, *given: Any) -> None: ...

    def progress(self) -> tuple[float, ...]:
        return (1.0,)

    def settled(self, events: int, until_ms: int) -> bool:
        return False

    def close(self) -> None: ...


def test_a_demo_that_gets_stuck_fails_after_its_summary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = MemoryLog(MemoryBroker(lambda: 0))
    log.create_topics(topic_specs("t.", 1))
    client = Client(Settings(prefix="t.", bootstrap="memory"), log)
    told: list[str] = []
    for name, part in {
        "_Production": Produced,
        "Readers": Stuck,
        "_STUCK_SECONDS": 0.0,
        "_summary": lambda *given: told.append("summary"),
        "connection": lambda settings: nullcontext(client),
    }.items():
        monkeypatch.setattr(demo, name, part)
    monkeypatch.setattr("saffron.cli.system.demo.streams.add", lambda *given, **more: None)
    monkeypatch.setattr("saffron.cli.system.demo.queries.add", lambda *given, **more: None)
    monkeypatch.setattr(System, "connected", lambda self: client.settings)
    with pytest.raises(SaffronError, match=rf"no service got on, nor any result came: see {tmp_path}/logs"):
        demo._play(tmp_path, 100.0, 3)
    assert told == ["summary"]
    log.close()
