"""Progress: how far a partition's records are read, and the decisions of the shell that stand between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.engine.windows.marks import Marks


class Progress:
    """The next record to read, the decisions to repeat, and the shell's own data.

    `read`: the offset of the next record. `next_offset`: the offset below which some owner has seen every record.
    After a restart `read` is lower while records of an earlier owner are read again. `positions`: of the control
    topics. `source`: the shell's data on the topic. Both are JSON-able, and stand in blocks.
    """

    def __init__(self, disorder: int) -> None:
        self.read = 0
        self.next_offset = 0
        self.marks = Marks(disorder)
        self.positions: dict[str, Any] = {}
        self.source: Mapping[str, Any] = {}

    def resume(self, taken: Mapping[str, Any]) -> None:
        """Begin where the owner before stopped. `taken`: a block's `input`."""
        self.next_offset = taken["next_offset"]
        self.read = self.next_offset if taken["lowest_held"] is None else taken["lowest_held"]
        self.marks = Marks.of(taken["marks"], self.read)
        self.positions = dict(taken["positions"])
        self.source = taken.get("source", {})

    def begin_anew(self, offset: int) -> int | None:
        """Go on at this offset of another topic. Returns the highest watermark that was still to be repeated."""
        self.marks, decided = self.marks.settled()
        self.read = self.next_offset = offset
        return decided

    def passed(self, offset: int) -> None:
        """Note that the record at this offset is taken, and all before it."""
        self.read = offset + 1
        self.next_offset = max(self.next_offset, self.read)

    @property
    def is_repeating(self) -> bool:
        """True if records that an earlier owner has seen are still being read again."""
        return self.read < self.next_offset
