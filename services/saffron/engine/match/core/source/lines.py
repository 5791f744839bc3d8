"""Lines of generated source, with their indentation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class Lines:
    """The lines of a text in the making: a call adds one, `block` indents the next ones."""

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self._lines: list[str] = []

    def __call__(self, line: str) -> None:
        self._lines.append("    " * self._depth + line)

    def all(self, lines: Iterable[str]) -> None:
        """Add lines."""
        for line in lines:
            self(line)

    @contextmanager
    def block(self, levels: int = 1) -> Iterator[None]:
        self._depth += levels
        yield
        self._depth -= levels

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)
