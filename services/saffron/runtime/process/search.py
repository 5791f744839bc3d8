"""Searches beside the loop, as they may take long.

A chain without a position reads a whole topic for its last record. The coordinator of its transactions may not answer.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Event
from typing import Generic, TypeVar

from saffron.errors import SearchError
from saffron.runtime.process.background import Background

T = TypeVar("T")
Check = Callable[[], None]
"""A function that a search calls again and again. It raises SearchError once nobody wants the outcome any more."""
_PATIENCE = 0.5
"""Seconds that a search is waited for when it begins: most take milliseconds."""


class Search(Generic[T]):
    """The search of one chain. `executor`: runs one search after the other."""

    def __init__(self, executor: Background) -> None:
        self._executor = executor
        self._future: Future[T] | None = None
        self._wanted = ""
        self._given_up = Event()

    def check(self) -> None:
        """SearchError: a search is under way."""
        if self._future is not None and not self._future.done():
            raise SearchError(f"{self._wanted} is looked for")

    def outcome(self, work: Callable[[Check], T], wanted: str) -> T:
        """The outcome of `work`, which begins at the first call. SearchError: it is not known yet.

        `wanted`: a noun for what is looked for, for the message.
        """
        self._wanted = wanted
        if self._future is None:
            self._given_up = Event()
            check = partial(_check, self._given_up, wanted)
            self._future = self._executor(lambda: work(check))
            with suppress(Exception):  # its own error is raised below
                self._future.result(_PATIENCE)
        self.check()
        future, self._future = self._future, None
        return future.result()

    def give_up(self, undo: Callable[[T], None] = lambda found: None) -> None:
        """Ends a search whose chain is gone, at its next `check`; `undo` takes what it still finds, on its thread.

        Until then searches of other chains, and the end of the service, wait for it.
        """

        def end(done: Future[T]) -> None:
            if not done.cancelled() and done.exception() is None:
                undo(done.result())

        self._given_up.set()
        if self._future is not None:
            self._future.add_done_callback(end)
            self._future.cancel()
        self._future = None


def _check(given_up: Event, wanted: str) -> None:
    if given_up.is_set():
        raise SearchError(f"{wanted} is not wanted any more")
