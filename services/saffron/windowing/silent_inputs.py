"""The silence of input partitions: the time for which they were read to their ends and nothing came.

A partition was silent between two looks if its end was the same at both, and everything up to it had been read. Looks
that are far apart prove nothing: the process was stopped, or no broker answered, and producers may be holding back what
they could not send. Times are in ms on a monotonic clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from saffron.runtime.log import TopicPartition

GAP_MS = 5_000
"""Most between two looks that prove a silence."""

Input = tuple[str, TopicPartition]
"""An input partition of the stream with this stem."""


@dataclass(frozen=True)
class Spell:
    """A silence. `end`: the input's end offset. `reader`: what read it; another one must look twice, too."""

    since: int
    until: int
    end: int = -1
    reader: object = None


class SilentInputs:
    """The silences of own input partitions, and of other members', as they reported them."""

    def __init__(self) -> None:
        self._own: dict[Input, Spell] = {}
        self._others: dict[Input, Spell] = {}

    def look(self, place: Input, end: int, reader: object, at: int) -> int:
        """Note that an own input has been read to this end; returns for how long (ms) that has been so."""
        before = self._own.get(place)
        lasts = before is not None and before.end == end and before.reader is reader and at - before.until <= GAP_MS
        since = before.since if lasts and before is not None else at
        self._own[place] = Spell(since, at, end, reader)
        return at - since

    def keep(self, own: Iterable[Input]) -> None:
        """Forget what is no own input any more."""
        kept = set(own)
        self._own = {place: spell for place, spell in self._own.items() if place in kept}

    def hear(self, place: Input, ms: int, at: int) -> None:
        """Note that another member reports `ms` of silence. It has passed by `at`, when the report is read."""
        self._others[place] = Spell(at - ms, at)

    def all_silent(self, places: Iterable[Input]) -> tuple[int, int] | None:
        """(since, until): the known time in which all of these were silent. None: there is none."""
        spells = [self._own.get(place) or self._others.get(place) for place in places]
        known = [spell for spell in spells if spell is not None]
        if not known or len(known) < len(spells):
            return None
        since, until = max(spell.since for spell in known), min(spell.until for spell in known)
        return (since, until) if since < until else None
