"""The events that a key's trace needs, kept while a stream is read: those that can matter for the key's newest ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from saffron.engine.why.absences import lead
from saffron.engine.why.bindings import SPAN
from saffron.engine.why.trace import GivenEvent
from saffron.language.plan.match_plan import MatchPlan

_FIRST_CUT = 10_000
"""Steps that are kept before any is dropped."""


class KeptSteps:
    """The steps that can matter for the newest `shown` events of a key.

    `ours`: how many events of the key there were. `left_out`: how many of them were dropped.
    """

    def __init__(self, plan: MatchPlan, shown: int) -> None:
        self._plan = plan
        self._shown = shown
        self._reach = 2 * plan.window.size + lead(plan)
        self._cut_at = _FIRST_CUT
        self.steps: list[GivenEvent] = []
        self.ours = 0
        self.left_out = 0

    def add(self, steps: Iterable[GivenEvent]) -> None:
        """Take the next steps."""
        for step in steps:
            self.steps.append(step)
            self.ours += step.ours
        if len(self.steps) >= self._cut_at:
            self._cut()
            self._cut_at = max(2 * len(self.steps), _FIRST_CUT)

    def _cut(self) -> None:
        """Drop what lies before every run of the newest events, and what lies far from all events of the key."""
        ours = [step for step in self.steps if step.ours]
        if len(ours) > self._shown:
            horizon = instants(self._plan, ours[-self._shown - 1].event)[0] - self._reach
            self.steps = [step for step in self.steps if instants(self._plan, step.event)[1] >= horizon]
        self.left_out += len(ours) - sum(step.ours for step in self.steps)
        if any(not step.ours for step in self.steps):
            self.steps = list(self._near())

    def _near(self) -> Iterator[GivenEvent]:
        """The steps within reach of one of the key, or of the one that may come next."""
        times = [instants(self._plan, step.event) for step in self.steps]
        following = [0] * len(times)
        after = times[-1][0]
        for row in reversed(range(len(times))):
            after = times[row][0] if self.steps[row].ours else after
            following[row] = after
        before = None
        for step, (first, last), after in zip(self.steps, times, following, strict=True):
            before = last if step.ours else before
            if after - last <= self._reach or (before is not None and first - before <= self._reach):
                yield step


def instants(plan: MatchPlan, event: Mapping[str, Any]) -> tuple[int, int]:
    """The first and the last time (ms), or position (windows in EVENTS), that the event can have."""
    if plan.window.events:
        return event["seq"], event["seq"]
    span = event[SPAN] if SPAN in event else event["ts"]
    return (span[0], span[1]) if isinstance(span, list | tuple) else (span, span)
