"""The numbers of matches behind the estimated shares, by which partitions and queries are added up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_LEAST_KEPT = 1e-3
"""The least share of due matches that counts as found, where due matches are computed from found ones."""


@dataclass(frozen=True)
class Expected:
    """Matches: `due`, to be found if nothing had been dropped, `lost` of these; `found`, and `false` of these.

    Of several partitions or queries a share is the ratio of the sums.
    """

    due: float
    lost: float
    found: float
    false: float

    @classmethod
    def of(cls, found: float, missed: float, false: float) -> Expected:
        """The numbers for `found` matches and the estimated shares `missed` and `false`.

        One more true match counts as found, so that the shares survive where nothing was found.
        """
        due = (found * (1.0 - false) + 1.0) / max(1.0 - missed, _LEAST_KEPT)
        return cls(due, missed * due, found + 1.0, false * (found + 1.0))

    @classmethod
    def together(cls, parts: Iterable[tuple[float, Expected]]) -> Expected:
        """The weighted sums of parts."""
        due = lost = found = false = 0.0
        for times, one in parts:
            due, lost = due + times * one.due, lost + times * one.lost
            found, false = found + times * one.found, false + times * one.false
        return cls(due, lost, found, false)

    @property
    def missed_share(self) -> float:
        """Lost matches over due ones; 0 if none were due."""
        return self.lost / self.due if self.due > 0 else 0.0

    @property
    def false_share(self) -> float:
        """False matches over found ones; 0 if none were found."""
        return self.false / self.found if self.found > 0 else 0.0
