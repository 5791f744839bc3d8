"""The service is alive while its loop turns, whatever requests are doing meanwhile."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from saffron.control.main import _own_thread, _watch
from saffron.control.tail import Newest, Tail
from saffron.errors import InputError
from saffron.runtime.dead_letters.reading import DeadLetters
from saffron.runtime.telemetry.health import Health
from tests.unit.control import world as worlds
from tests.unit.control.world import Ask, World, add


def test_the_beat_waits_for_no_request() -> None:
    health, beats = Health("control"), list[int]()

    async def talk() -> None:
        loop, stop, answered = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
        loop.set_default_executor(ThreadPoolExecutor(1))
        slow = loop.run_in_executor(None, answered.wait, 30)

        started: Any = asyncio.create_task(asyncio.sleep(60))
        feed: Any = SimpleNamespace(crashed=False)
        try:
            with _own_thread() as run:

                async def look() -> None:
                    await run(beats.append, len(beats))
                    if len(beats) == 3:
                        stop.set()

                done = _watch(feed, started, health, stop, look, look)
                assert await asyncio.wait_for(done, 10) == 0
            assert not slow.done()
        finally:
            answered.set()
            started.cancel()

    asyncio.run(talk())
    assert beats == [0, 1, 2]


@pytest.mark.parametrize(
    "path",
    ["/api/results", "/api/queries/rally/why?ask=symbol=IBM", "/api/dead-letters", "/api/dead-letters/events/0/1"],
)
def test_requests_that_wait_for_each_other_hold_one_thread(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world, together, met = World(), threading.Barrier(2), list[bool]()
    add(world.tables, "rally")

    def read(*_: Any) -> Newest:
        try:
            together.wait(0.2)
            met.append(True)
        except threading.BrokenBarrierError:
            met.append(False)
        if "results" in path:
            return Newest([], [])
        raise InputError("nothing")

    monkeypatch.setattr(Tail, "last", read)
    monkeypatch.setattr(worlds, "why", read)
    monkeypatch.setattr(DeadLetters, "newest", read)
    monkeypatch.setattr(DeadLetters, "find", read)

    async def talk(ask: Ask) -> None:
        await asyncio.gather(*(ask("GET", path) for _ in range(3)))

    world.run(talk)
    assert met == [False] * 3
