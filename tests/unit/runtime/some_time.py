"""Work beside the loop as a simulation has it: done some time later, or when somebody waits for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class Later(Future[T]):
    """What `work` returns. Each look at it finds it done by a chance of `chance`; who waits for it does it."""

    def __init__(self, work: Callable[[], T], draw: random.Random, chance: float) -> None:
        super().__init__()
        self._work = work
        self._draw = draw
        self._chance = chance

    def done(self) -> bool:
        if not super().done() and self._draw.random() < self._chance:
            self.do()
        return super().done()

    def result(self, timeout: float | None = None) -> T:
        if not super().done() and timeout != 0.0:
            self.do()
        return super().result(timeout)

    def do(self) -> None:
        """Does the work now."""
        try:
            self.set_result(self._work())
        except Exception as error:  # as an executor's thread would; a process that is killed inside is not caught
            self.set_exception(error)


class SomeTime:
    """A `Background`."""

    def __init__(self, draw: random.Random, chance: float = 0.3) -> None:
        self._draw = draw
        self._chance = chance

    def __call__(self, work: Callable[[], T], /) -> Future[T]:
        return Later(work, self._draw, self._chance)
