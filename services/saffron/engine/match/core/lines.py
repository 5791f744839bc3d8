"""Lines of generated source, with their indentation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager


class Lines:
    """Call it to add a line; `block` indents what follows."""

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


def constants_text(text: str, *namespaces: Mapping[str, object]) -> str:
    """Assignments of the constants that generated text names, so that it can be read: they cost nothing when compiled.

    A name that several namespaces have is that of the last one; one that none has is a helper's (`jit.load`).
    """
    known = {name: value for namespace in namespaces for name, value in namespace.items() if type(value) is int}
    named = dict.fromkeys(re.findall(r"\b[A-Z][A-Za-z0-9_]*\b", text))
    return "".join(f"{name} = {known[name]}\n" for name in named if name in known)
