"""Calls that may never return, made so that the caller can give up on them.

`send_offsets_to_transaction` does not keep to its own timeout when the broker dies under it: librdkafka 2.16 then waits
for a coordinator for ever. The call runs in a thread of its own; one that is given up on is left behind with its
producer, which nobody uses any more.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from saffron.errors import UnavailableError

_Job = tuple[Callable[[], object], "queue.SimpleQueue[BaseException | None]"]


class Patience:
    """Makes one call after the other, each for a limited time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def call(self, act: Callable[[], object], seconds: float, doing: str) -> None:
        """Make the call and pass on what it raises; UnavailableError when it has not returned in time."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        answer: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._jobs.put((act, answer))
        try:
            error = answer.get(timeout=seconds)
        except queue.Empty:
            self._thread = None
            self._jobs.put(None)  # should it ever return, the thread ends
            self._jobs = queue.SimpleQueue()
            raise UnavailableError(f"{doing}: no answer within {seconds:g} s") from None
        if error is not None:
            raise error

    def close(self) -> None:
        """Let the thread end."""
        self._jobs.put(None)

    def _work(self) -> None:
        jobs = self._jobs
        while (job := jobs.get()) is not None:
            act, answer = job
            try:
                act()
            except BaseException as error:
                answer.put(error)
            else:
                answer.put(None)
