"""Single keys from a terminal."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def single_keys() -> Iterator[None]:
    """A context in which keys come at once and are not shown. It restores the terminal."""
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    tty.setcbreak(number)
    try:
        yield
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def pressed(seconds: float) -> str:
    """The next key within `seconds`; "" if none came, "q" when the terminal is gone."""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return "" if not ready else os.read(sys.stdin.fileno(), 1).decode("ascii", "replace") or "q"
