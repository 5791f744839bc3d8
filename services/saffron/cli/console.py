"""The output of commands: results on standard output, everything else on standard error."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from saffron.carets import display_width, printable
from saffron.errors import SettingsError


def say(line: str) -> None:
    """Prints one line to the user."""
    _progress.clear()
    print(line, file=sys.stderr, flush=True)


def progress(line: str) -> None:
    """Shows a line that replaces the one before it; only on a terminal."""
    _progress.show(line)


def step(line: str) -> None:
    """Shows the step that is waited for: a line that replaces itself on a terminal, one line each in a log."""
    if _progress.enabled:
        _progress.show(line)
    else:
        print(line, file=sys.stderr, flush=True)


def is_live() -> bool:
    """True if a progress line can be shown."""
    return _progress.enabled


def done() -> None:
    """Removes the progress line."""
    _progress.clear()


def print_json(value: Any) -> None:
    """Prints one JSON document on standard output, indented on a terminal."""
    option = orjson.OPT_INDENT_2 if sys.stdout.isatty() else None
    sys.stdout.write(orjson.dumps(value, option=option).decode() + "\n")


def moment(ms: int) -> str:
    """A time in UTC, to the second. `ms`: since 1970; shown as a number outside the years 1 to 9999."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(ms)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints a plain table on standard output, as wide as its content, for other tools to cut and sort.

    A row is a line: names out of messages may have any signs, and those that are not printed are replaced. None is `-`.
    Importing `rich` for it would take 0.03 s of processor time, where all of `saffron config show` takes 0.08 s.
    """
    cells = [["-" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    widths = [max(map(display_width, [name, *(row[i] for row in cells)])) for i, name in enumerate(columns)]
    for line in ([*columns], *cells):
        padded = (cell + " " * (width - display_width(cell)) for cell, width in zip(line, widths, strict=True))
        text = "  ".join(padded).rstrip()
        print(bold(text) if line == [*columns] else text)


def log_to_stderr(level: str) -> None:
    """Sends log lines to standard error, with their time. SettingsError: an unknown level."""
    known = ("debug", "info", "warning", "error")
    if level.lower() not in known:
        raise SettingsError(f"setting 'log_level' is {level!r}: it must be one of {', '.join(known)}")
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=level.upper(), format=form, stream=sys.stderr)
    for noisy in ("py4j", "numba", "aiohttp.access"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def bold(text: str) -> str:
    """The text in bold on a terminal, unless NO_COLOR is set."""
    return _styled(text, "1")


def dim(text: str) -> str:
    """The text in faint on a terminal, unless NO_COLOR is set."""
    return _styled(text, "2")


def _styled(text: str, code: str) -> str:
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return f"\x1b[{code}m{text}\x1b[0m"


class _Progress:
    """The progress line of standard error."""

    def __init__(self) -> None:
        self._shown = False

    @property
    def enabled(self) -> bool:
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def show(self, line: str) -> None:
        if self.enabled:
            width = os.get_terminal_size(sys.stderr.fileno()).columns
            sys.stderr.write(f"\r\x1b[K{line[: max(width - 1, 10)]}")
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False


_progress = _Progress()
