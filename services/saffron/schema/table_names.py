"""Names of look-ups in tables: the attribute that `a.x IN t` reads, which windowing writes into events."""

from __future__ import annotations

from typing import NamedTuple

LOOKUP_MARK = "$in:"
"""The beginning of such names. In streams with tables no message has it: its fields with a $ first become `$.$...`."""


class Lookup(NamedTuple):
    """The test whether table `table` has a row whose key is an event's attribute."""

    table: str
    attribute: str

    @property
    def name(self) -> str:
        """The name of the attribute with the test's outcome: `$in:TABLE:ATTRIBUTE`. A table's name has no colon."""
        return f"{LOOKUP_MARK}{self.table}:{self.attribute}"

    @property
    def shown(self) -> str:
        """The look-up as people read it."""
        return f"{self.attribute} IN {self.table}"

    @classmethod
    def of_name(cls, name: str) -> Lookup | None:
        """The look-up of this name; None if the name is another attribute's."""
        table, colon, attribute = name.removeprefix(LOOKUP_MARK).partition(":")
        return cls(table, attribute) if name.startswith(LOOKUP_MARK) and colon else None
