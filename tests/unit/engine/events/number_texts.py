"""Random numbers as JSON writes them, drawn around where they stop being exact."""

from __future__ import annotations

import random

EDGES = (0, 1, 77, 2**31, 2**53, 2**60, 2**63, 2**64, 10**15, 10**17, 10**18, 1760172645145001985)


def number_text(rng: random.Random) -> str:
    """A number: whole near an edge, or a fraction, with a point or an exponent now and then."""
    whole = rng.choice([-1, 1]) * (rng.choice(EDGES) + rng.randrange(-3, 4))
    form = rng.randrange(7)
    if form == 0:
        return f"{whole}.0"
    if form == 1:
        return f"{whole}e{rng.choice([0, 0, 1, 2, -1, -3, 15, 300, -300])}"
    if form == 2:
        return repr(whole / rng.choice([1, 2, 3, 1000]))
    if form == 3:
        return f"{whole}.{rng.choice(['5', '25', '000', '0000000000000000001'])}"
    if form == 4:
        return rng.choice(["-0", "0", "-0.0", "0e5", "-0e-5", "0.000", "1.50e1", "1e999", "-1e999", "1e-999"])
    return str(whole)
