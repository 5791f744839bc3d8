"""Rate limit for log messages of client libraries, which report an absent broker twenty times a second."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

_SECONDS = 10.0
_KEPT = 1000


class RepeatLimit(logging.Filter):
    """A logging filter that passes equal messages once per `seconds`."""

    def __init__(self, seconds: float = _SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._seconds = seconds
        self._clock = clock
        self._seen: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """False if an equal message passed less than `seconds` ago.

        After 1,000 different messages all are forgotten, so that memory stays bounded.
        """
        now = self._clock()
        text = record.getMessage()
        last = self._seen.get(text)
        if last is not None and now - last < self._seconds:
            return False
        if len(self._seen) >= _KEPT:
            self._seen.clear()
        self._seen[text] = now
        return True


def limit_repeats(*libraries: str) -> None:
    """Adds the filter to every logger of these libraries. A logger's filters do not apply to its children."""
    once = RepeatLimit()
    names = [name for name in logging.Logger.manager.loggerDict if name.partition(".")[0] in libraries]
    for name in {*names, *libraries}:
        logging.getLogger(name).addFilter(once)
