"""Counts that are reported once the log has what they count.

A step that fails is done again. If its counts were reported at once, they would be doubled. So a chain gathers them,
seals them with the transaction or block that has their cause, and reports them when that is in the log. A process that
dies takes the counts with it that it has gathered: those of its last transaction may then be counted by nobody.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from saffron.runtime.telemetry.metric_kinds import Counter

M = TypeVar("M")
Act = Callable[[], None]


class Report(Protocol):
    """Adds to a counter: `Metrics.add`."""

    def __call__(self, metric: Counter, amount: float, /, *labels: str) -> None: ...


@dataclass(frozen=True)
class Counted:
    """An addition to a counter."""

    metric: Counter
    amount: float
    labels: tuple[str, ...]


def unreported(metric: Counter, amount: float, /, *labels: str) -> None:
    """A `Report` that counts nothing."""


class WhenWritten(Generic[M]):
    """The counts of one chain that wait for the log. `M`: marks of what is written, transactions or blocks.

    They survive a restart of the chain: the log then shows which of the sealed ones were written (`settle`).
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._open: list[Act] = []
        self._sealed: deque[tuple[M, list[Act]]] = deque()

    @property
    def waits(self) -> bool:
        """True if sealed counts wait for the log."""
        return bool(self._sealed)

    def add(self, metric: Counter, amount: float, *labels: str) -> None:
        """Adds to a counter, when it is written."""
        if amount:
            self.then(partial(self._report, metric, amount, *labels))

    def then(self, act: Act) -> None:
        """Call `act` when the output is written."""
        self._open.append(act)

    def seal(self, mark: M) -> None:
        """All that was added since the last seal is in the log once `mark` is."""
        self._sealed.append((mark, self._open))
        self._open = []

    def written(self) -> None:
        """The oldest sealed counts are in the log."""
        _, acts = self._sealed.popleft()
        for act in acts:
            act()

    def written_while(self, is_written: Callable[[M], bool]) -> None:
        """The oldest sealed counts are in the log, as long as `is_written` says so of their marks."""
        while self._sealed and is_written(self._sealed[0][0]):
            self.written()

    def settle(self, is_written: Callable[[M], bool]) -> bool:
        """Reports the sealed counts that the log has after all; forgets the others. True if there were any of these."""
        found = [acts for mark, acts in self._sealed if is_written(mark)]
        self._sealed.clear()
        for acts in found:
            for act in acts:
                act()
        return bool(found)

    def drop(self) -> None:
        """Forgets the counts that are not sealed: their causes come again."""
        self._open = []
