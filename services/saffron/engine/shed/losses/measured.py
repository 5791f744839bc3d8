"""Missed and false matches as a reader's sample shows them, beside those that models promise."""

from __future__ import annotations

from dataclasses import dataclass

_SURE = 2.0
"""Standard errors of a sample beyond which it is not chance by which it differs."""
_CLUMPED = 3.0
"""First events of a sample that stand or fall together, and count as one."""


@dataclass
class Measured:
    """What a reader's sample says: matches that were to be found, those missed of them, first events that they came of,
    and of these the sum of squared weights; false ones found; matches that the reader found while it took a sample, and
    in all; since the first one. `reported`: as the reader counts, which begins anew when it does."""

    sums: tuple[float, ...] = (0.0,) * 7
    reported: tuple[float, ...] | None = None

    def heard(self, numbers: tuple[float, ...]) -> None:
        if self.reported is None:
            self.reported = numbers
        anew = any(now < before for now, before in zip(numbers, self.reported, strict=True))
        grown = numbers if anew else tuple(now - before for now, before in zip(numbers, self.reported, strict=True))
        self.sums = tuple(one + more for one, more in zip(self.sums, grown, strict=True))
        self.reported = numbers

    def missed(self, promised: float, wrong: float) -> float:
        """The share missed of what was to be found."""
        true, missed = self.sums[:2]
        return self._corrected(missed, true, promised, wrong)

    def false(self, promised: float, wrong: float) -> float:
        """The share of what was found that is none."""
        true, missed, false = self.sums[0], self.sums[1], self.sums[4]
        return self._corrected(false, true - missed + false, promised, wrong)

    def _corrected(self, part: float, whole: float, promised: float, wrong: float) -> float:
        """`part` of a `whole` of the sample, and what is `promised`: both weighted by the inverse of their variance.
        What is promised may be off by `wrong`, relative, or by what it must be where chance alone would hardly have the
        two so far apart. A sample that covers only some of the time is mostly of times when much was dropped, and
        counts for less; and of few matches found, few first events tell, however many were missed."""
        true, _, begun, squares, _, compared, found = self.sums
        if whole <= 0 or squares <= 0:
            return promised
        covered = min(1.0, compared / found) if found > 0 else 1.0
        seen = covered**2 * begun**2 / squares / _CLUMPED * (min(1.0, whole / true) if true > 0 else 1.0)
        share = part / whole
        middle = (share + promised) / 2
        if middle <= 0 or seen <= 0:
            return promised
        drawn = middle * (1.0 - middle) / seen
        off = max((wrong * middle) ** 2, (share - promised) ** 2 - _SURE**2 * drawn)
        return promised + off / (off + drawn) * (share - promised)
