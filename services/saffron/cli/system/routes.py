"""The sources of streams made from other topics, as this machine's windowing has read them."""

from __future__ import annotations

from dataclasses import dataclass, field

from saffron.cli.system.scrape import Page
from saffron.counted import counted
from saffron.runtime.telemetry import metric_names as names


@dataclass
class RouteLine:
    """One source of one stream, over all its partitions.

    `source`: topic; "" of a stream made from another stream. `lag`: messages not yet read. `mistyped`: values that are
    null, not being what they should be. `filtered`: messages that `where` did not pass. `without_array`: those without
    the array of `explode`.
    """

    stream: str
    source: str
    events: int = 0
    lag: int = 0
    mistyped: int = 0
    filtered: int = 0
    without_array: int = 0


@dataclass(frozen=True)
class TableLine:
    """A table as this machine's windowing holds it. `size`: bytes of memory. `bad`: rows that were left out."""

    stream: str
    name: str
    rows: int
    size: int
    bad: int

    def __str__(self) -> str:
        bad = f"; {self.bad:,} could not be read (windowing's log says why)" if self.bad else ""
        rows = counted(self.rows, "row")
        return f"stream {self.stream}: table {self.name} has {rows} in {self.size / 1e6:,.1f} MB{bad}"


@dataclass(frozen=True)
class Routes:
    """All routes. `waiting`: (stream, reason) -> partitions that wait. `tables`: what is looked up."""

    lines: list[RouteLine] = field(default_factory=list)
    waiting: dict[tuple[str, str], int] = field(default_factory=dict)
    tables: list[TableLine] = field(default_factory=list)


def routes_of(page: Page) -> Routes:
    """The routes on windowing's metrics page."""
    lines: dict[tuple[str, str], RouteLine] = {}
    counted = {
        "events": f"{names.ROUTED_EVENTS.name}_total",
        "lag": names.ROUTE_LAG.name,
        "filtered": f"{names.FILTERED.name}_total",
        "without_array": f"{names.WITHOUT_ARRAY.name}_total",
    }
    for part, name in counted.items():
        for labels, value in page.series(name):
            _add(lines, labels["stream"], labels["partition"], part, value)
    for labels, value in page.series(f"{names.MISTYPED_VALUES.name}_total"):
        if "/" in labels["partition"]:  # the others are of windowing itself
            _add(lines, labels["stream"], labels["partition"], "mistyped", value)
    waiting = {
        (one["stream"], one["reason"]): int(value) for one, value in page.series(names.ROUTES_WAITING.name) if value
    }
    return Routes([lines[place] for place in sorted(lines)], waiting, _tables_of(page))


def _tables_of(page: Page) -> list[TableLine]:
    counted = [
        {(one["stream"], one["table"]): int(value) for one, value in page.series(name.name)}
        for name in (names.TABLE_ROWS, names.TABLE_BYTES, names.TABLE_BAD_ROWS)
    ]
    return [TableLine(*place, *(some.get(place, 0) for some in counted)) for place in sorted(counted[0])]


def waiting_sentences(routes: Routes) -> list[str]:
    """Sentences on the streams that wait, and for what."""
    return [
        f"stream {stream}: {_WAITS[reason].format(count)}" for (stream, reason), count in sorted(routes.waiting.items())
    ]


_WAITS = {
    "take-over": "source partitions that wait until the last owner's transaction is over: {}",
    "registry": "source partitions that wait for the schema registry: {}",
    "table": "source partitions that wait until a table is loaded: {}",
    "topic": "it waits for a topic that is missing (`saffron doctor` names it)",
}


def _add(lines: dict[tuple[str, str], RouteLine], stream: str, partition: str, part: str, value: float) -> None:
    topic = partition.rpartition("/")[0]
    line = lines.setdefault((stream, topic), RouteLine(stream, topic))
    setattr(line, part, getattr(line, part) + int(value))
