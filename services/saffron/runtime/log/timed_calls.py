"""Calls with a time limit, for calls that may never return.

`send_offsets_to_transaction` ignores its own timeout when the broker fails: librdkafka 2.16 then waits for a
coordinator for ever. So the call runs on a separate thread. A thread whose call timed out is abandoned together with
its producer.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from saffron.errors import UnavailableError

_Job = tuple[Callable[[], object], "queue.SimpleQueue[BaseException | None]"]


class TimedCalls:
    """A thread that runs one call after another, each with a time limit."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def call(self, act: Callable[[], object], seconds: float, doing: str) -> None:
        """Runs `act` and raises what it raises. UnavailableError: no return within `seconds`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        answer: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._jobs.put((act, answer))
        try:
            error = answer.get(timeout=seconds)
        except queue.Empty:
            self._thread = None
            self._jobs.put(None)  # ends the thread, if the call ever returns
            self._jobs = queue.SimpleQueue()
            raise UnavailableError(f"{doing}: no answer within {seconds:g} s") from None
        if error is not None:
            raise error

    def close(self) -> None:
        """Lets the thread end."""
        self._jobs.put(None)

    def _work(self) -> None:
        """Runs the jobs of the thread's first queue until it gets None. A job's answer is its exception, or None.

        `call` makes another queue when it abandons the thread, so that both never share one.
        """
        jobs = self._jobs
        while (job := jobs.get()) is not None:
            act, answer = job
            try:
                act()
            except BaseException as error:
                answer.put(error)
            else:
                answer.put(None)
