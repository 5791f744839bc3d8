"""Silent streams, as this machine's windowing has them."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.cli.system.scrape import Page
from saffron.counted import counted
from saffron.runtime.telemetry import metric_names as names


@dataclass(frozen=True)
class SilenceLine:
    """A stream whose event time goes on, or went on, without events.

    `seconds`: how far it is ahead of the events now, in the partition where it is furthest. `late`: events since
    windowing started that were late only by that.
    """

    stream: str
    seconds: float
    late: int

    @property
    def sentence(self) -> str:
        """The line for a person."""
        ahead = f"event time is {self.seconds:,.0f} s ahead of the events" if self.seconds else ""
        late = (
            f"{counted(self.late, 'event was', 'events were')} late by that alone (`saffron doctor`)"
            if self.late
            else ""
        )
        return f"stream {self.stream}, by its silence: {'; '.join(filter(None, (ahead, late)))}"


def silence_of(page: Page) -> list[SilenceLine]:
    """The silent streams on windowing's metrics page, and those with events that silence made late."""
    seconds: dict[str, float] = {}
    late: dict[str, int] = {}
    for labels, value in page.series(names.SILENCE.name):
        seconds[labels["stream"]] = max(value, seconds.get(labels["stream"], 0.0))
    for labels, value in page.series(f"{names.LATE_BY_SILENCE.name}_total"):
        late[labels["stream"]] = late.get(labels["stream"], 0) + int(value)
    found = (SilenceLine(one, seconds.get(one, 0.0), late.get(one, 0)) for one in sorted(seconds.keys() | late.keys()))
    return [one for one in found if one.seconds or one.late]
