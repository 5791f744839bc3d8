"""The clauses around the pattern of a plan: its stream, window, RETURN, and choice of matches."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saffron.language.plan.expressions import Expr

DEFAULT_STREAM = "events"
"""The stream of a query without FROM."""


class Output(Enum):
    """The choice of the matches that are reported."""

    ALL = "ALL"
    NON_OVERLAP = "NON-OVERLAP"
    COMPRESSED = "COMPRESSED"
    FIRST = "FIRST"
    LONGEST = "LONGEST"


@dataclass(frozen=True)
class OpenOn:
    """OPEN ON Type [var] [WHERE expr]. `expr` reads the event as component 0, SINGLE; None without WHERE."""

    type: str
    expr: Expr | None


@dataclass(frozen=True)
class Window:
    """A window: WITHIN size [SLIDE slide] [OPEN ON ...].

    `events`: sizes count events of a partition, else ms.
    `slide`: windows [k*slide, k*slide + size) for all integers k, over ts from the epoch, or over positions, k >= 0.
    `opens`: a window [o, o + size) opens at every event o that fits.
    Both None, in match queries only: last - first <= size, counted in events <= size - 1.
    """

    size: int
    events: bool
    slide: int | None
    opens: OpenOn | None

    @property
    def overlapping(self) -> int | None:
        """The most windows [k*slide, k*slide + size) that hold one event; None for other windows."""
        return None if self.slide is None else -(-self.size // self.slide)


@dataclass(frozen=True)
class ReturnItem:
    """An item of RETURN. `name`: its key in the result's "return" object."""

    name: str
    expr: Expr
