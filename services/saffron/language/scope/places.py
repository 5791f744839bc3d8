"""The components of a pattern as a query declares them, and their names."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.syntax.lexing.tokens import name_text
from saffron.language.syntax.printer import types_text
from saffron.language.syntax.tree import Event
from saffron.schema.event_types import EventTypes


@dataclass(frozen=True)
class Place:
    """A declared component of the pattern: its name in results, event types, and place in the text.

    `closure`: it stands in a repetition. `original`: see Slot.
    """

    variable: str
    types: EventTypes
    closure: bool
    original: int | None = None

    @property
    def written(self) -> str:
        """The variable as a query writes it."""
        return name_text(self.variable)

    @property
    def written_types(self) -> str:
        """The types as a query writes them."""
        return types_text(self.types.known)


@dataclass(frozen=True)
class Slot:
    """A component to declare. `closure`: it stands in a repetition; `absent`: it stands in a NOT.

    `original`: the component whose further iteration this one is, inside a NOT. No name refers to such a copy.
    """

    event: Event
    closure: bool
    original: int | None = None
    absent: bool = False


def name_of(event: Event) -> str:
    """The name of a component without a variable: its type, or ANY."""
    return event.types[0] if event.types else "ANY"


def default_name(type_name: str, count: dict[str, int], taken: set[str]) -> str:
    """The name of a component without a variable: its type A, then A#2, A#3, which no variable can be."""
    count[type_name] = count.get(type_name, 0) + 1
    if count[type_name] == 1 and type_name not in taken:
        return type_name
    count[type_name] = max(count[type_name], 2)
    while f"{type_name}#{count[type_name]}" in taken:
        count[type_name] += 1
    return f"{type_name}#{count[type_name]}"
