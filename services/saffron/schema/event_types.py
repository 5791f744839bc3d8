"""A set of event types: those that a step of a pattern takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


def is_type(name: str) -> bool:
    """True if an event may have this type: not the empty one, and none with $, which are Saffron's own."""
    return bool(name) and not name.startswith("$")


@dataclass(frozen=True)
class EventTypes:
    """The types `named`; with `others`, every type but those, as ANY is but for the results of other queries."""

    named: tuple[str, ...]
    others: bool = False

    def __contains__(self, name: object) -> bool:
        return (name in self.named) is not self.others

    def __str__(self) -> str:
        """`A`, `(A | B)` or `ANY`, for explanations."""
        if self.others:
            return "ANY"
        return self.named[0] if len(self.named) == 1 else f"({' | '.join(self.named)})"

    @property
    def known(self) -> tuple[str, ...]:
        """The types that the pattern names; () for ANY."""
        return () if self.others else self.named

    def meets(self, other: EventTypes) -> bool:
        """True if an event may be of a type in both sets."""
        if self.others and other.others:
            return True
        return any(name in other for name in self.named) if not self.others else other.meets(self)

    def equals(self, other: EventTypes) -> bool:
        """True if both sets have the same types, in whatever order."""
        return self.holds(other) and other.holds(self)

    def holds(self, other: EventTypes) -> bool:
        """True if every type of the other set is in this one."""
        if other.others:
            return self.others and set(self.named) <= set(other.named)
        return all(name in self for name in other.named)


ANY_TYPE = EventTypes((), others=True)


def one_type(name: str) -> EventTypes:
    """The set of one type."""
    return EventTypes((name,))


def type_names(sets: Iterable[EventTypes]) -> tuple[str, ...]:
    """The types that the sets name, each once, in order; ANY names none."""
    return tuple(dict.fromkeys(name for one in sets for name in one.known))
