"""`saffron run windowing`: raw events to ordered, numbered blocks."""

from __future__ import annotations

from functools import partial

from saffron.runtime.process.clock_watch import steady_ms
from saffron.runtime.process.config import Settings
from saffron.runtime.service import run
from saffron.windowing.service import WindowingService


def main(settings: Settings) -> int:
    """Run until SIGTERM or SIGINT; the exit status."""
    return run("windowing", settings, partial(WindowingService, background=None, steady_ms=steady_ms))
