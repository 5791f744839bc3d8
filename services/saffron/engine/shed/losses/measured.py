"""Missed and false matches as a reader's sample shows them, beside those that models promise."""

from __future__ import annotations

from dataclasses import dataclass

_SURE = 2.0
"""The number of a sample's standard errors beyond which a difference is not chance."""
_CLUMPED = 3.0
"""The number of sampled first events that share their fate, and count as one."""


@dataclass
class Measured:
    """Sums of a reader's sample since its first report.

    `sums`: true matches, those missed, first events with matches, their squared weights, false matches, matches that
    the reader found while it sampled, and those that it found in all. `reported`: the reader's last counts, which
    restart with the reader.
    """

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
        """The share of true matches that were missed. `promised`, `wrong`: see `_corrected`."""
        true, missed = self.sums[:2]
        return self._corrected(missed, true, promised, wrong)

    def false(self, promised: float, wrong: float) -> float:
        """The share of found matches that are false."""
        true, missed, false = self.sums[0], self.sums[1], self.sums[4]
        return self._corrected(false, true - missed + false, promised, wrong)

    def _corrected(self, part: float, whole: float, promised: float, wrong: float) -> float:
        """The mean of the sampled share (`part` of `whole`) and the `promised` one, weighted by inverse variances.

        The relative error of the promise is `wrong`, or more where chance hardly explains the difference. A sample
        counts for less if it covers only some of the time, since that is mostly when much was dropped. Few matches
        found count as few observations, however many were missed.
        """
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
