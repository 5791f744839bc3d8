"""Events of one partition, and what a run has bound of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from saffron.language.syntax.parsing.parser import parse_condition
from tests.reference.match.values import value


@dataclass(frozen=True, eq=False)
class Event:
    """An event; two are equal when they are the same one.

    `counter`: 0 for an event of the stream; n for the n-th result that INTO placed behind the event `seq`.
    """

    seq: int
    ts: int
    type: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    counter: int = 0

    def place(self) -> tuple[int, int]:
        """What results call the event by."""
        return self.seq, self.counter

    def order(self) -> tuple[int, int, int]:
        """The total order of events: by time, then by arrival."""
        return self.ts, self.seq, self.counter

    def get(self, name: str) -> Any:
        """An attribute (None: null or absent), the occurrence time, the type, or "=" and a function of attributes."""
        if name in self.attributes:
            return self.attributes[name]
        if name.startswith("="):
            return value(parse_condition(name[1:]), lambda path: self.get(path.variable))
        return {"ts": self.ts, "timestamp": self.ts, "type": self.type}.get(name)


class Bound(NamedTuple):
    """An event taken by a component (`leaf`: its number), and in which iteration of each repetition around it."""

    event: Event
    leaf: int
    iterations: tuple[int, ...]


Bindings = tuple[Bound, ...]
"""What a run has taken, in the order in which it took it."""


def events_of(given: Iterable[Mapping[str, Any] | Event]) -> list[Event]:
    """Events from dicts (`seq`, `ts`, `type`, attributes), in their total order."""
    made = [
        one
        if isinstance(one, Event)
        else Event(one["seq"], one["ts"], one["type"], {k: v for k, v in one.items() if k not in ("seq", "ts", "type")})
        for one in given
    ]
    return sorted(made, key=Event.order)
