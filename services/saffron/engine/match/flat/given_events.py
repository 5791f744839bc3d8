"""The events of a step kernel that is given stored rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from saffron.engine.match.core.step_text import StepText
from saffron.schema.schema import Kind

ARRAYS = (
    ("rows", "int64[::1]"),
    ("slots", "int64[::1]"),
    ("masks", "int64[::1]"),
    ("ordinals", "int64[::1]"),
    ("now", "int64[::1]"),
    ("until", "int64[::1]"),
    ("counters", "int64[::1]"),
    ("constants", "int64[::1]"),
    ("ranks", "int64[::1]"),
    ("node_row", "uint32[::1]"),
    ("node_before", "uint32[::1]"),
    ("node_part", "uint8[::1]"),
    ("node_at", "int64[::1]"),
    ("touched", "int64[::1]"),
    ("reached", "int64[::1]"),
    ("found", "int64[:, ::1]"),
)
"""Arguments of every step kernel after `at` and `stop`; then the columns it reads, then POOL for each state."""


class Events(Protocol):
    """The text that depends on the source of events. `arrays`: as ARRAYS.

    `constants`: what it names, beside those of the layout. `head`: lines behind the imports.
    """

    arrays: tuple[tuple[str, str], ...]
    constants: Mapping[str, object]
    head: str

    def column(self, kind: Kind) -> str:
        """The type of an attribute's values."""

    def prologue(self) -> None:
        """Write the code before the first event."""

    def event(self, contiguity: Callable[[], None]) -> None:
        """Write the code that reads an event: key, components, row, time. `contiguity`: writes the end of runs."""

    def kept(self) -> None:
        """Write the code that stores the row of the event."""

    def done(self) -> None:
        """Write the step to the next event."""

    def epilogue(self) -> None:
        """Write the code behind the last event."""


class GivenEvents(Events):
    """The `Events` of a kernel that is given stored rows, by their numbers."""

    arrays = ARRAYS
    constants: Mapping[str, object] = {}
    head = ""

    def __init__(self, text: StepText) -> None:
        self._text = text

    def column(self, kind: Kind) -> str:
        return f"{kind.dtype}[::1]"

    def prologue(self) -> None:
        """Write nothing: the rows are stored before the kernel runs."""

    def epilogue(self) -> None:
        """Write nothing, as in `prologue`."""

    def event(self, contiguity: Callable[[], None]) -> None:
        out = self._text.out
        out("slot, m, row = slots[w], masks[w], rows[w]")
        contiguity()
        out("r = row & row_mask")
        out("t = now[r]")

    def kept(self) -> None:
        self._text.out("touched[slot] = row")
        self._text.out("node_at[r] = node")

    def done(self) -> None:
        self._text.out("w += 1")
