"""Decisions of the shell (a watermark, a new disorder, a given schema) at their places among the records, until the log
covers them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Mark:
    """A decision that stands before the record at `offset`: a watermark, perhaps an `end`, or a new disorder (ms).

    Or a schema that was given anew: then `before` is the record of the one by which earlier records were decoded.
    """

    offset: int
    watermark: int | None = None
    end: bool = False
    disorder: int | None = None
    before: Mapping[str, Any] | None = None

    def record(self) -> list[Any]:
        """The mark in a block's input."""
        own = [self.offset, self.watermark, self.end, self.disorder]
        return own if self.before is None else [*own, self.before]


class Marks:
    """The marks that a new owner would have to repeat, and, after a restart, those still to be repeated."""

    def __init__(self, disorder: int) -> None:
        self.disorder = disorder
        self._log = [Mark(0, disorder=disorder)]
        self._due: list[Mark] = []

    @classmethod
    def of(cls, records: Sequence[Sequence[Any]], position: int) -> Marks:
        """The marks from a block's input; `position`: of the first record that is read again."""
        marks = [
            Mark(offset, watermark, bool(end), disorder, *before)
            for offset, watermark, end, disorder, *before in records
        ]
        past = [mark for mark in marks if mark.disorder is not None and mark.offset <= position]
        result = cls(past[-1].disorder or 0)
        result._log = past[-1:]
        result._due = [one for one in marks if one not in past and (one.before is None or one.offset > position)]
        return result

    def add(self, mark: Mark) -> None:
        """Note a decision that is taken now."""
        self._log.append(mark)
        if mark.disorder is not None:
            self.disorder = mark.disorder

    def next_due(self, offset: int | None) -> Mark | None:
        """Take out the next mark to repeat that stands at or before `offset` (None: wherever it stands)."""
        if self._due and (offset is None or self._due[0].offset <= offset):
            return self._due.pop(0)
        return None

    def settled(self) -> tuple[Marks, int | None]:
        """(the same with all decisions taken, the highest watermark among those that were to be repeated)."""
        last = [mark.disorder for mark in self._due if mark.disorder is not None]
        watermarks = [mark.watermark for mark in self._due if mark.watermark is not None]
        return Marks(last[-1] if last else self.disorder), max(watermarks, default=None)

    @property
    def first_due(self) -> int | None:
        """Offset of the next mark to repeat."""
        return self._due[0].offset if self._due else None

    @property
    def decoded_by(self) -> Mapping[str, Any] | None:
        """The schema by which the next records to repeat were decoded; None: by the one in force."""
        return next((mark.before for mark in self._due if mark.before is not None), None)

    def end_written(self) -> None:
        """Record that the first end among the marks is in the log."""
        index = next(index for index, mark in enumerate(self._log) if mark.end)
        self._log[index] = replace(self._log[index], end=False)

    def records(self, position: int, floor: int) -> list[list[Any]]:
        """The marks for a block's input; marks of no use to a new owner, which begins at `position` and `floor`, are
        dropped.
        """
        disorders = [mark for mark in self._log if mark.disorder is not None and mark.offset <= position]
        self._log = [
            mark
            for mark in self._log
            if mark.end
            or (mark.watermark is not None and mark.watermark > floor)
            or (mark.disorder is not None and (mark.offset > position or mark is disorders[-1]))
            or (mark.before is not None and mark.offset > position)
        ]
        return [mark.record() for mark in self._log + self._due]
