"""A forked process: what is begun in it works, what needs threads of its parent is refused, nothing waits for ever."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAD = """
import asyncio, os, signal, threading, saffron
from numba.core.compiler_lock import global_compiler_lock
from saffron.errors import ForkError
QUERY = "QUERY q PATTERN A a WITHIN 1 s RETURN a.x AS x"
EVENTS = [{"type": "A", "ts": at, "x": at} for at in range(3000)]

def forked(work):
    child = os.fork()
    if not child:
        signal.alarm(60)
        try:
            work()
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]
"""
FILE = """
with open("events.ndjson", "w") as file:
    file.writelines('{"type":"A","ts":%d,"x":%d}\\n' % (at, at) for at in range(300_000))
results = iter(saffron.replay(QUERY, "events.ndjson"))
next(results)
def refused():
    try:
        sum(1 for _ in results)
    except ForkError as error:
        assert "was begun before this process was forked" in str(error)
        assert sum(1 for _ in saffron.replay(QUERY, EVENTS)) == 3000
        return
    raise AssertionError("it went on")
assert forked(refused) == 0
assert sum(1 for _ in results) == 299_999
"""
LISTS = """
results = iter(saffron.replay(QUERY, EVENTS))
next(results)
live = saffron.open(QUERY)
live.feed(EVENTS[:1000])
def goes_on():
    assert sum(1 for _ in results) == 2999
    assert len(live.feed(EVENTS[1000:2000])) == 1000
assert forked(goes_on) == 0
goes_on()
"""
COROUTINES = """
live = saffron.open(QUERY)
asyncio.run(live.afeed(EVENTS[:10]))
def refused():
    try:
        asyncio.run(live.afeed(EVENTS[10:20]))
    except ForkError:
        return
    raise AssertionError("it went on")
assert forked(refused) == 0
"""
COMPILING = """
next(iter(saffron.replay(QUERY, EVENTS)))
stop = threading.Event()
def compile():
    while not stop.is_set():
        with global_compiler_lock:
            sum(range(20_000))
thread = threading.Thread(target=compile)
thread.start()
def works():
    with global_compiler_lock:
        pass
try:
    for _ in range(20):
        assert forked(works) == 0
finally:
    stop.set()
    thread.join()
"""


@pytest.mark.parametrize(
    "program", [FILE, LISTS, COROUTINES, COMPILING], ids=["file", "lists", "coroutines", "compiling"]
)
def test_a_forked_process(program: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", HEAD + program], check=True, cwd=tmp_path, timeout=120)
