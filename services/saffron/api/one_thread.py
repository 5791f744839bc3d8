"""Work that one thread at a time may do."""

from __future__ import annotations

import threading
from types import TracebackType

from saffron.errors import InputError


class OneThread:
    """A context that refuses a second thread while one is inside: what they do would be mixed, in no order."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise InputError("two threads use this at one time: give each its own, or let them take turns with a lock")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
