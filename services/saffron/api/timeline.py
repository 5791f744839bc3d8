"""The timeline of a match as an inline SVG: a row for each variable, a dot for each event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from saffron.api.html import after, duration, number, shortened

Row = tuple[str, Sequence[Mapping[str, Any]]]

WIDTH, GUTTER, RIGHT, HEIGHT, TOP = 680, 90, 56, 30, 12
"""Widths of the drawing, the names and the counts; heights of a row and of the space above (px)."""
MOST_DOTS = 400
"""Most dots in a row. A longer closure shows every k-th event; the count beside the row is of all."""
COLOURS = ("#b5541c", "#2a7fb8", "#3c8d40", "#8a5bb0", "#b08a1e", "#c2436b")
_STEPS = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000),
    *(60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000),
    86_400_000,
)
"""Distances between marks (ms)."""


def timeline(rows: Sequence[Row], start: int, end: int) -> str:
    """The SVG. `rows`: (variable, events), in pattern order; an event is a dict with seq, ts, type and attributes.

    `start`, `end`: ms. Events that all have one time are drawn by position instead.
    """
    place = _places(rows, start, end)
    bottom = TOP + HEIGHT * len(rows)
    height = bottom + 24
    shapes = [*_axis(start, end, bottom), _thread(rows, place)]
    for index, (name, events) in enumerate(rows):
        shapes += _row(name, events, index, place)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'role="img" style="max-width:100%;font:12px system-ui,sans-serif">' + "".join(shapes) + "</svg>"
    )


def _places(rows: Sequence[Row], start: int, end: int) -> dict[int, float]:
    """Position (seq) of an event -> x (px)."""
    wide = WIDTH - GUTTER - RIGHT
    events = sorted(((event["seq"], event["ts"]) for _, some in rows for event in some), key=lambda one: int(one[0]))
    if end > start:
        return {seq: GUTTER + wide * (_middle(ts) - start) / (end - start) for seq, ts in events}
    return {seq: GUTTER + wide * (at + 0.5) / len(events) for at, (seq, _) in enumerate(events)}


def _middle(ts: Any) -> float:
    """A time; for an imprecise one [lo, hi] its middle."""
    return (ts[0] + ts[1]) / 2 if isinstance(ts, list) else float(ts)


def _axis(start: int, end: int, y: int) -> list[str]:
    """The time axis, with marks at round distances from the first event."""
    wide, span = WIDTH - GUTTER - RIGHT, end - start
    line = f'<path d="M{GUTTER} {y}H{WIDTH - RIGHT}" stroke="currentColor" stroke-opacity=".35"/>'
    if span <= 0:
        return [line, _text(GUTTER, y + 16, "at one time, in order of arrival", faint=True)]
    step = next((step for step in _STEPS if span / step <= 6), 0) or -(-span // (6 * 86_400_000)) * 86_400_000
    marks = [line]
    for at in range(0, span + 1, step):
        x = GUTTER + wide * at / span
        marks.append(f'<path d="M{x:.1f} {TOP}V{y + 4}" stroke="currentColor" stroke-opacity=".12"/>')
        marks.append(_text(x, y + 17, f"+{duration(at)}" if at else "0", anchor="middle", faint=True))
    return marks


def _thread(rows: Sequence[Row], place: Mapping[int, float]) -> str:
    """A thin line through the events in order, for the match as a whole."""
    stops = sorted((event["seq"], row) for row, (_, some) in enumerate(rows) for event in _thinned(some))
    points = " ".join(f"{place[seq]:.1f},{_y(row)}" for seq, row in stops)
    return f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-opacity=".3"/>'


def _row(name: str, events: Sequence[Mapping[str, Any]], index: int, place: Mapping[int, float]) -> list[str]:
    """The name, the dots and the count of one variable."""
    y, colour = _y(index), COLOURS[index % len(COLOURS)]
    shapes = [_text(GUTTER - 12, y + 4, shortened(name, 12), anchor="end", colour=colour)]
    radius = 5 if len(events) <= 40 else 3
    first = events[0]["ts"] if events else None
    for event in _thinned(events):
        text = ", ".join(f"{key}: {number(value)}" for key, value in event.items())
        since = f" ({after(event['ts'], first)})" if isinstance(first, int) and len(events) > 1 else ""
        shapes.append(
            f'<circle cx="{place[event["seq"]]:.1f}" cy="{y}" r="{radius}" fill="{colour}" fill-opacity=".85">'
            f"<title>{escape(name)}: {escape(text)}{since}</title></circle>"
        )
    note = "none" if not events else f"× {len(events):,}" if len(events) > 1 else ""
    return [*shapes, _text(WIDTH - RIGHT + 12, y + 4, note, faint=True)] if note else shapes


def _thinned(events: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """A thinned list of at most MOST_DOTS events, which ends with the last one."""
    if len(events) <= MOST_DOTS:
        return events
    return [*events[: -1 : -(-len(events) // MOST_DOTS)], events[-1]]


def _y(row: int) -> int:
    return TOP + HEIGHT * row + HEIGHT // 2


def _text(x: float, y: float, text: str, *, anchor: str = "start", colour: str = "", faint: bool = False) -> str:
    shade = ' fill-opacity=".65"' if faint else ""
    fill = colour or "currentColor"
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" fill="{fill}"{shade}>{escape(text)}</text>'
