"""Queries of which events may go."""

from __future__ import annotations

import numpy as np

from saffron.engine.shed.drops.allocation import Candidate
from saffron.engine.shed.drops.loss_curve import SHARES, LossCurve


def candidate(power: float, worth: float = 1.0, *, cost: float = 1.0, free: float = 0.0) -> Candidate:
    """Events up to the share `free` are worth nothing, and the others lose as much as a power says."""
    return Candidate(LossCurve(np.maximum(0.0, (SHARES - free) / (1 - free)) ** power), worth, cost)
