"""Latencies on the virtual clock: of each result, and of each event."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SHARES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}


class Latencies:
    """Collected block by block, in ms."""

    def __init__(self) -> None:
        self._parts: list[Floats] = []

    def add(self, milliseconds: Floats) -> None:
        if len(milliseconds):
            self._parts.append(milliseconds.astype(np.float32))

    def summary(self) -> dict[str, float | None]:
        """{"p50", "p99", "p999", "max"}, null where there was none."""
        if not self._parts:
            return dict.fromkeys((*_SHARES, "max"))
        whole = np.concatenate(self._parts)
        told = {name: round(float(np.quantile(whole, share)), 3) for name, share in _SHARES.items()}
        return {**told, "max": round(float(whole.max()), 3)}
