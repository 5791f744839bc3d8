"""Machine code on disk, shared by all processes: found as long as all that it was made from is the same, made by one.

Numba writes its index of a function without a lock. Two processes that compile at one moment do the same work twice;
with two signatures one entry is lost, or names the other's code.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock

from saffron.engine.kernels.content_hash import stamp

# A process that is forked while another thread compiles would have this lock for good, and nobody to release it.
os.register_at_fork(
    before=global_compiler_lock.acquire,
    after_in_parent=global_compiler_lock.release,
    after_in_child=global_compiler_lock.release,
)

_TRIES = 1500
_PAUSE = 0.02  # seconds; a process that was stopped while it compiled holds others up for half a minute, not for good


class KernelCache(FunctionCache):
    """Numba's cache on disk, stale when anything has changed that the kernel was made from, not only its own file."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._lock: int | None = None
        self._cache_file._source_stamp = stamp(function.__module__, function.__code__.co_filename)
        self._load_index = self._cache_file._load_index
        self._cache_file._load_index = self._loaded

    def _loaded(self) -> Any:
        """The content of the cache; empty if it has types that no longer exist, since it is stale then, too."""
        try:
            return self._load_index()
        except (AttributeError, ImportError):
            return {}

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The machine code; None: it is not on disk, and within `alone` no other process makes it now."""
        found = super().load_overload(signature, target)
        if found is None and self._lock is None:
            self._lock = _locked(self._lock_file())
            found = super().load_overload(signature, target)
        return found

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A context in which only this process compiles missing code; others wait, and load it then."""
        with global_compiler_lock:  # Numba's own, for threads: kernels are locked in the order of their calls
            outermost = self._lock is None
            try:
                yield
            finally:
                if outermost and self._lock is not None:
                    _release(self._lock, self._lock_file())
                    self._lock = None

    def _lock_file(self) -> str:
        return f"{self._cache_file._index_path}.lock"


def _locked(path: str) -> int | None:
    """The open file, locked; None where that cannot be: the kernel is compiled all the same."""
    for _ in range(_TRIES):
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            file = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file), os.stat(path)):  # not one that its last owner has just removed
                return file
        except FileNotFoundError:
            pass
        except BlockingIOError:
            time.sleep(_PAUSE)
        except OSError:
            os.close(file)
            return None
        os.close(file)
    return None


def _release(file: int, path: str) -> None:
    os.unlink(path)
    os.close(file)
