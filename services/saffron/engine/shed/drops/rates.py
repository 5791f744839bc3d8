"""Drop rates inversely proportional to utilities; events of no utility go first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def rates_at(share: float, frequency: Floats, utility: Floats) -> Floats:
    """[codes]: the rates that drop this share of all events."""
    rates = np.zeros(len(frequency))
    free = utility <= 0
    spare = float(frequency[free].sum())
    if share <= spare:
        rates[free] = share / spare if spare > 0 else 0.0
        return rates
    rates[free] = 1.0
    order = [code for code in np.argsort(utility, kind="stable").tolist() if not free[code] and frequency[code] > 0]
    wanted = share - spare
    # A kind of utility u is dropped at rate c / u, at most 1: raise c past one kind after the other.
    for place, code in enumerate(order):
        rest = np.array(order[place:])
        factor = wanted / float((frequency[rest] / utility[rest]).sum())
        if factor < utility[code]:
            rates[rest] = factor / utility[rest]
            break
        rates[code] = 1.0
        wanted -= float(frequency[code])
    return rates
