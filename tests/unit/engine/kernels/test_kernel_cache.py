"""Processes that want one kernel at one moment: the first compiles it, the others wait and load it."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from saffron.engine.kernels import content_hash as stamp
from saffron.engine.kernels import kernel_cache

SOURCE = """from numba import int64

from saffron.engine.kernels.jit import kernel


@kernel()
def add(x):
    return x + 1
"""


def fresh(directory: Path) -> Any:
    """The kernel as a new process would see it."""
    path = directory / "kernels.py"
    if not path.exists():
        path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("kernels", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.add


def found(kernel: Any) -> int:
    return sum(kernel.stats.cache_hits.values())


def lock_of(kernel: Any) -> Path:
    return Path(kernel._cache._lock_file())


def elsewhere(kernel: Any) -> int:
    """Another process is at it: its open lock file."""
    lock_of(kernel).parent.mkdir(exist_ok=True)
    file = os.open(lock_of(kernel), os.O_CREAT | os.O_RDWR)
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def on_pause(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> list[float]:
    """What happens while it waits; the pauses."""
    pauses: list[float] = []

    here, sleep = threading.get_ident(), time.sleep

    def pause(seconds: float) -> None:
        if threading.get_ident() != here:
            sleep(seconds)  # a thread of another test, which goes on
        else:
            pauses.append(seconds)
            happens()

    monkeypatch.setattr(time, "sleep", pause)
    return pauses


def test_who_waits_finds_what_the_other_has_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = fresh(tmp_path)
    assert kernel(1) == 2
    index = lock_of(kernel).with_suffix("")
    made = index.read_bytes()
    index.unlink()
    waiting = fresh(tmp_path)
    file = elsewhere(waiting)

    def done() -> None:
        index.write_bytes(made)
        lock_of(waiting).unlink()
        os.close(file)

    pauses = on_pause(monkeypatch, done)
    assert (waiting(1), found(waiting), len(pauses)) == (2, 1, 1)
    assert not lock_of(waiting).exists()


def test_what_a_stopped_process_holds_is_compiled_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = fresh(tmp_path)
    file = elsewhere(kernel)
    monkeypatch.setattr(kernel_cache, "_TRIES", 3)
    pauses = on_pause(monkeypatch, lambda: None)
    assert (kernel(1), found(kernel), len(pauses)) == (2, 0, 3)
    assert lock_of(kernel).exists()  # it is not ours
    os.close(file)


def test_what_is_found_locks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fresh(tmp_path)
    assert first(1) == 2
    assert not lock_of(first).exists()
    again = fresh(tmp_path)
    file = elsewhere(again)
    assert (again(1), found(again)) == (2, 1)
    os.close(file)


def test_a_lock_file_that_was_removed_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = fresh(tmp_path)
    flock = fcntl.flock
    removed: list[int] = []

    def gone(file: int, how: int) -> None:
        if not removed:
            removed.append(how)
            lock_of(kernel).unlink()
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", gone)
    assert (kernel(1.5), found(kernel), len(removed)) == (2.5, 0, 1)
    assert not lock_of(kernel).exists()


@pytest.fixture
def stamped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """The stamp of a module of a package, anew with each call."""
    for name, text in {
        "own/__init__.py": "",
        "own/kernels.py": "import numba\nfrom numba import types\nfrom own import part\n",
        "own/part.py": "ONE = 1\n",
        "numba/__init__.py": "",
        "numba/types.py": "int64 = 8\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    read, file, whole = (one.__wrapped__ for one in (stamp._read, stamp._file, stamp.stamp))

    def anew() -> str:
        monkeypatch.setattr(stamp, "_read", cache(read))
        monkeypatch.setattr(stamp, "_file", cache(file))
        return str(whole("own.kernels", str(tmp_path / "own" / "kernels.py")))

    return anew


def test_a_stamp_takes_in_ones_own_package_and_no_other(stamped: Callable[[], str], tmp_path: Path) -> None:
    """Where the package is installed, Numba's sources lie beside it."""
    first = stamped()
    (tmp_path / "numba" / "types.py").write_text("int64 = 64\n")
    assert stamped() == first
    (tmp_path / "own" / "part.py").write_text("ONE = 2\n")
    assert stamped() != first


def test_code_that_was_replaced_under_a_process_is_of_this_process_alone(
    stamped: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a service that runs through an upgrade saves machine code of the old text under the new one."""
    monkeypatch.setattr(stamp, "_BEGAN", 2**63)
    others = stamped()
    found = []
    for began in (1, 2, 2):
        monkeypatch.setattr(stamp, "_BEGAN", began)
        found.append(stamped())
    assert found[1] == found[2]
    assert len({others, *found}) == 3
