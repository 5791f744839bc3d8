"""`saffron run shedder`: blocks from `windows` to `admitted`, with load shedding."""

from __future__ import annotations

from saffron.runtime.process.config import Settings
from saffron.runtime.service import run
from saffron.shedder.service import ShedderService


def main(settings: Settings) -> int:
    """Run until SIGTERM or SIGINT; the exit status."""
    return run("shedder", settings, ShedderService)
