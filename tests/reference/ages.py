"""What age says of partial matches, the slow and obvious way (engine/models/transitions/ages.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

LEFT = 16
WAITED = (Fraction(1, 32), Fraction(1, 8), Fraction(1, 2))


def age(left: int, waited: int, matched: bool, window: int) -> int:
    """The sixteenth of the window that is left, how many of three shares of it were waited, and whether it matched."""
    sixteenth = min(LEFT - 1, int(Fraction(left * LEFT, window + 1)))
    return (sixteenth * 4 + sum(1 for share in WAITED if waited >= share * window)) * 2 + matched


def lift(
    cells: Mapping[tuple[int, int], tuple[int, float]], expected: Sequence[float], beside: float
) -> dict[tuple[int, int], float]:
    """Of one state: (bin of what is left, kind) -> factor, from (how many, matches); `expected` by bin of what is left.

    Each level's factor is (beside + matches) / (beside + what the levels before make expect), over the cells alike.
    """
    factor = dict.fromkeys(cells, 1.0)
    for same in (lambda cell: 0, lambda cell: cell[0], lambda cell: cell[1], lambda cell: cell):
        before = dict(factor)
        for cell in cells:
            alike = [other for other in cells if same(other) == same(cell)]
            matches = sum(cells[other][1] for other in alike)
            wanted = sum(cells[other][0] * expected[other[0]] * before[other] for other in alike)
            factor[cell] = before[cell] * (beside + matches) / (beside + wanted)
    return factor
