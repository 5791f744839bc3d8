"""Dead letters: the records that became no event, each with its reason, and the counts of all that was lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from saffron.engine.events.decoding.decode import Decoded
from saffron.engine.events.decoding.rules.outcomes import Reason
from saffron.engine.events.raw import RawBatch
from saffron.schema.likely_times import SecondsCount

LATE, LATE_BY_SILENCE = "late", "late-by-silence"
_TOO_LATE = {LATE: "late", LATE_BY_SILENCE: "late_by_silence"}
"""Reason -> the name of its count."""
REASONS: tuple[str, ...] = (*_TOO_LATE, *get_args(Reason))
"""All reasons of dead letters."""

Refused = tuple[int, str, str]
"""A record that becomes a dead letter: its row in the batch, the reason, and a sentence."""


@dataclass(frozen=True)
class DeadLetter:
    """A record that is no event, or came too late; `timestamp`: the message's own (0 in a replay).

    `value`: its bytes; None where the message had none. `place`: where it stands, if not at `offset` of the one topic.
    """

    offset: int
    timestamp: int
    reason: str
    detail: str
    value: bytes | None
    place: str = ""


class Losses:
    """The dead letters of a partition that the shell has not taken yet, and counts since the start of this process."""

    def __init__(self) -> None:
        self._letters: list[DeadLetter] = []
        self._late: Counter[str] = Counter()
        self._bad: Counter[str] = Counter()
        self._mistyped: Counter[str] = Counter()
        self._mistyped_before = 0
        self._left_out = 0
        self._seconds = SecondsCount()

    def decoded(self, decoded: Decoded, *, inferred: bool) -> None:
        """Count the losses of records in decoding. `inferred`: by a schema that nobody gave."""
        self._mistyped.update(decoded.misfits)
        self._seconds.add(decoded.ts)
        if inferred:
            self._left_out += decoded.unknown_attributes

    def schema_given(self) -> None:
        """Begin the counts of mistyped values by attribute anew: from here on a given schema says what is right."""
        self._mistyped_before += self._mistyped.total()
        self._mistyped.clear()

    def add(self, batch: RawBatch, refused: Iterable[Refused], first: int) -> None:
        """Make dead letters of records. An earlier owner has sent those below offset `first`."""
        for row, reason, detail in sorted(refused):
            if batch.offsets[row] < first:
                continue
            timestamp = 0 if batch.times is None else int(batch.times[row])
            value = None if batch.is_absent(row) else batch.original(row)
            self._letters.append(DeadLetter(int(batch.offsets[row]), timestamp, reason, detail, value))
            if reason in _TOO_LATE:
                self._late[_TOO_LATE[reason]] += 1
            else:
                self._bad[reason] += 1

    def take(self) -> list[DeadLetter]:
        """The dead letters since the last call."""
        letters, self._letters = self._letters, []
        return letters

    def statistics(self) -> Mapping[str, Any]:
        """The counts by name."""
        return {
            **{name: self._late[name] for name in _TOO_LATE.values()},
            "bad": dict(self._bad),
            "mistyped": self._mistyped_before + self._mistyped.total(),
            "mistyped_attributes": dict(self._mistyped),
            "left_out": self._left_out,
            "in_seconds": self._seconds.value(),
        }
