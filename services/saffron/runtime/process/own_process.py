"""The process in which something with threads or connections was begun: a forked one has neither."""

from __future__ import annotations

import os

from saffron.errors import ForkError


class OwnProcess:
    """The process that made this object, for `what` was begun in it."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._process = os.getpid()

    @property
    def is_here(self) -> bool:
        """True in that process, and False in one that was forked from it."""
        return os.getpid() == self._process

    def require(self) -> None:
        """ForkError: this is another process."""
        if not self.is_here:
            raise ForkError(self._what)
