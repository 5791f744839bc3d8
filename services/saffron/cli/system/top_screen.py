"""The screen of `saffron top`: lines that fit the terminal. The least important columns are dropped first.

It is drawn without `rich`. A table of `rich` narrows its columns and drops none, so the widths would be computed here
all the same. Its live display would save some ten lines of `top.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

from saffron.cli.system.routes import RouteLine
from saffron.cli.system.top_view import QueryLine, ServiceLine, View

T = TypeVar("T")
_GAP = "  "
_BAR = 10
_FULL, _EMPTY = "█", "░"
_FULL_ASCII, _EMPTY_ASCII = "#", "."
_LEAST_NAME, _LONGEST_NAME = 4, 28
_KEYS = "q quit  p pause  s sort"
SORTS = ("name", "p99", "results/s", "partial", "loss")
"""The columns by which queries can be sorted, in the order of the key s."""


@dataclass(frozen=True)
class Column(Generic[T]):
    """A column of a table. `weight`: the lightest is dropped first when there is no room."""

    title: str
    weight: int
    cell: Callable[[T], str]


@dataclass(frozen=True)
class Shown:
    """The form of a frame. `ascii_only`: the terminal has no other characters. `rows`: None for no limit."""

    width: int = 120
    rows: int | None = None
    sort: str = "name"
    paused: bool = False
    keys: bool = False
    ascii_only: bool = False


def lines(view: View, shown: Shown) -> list[str]:
    """The lines of a frame."""
    moment = datetime.fromtimestamp(view.at / 1000, UTC).strftime("%H:%M:%S UTC")
    title = "PAUSED  " if shown.paused else ""
    title += f"saffron {view.where}  {moment}  bound {_ms(view.bound_ms)}  by {shown.sort}"
    services = _table(_of_services(), view.services, shown)
    sources = ["", *_table(_of_sources(), view.sources, shown)] if view.sources else []
    room = None if shown.rows is None else max(1, shown.rows - len(services) - len(sources) - 5 - shown.keys)
    ordered = sorted(view.queries, key=_orders()[shown.sort])
    queries = _table(_of_queries(view.bound_ms, shown), ordered[:room], shown)
    more = len(ordered) - (len(ordered) if room is None else room)
    frame = [
        title,
        "",
        *(queries if ordered else ["no standing queries; saffron query add FILE adds one"]),
        *([f"and {more} more"] if more > 0 else []),
        "",
        *(services if view.services else ["no service has said anything"]),
        *sources,
        *([_KEYS] if shown.keys else []),
    ]
    kept = frame if shown.rows is None else frame[: shown.rows]
    return [_cut(line, shown.width, shown.ascii_only) for line in kept]


def next_sort(sort: str) -> str:
    """The order after this one, for the key s."""
    return SORTS[(SORTS.index(sort) + 1) % len(SORTS)]


def _orders() -> dict[str, Callable[[QueryLine], tuple[float, str]]]:
    """The sort key of each order."""
    return {
        "name": lambda one: (0.0, one.name),
        "p99": lambda one: (-(one.p99 or 0.0), one.name),
        "results/s": lambda one: (-(one.results or 0.0), one.name),
        "partial": lambda one: (-float(one.partial_matches or 0), one.name),
        "loss": lambda one: (-(one.loss or 0.0), one.name),
    }


def _of_queries(bound: float, shown: Shown) -> list[Column[QueryLine]]:
    """The columns of the table of queries. `bound`: the latency bound (ms), the full length of the bar."""
    return [
        Column("query", 100, lambda one: one.name),
        Column("state", 90, lambda one: one.state),
        Column("events/s", 50, lambda one: _count(one.events)),
        Column("results/s", 80, lambda one: _count(one.results)),
        Column("partial", 60, lambda one: _count(one.partial_matches)),
        Column("p50", 55, lambda one: _ms(one.p50)),
        Column("p99", 85, lambda one: _ms(one.p99)),
        Column("p99 of bound", 70, lambda one: _bar(one.p99, bound, shown.ascii_only)),
        Column("loss", 75, lambda one: _share(one.loss)),
        Column("dropped events", 40, lambda one: _count(one.dropped_events)),
        Column("dropped partial", 30, lambda one: _count(one.dropped_matches)),
    ]


def _of_services() -> list[Column[ServiceLine]]:
    return [
        Column("service", 100, lambda one: one.name),
        Column("state", 90, lambda one: one.state),
        Column("lag", 80, lambda one: _count(one.lag)),
        Column("heard", 70, lambda one: "-" if one.age_ms is None else f"{one.age_ms / 1000:.0f} s ago"),
        Column("events/s", 60, lambda one: _count(one.events)),
        Column("position", 50, lambda one: _count(one.position)),
    ]


def _of_sources() -> list[Column[RouteLine]]:
    return [
        Column("source", 100, lambda one: one.source or "(another stream)"),
        Column("stream", 90, lambda one: one.stream),
        Column("lag", 80, lambda one: _count(one.lag)),
        Column("null values", 70, lambda one: _count(one.mistyped)),
        Column("events", 60, lambda one: _count(one.events)),
    ]


def _table(columns: Sequence[Column[T]], rows: Sequence[T], shown: Shown) -> list[str]:
    """Titles and rows, numbers to the right. Columns are dropped, then names shortened, until all fits."""
    kept = list(columns)
    while True:
        cells = [[column.cell(row) for column in kept] for row in rows]
        widths = [max(len(one.title), *(len(row[i]) for row in cells), 0) for i, one in enumerate(kept)]
        others = sum(widths[1:]) + len(_GAP) * (len(kept) - 1)
        widths[0] = min(widths[0], _LONGEST_NAME)
        if widths[0] + others <= shown.width or len(kept) == 1:
            break
        if others + max(len(kept[0].title), _LEAST_NAME, widths[0] // 2) <= shown.width:
            widths[0] = shown.width - others
            break
        kept.remove(min(kept, key=lambda one: one.weight))
    left = {0, 1}
    return [
        _GAP.join(
            _cut(cell, width, shown.ascii_only).ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [[one.title for one in kept], *cells]
    ]


def _bar(value: float | None, bound: float, ascii_only: bool) -> str:
    """A bar of the used share of the bound. "!" marks a value beyond it."""
    if value is None or bound <= 0:
        return "-"
    full, empty = (_FULL_ASCII, _EMPTY_ASCII) if ascii_only else (_FULL, _EMPTY)
    used = min(_BAR, round(_BAR * value / bound))
    return f"{full * used}{empty * (_BAR - used)}{'!' if value > bound else ' '}"


def _count(value: float | None) -> str:
    """A number in at most five characters: 1234567 as 1.23M."""
    if value is None:
        return "-"
    for size, letter, least in ((1e9, "G", 1e9), (1e6, "M", 1e6), (1e3, "k", 1e4)):
        if value >= least:
            return f"{value / size:.3g}{letter}"
    return f"{value:.0f}" if value == int(value) or value >= 100 else f"{value:.1f}"


def _ms(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value / 1000:.1f} s" if value >= 10_000 else f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _cut(text: str, width: int, ascii_only: bool) -> str:
    """The text cut to a width, with an ellipsis."""
    if len(text) <= width:
        return text
    return text[:width] if ascii_only or width < 2 else f"{text[: width - 1]}…"
