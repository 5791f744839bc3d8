"""The functions and aggregates that users registered in this process, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from saffron.errors import SaffronError

Registered = TypeVar("Registered")


class Registry(Generic[Registered]):
    """Registered functions or aggregates by name. `noun`: for one of them. `error`: the class of errors."""

    def __init__(self, noun: str, error: type[SaffronError]) -> None:
        self._noun = noun
        self._error = error
        self._known: dict[str, Registered] = {}
        self._changes = 0

    def check_name(self, name: str, *, taken: bool) -> None:
        """Raise the error unless this is a lower-case name. `taken`: the language has it already."""
        if taken or not (name.isascii() and name.isidentifier() and name == name.lower()):
            why = "is a function of the language" if taken else "is no lower-case name"
            raise self._error(f"{self._noun} cannot be called {name!r}: it {why}")

    def add(self, name: str, one: Registered) -> None:
        """Register a function or aggregate for queries of this process bound from now on; one of that name is
        replaced.
        """
        self._known[name] = one
        self._changes += 1

    def find(self, name: str) -> Registered | None:
        """The registered function or aggregate of that name, if there is one."""
        return self._known.get(name)

    def require(self, name: str) -> Registered:
        """The registered function or aggregate of this name; the error if there is none in this process."""
        found = self._known.get(name)
        if found is None:
            word = self._noun.split()[-1]
            raise self._error(f"{word} {name!r} is not known in this process; register it with @saffron.{word}")
        return found

    def registered(self) -> Mapping[str, Registered]:
        """All registered functions or aggregates by name."""
        return dict(self._known)

    def forget(self, name: str) -> None:
        """Remove a function or aggregate; queries that are bound already keep it."""
        self._known.pop(name, None)
        self._changes += 1

    def changes(self) -> int:
        """How often it was changed: what follows from the registered ones holds until it is again."""
        return self._changes
