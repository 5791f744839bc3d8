"""Searches beside the loop, since they may read a topic whole: a chain without a position looks for its last record."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Generic, TypeVar

from saffron.errors import SearchError
from saffron.runtime.process.background import Background

T = TypeVar("T")
_PATIENCE = 0.5
"""Seconds that a search is waited for when it begins: most take milliseconds."""


class Search(Generic[T]):
    """The search of one chain. `executor`: runs one search after the other."""

    def __init__(self, executor: Background) -> None:
        self._executor = executor
        self._future: Future[T] | None = None
        self._wanted = ""

    def check(self) -> None:
        """SearchError: a search is under way."""
        if self._future is not None and not self._future.done():
            raise SearchError(f"{self._wanted} is looked for")

    def outcome(self, work: Callable[[], T], wanted: str) -> T:
        """The outcome of `work`, which begins at the first call. SearchError: it is not known yet.

        `wanted`: a noun for what is looked for, for the message.
        """
        patience = 0.0
        if self._future is None:
            self._future, patience = self._executor(work), _PATIENCE
        self._wanted = wanted
        if not wait([self._future], patience).done:
            self.check()
        future, self._future = self._future, None
        return future.result()
