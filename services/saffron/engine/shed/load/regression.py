"""A line through recent observations, by least squares, where they vary enough to tell its slope."""

from __future__ import annotations

from dataclasses import dataclass

_TRUST = 0.2
"""How firmly the slope is held at what is expected: `_TRUST` mean^2 of x is added to the variance of x, with the
expected slope. Where x hardly varies, the slope stays near the expected one. Where the variance is `_TRUST` mean^2, it
lies halfway between the expected and the observed slope."""


@dataclass
class Regression:
    """Fading sums over weighted observations (x, y)."""

    _weight: float = 0.0
    _x: float = 0.0
    _y: float = 0.0
    _squares: float = 0.0
    _products: float = 0.0

    def add(self, x: float, y: float, weight: float, *, kept: float) -> None:
        """Add an observation. `kept`: the factor (0 to 1) of what the sums were before."""
        self._weight = kept * self._weight + weight
        self._x = kept * self._x + weight * x
        self._y = kept * self._y + weight * y
        self._squares = kept * self._squares + weight * x * x
        self._products = kept * self._products + weight * x * y

    @property
    def mean_x(self) -> float:
        """The mean of x; 0 before any observation."""
        return self._x / self._weight if self._weight > 0 else 0.0

    @property
    def mean_y(self) -> float:
        """The mean of y; 0 before any observation."""
        return self._y / self._weight if self._weight > 0 else 0.0

    def slope(self, expected: float) -> float:
        """The slope of y over x. `expected`: the slope that holds where x does not vary."""
        x, y = self.mean_x, self.mean_y
        if x == 0:
            return expected
        variance = max(0.0, self._squares / self._weight - x * x)
        covariance = self._products / self._weight - x * y
        trust = _TRUST * x * x
        return (covariance + trust * expected) / (variance + trust)
