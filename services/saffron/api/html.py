"""Parts of the HTML for notebooks. Colours are those of the notebook's theme, except for mid tones."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from saffron.schema.likely_times import DAY, moment_of
from saffron.schema.numbers import digits

EVENTS_SHOWN = 50
_CELL = "padding:2px 10px 2px 0;text-align:left;font-variant-numeric:tabular-nums"


def heading(name: str, key: Mapping[str, Any], span: str) -> str:
    """A line with the query's name, the key's values, and the time span."""
    keys = "".join(f" &nbsp;<b>{escape(str(value))}</b>" for value in key.values())
    return (
        f'<div style="font:13px system-ui,sans-serif"><span style="color:#b5541c;font-weight:600">{escape(name)}</span>'
        f'{keys} &nbsp;<span style="opacity:.65">{escape(span)}</span></div>'
    )


def values(items: Mapping[str, Any]) -> str:
    """A line of names and values."""
    if not items:
        return ""
    cells = "".join(
        f'<span style="margin-right:16px"><span style="opacity:.65">{escape(name)}</span> <b>{escape(number(v))}</b>'
        "</span>"
        for name, v in items.items()
    )
    return f'<div style="font:13px system-ui,sans-serif;margin:3px 0">{cells}</div>'


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """An HTML table. Cells are shown as by `number`, and escaped."""
    head = "".join(f'<th style="{_CELL};opacity:.65">{escape(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(number(cell))}</td>' for cell in row) + "</tr>" for row in rows
    )
    return (
        '<table style="font:12px system-ui,sans-serif;border-collapse:collapse">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def events_table(rows: Sequence[tuple[str, Sequence[Mapping[str, Any]]]], start: int) -> str:
    """The events of a match by position, each with its variable and its time since `start` (ms)."""
    found = sorted(((event, name) for name, events in rows for event in events), key=lambda one: int(one[0]["seq"]))
    names = list(dict.fromkeys(name for event, _ in found for name in event if name not in ("seq", "ts", "type")))
    cells = [
        [variable, event["seq"], after(event["ts"], start), event["type"], *(event.get(name) for name in names)]
        for event, variable in found[:EVENTS_SHOWN]
    ]
    left = len(found) - EVENTS_SHOWN
    more = f'<div style="font:12px system-ui,sans-serif;opacity:.65">and {left:,} more</div>' if left > 0 else ""
    return table(["", "seq", "after", "type", *names], cells) + more


def details(summary: str, body: str, *, plain: bool = True) -> str:
    """A block that can be folded. `plain`: the body is text, not HTML."""
    inner = f'<pre style="font-size:12px">{escape(body)}</pre>' if plain else body
    return f'<details style="font:12px system-ui,sans-serif"><summary>{escape(summary)}</summary>{inner}</details>'


def drawing(svg: str, *, alt: str) -> str:
    """An SVG document as an image, so that its style sheet does not apply to the notebook."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img style="max-width:100%" alt="{escape(alt)}" src="data:image/svg+xml;base64,{data}"/>'


def number(value: Any) -> str:
    """A value as text: a float with six digits, null as a dash."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    return digits(value) if isinstance(value, int) else str(value)


def moment(ts: int) -> str:
    """A time (ms) as date and time of day; one that is no moment stays a number."""
    when = moment_of(ts)
    if when is None:
        return str(ts)
    return f"{when:%Y-%m-%d %H:%M:%S}" + (f".{ts % 1000:03d}" if ts % 1000 else "")


def duration(ms: int) -> str:
    """A duration as text: 850 ms, 3.2 s, 4 min 10 s, 2 h 5 min, 3 d 4 h."""
    if ms < 1000:
        return f"{ms} ms"
    if ms < 60_000:
        return f"{ms / 1000:.6g} s"
    for size, unit, below, name in ((DAY, "d", 3_600_000, "h"), (3_600_000, "h", 60_000, "min")):
        if ms >= size:
            return f"{ms // size} {unit}" + (f" {rest} {name}" if (rest := ms % size // below) else "")
    return f"{ms // 60_000} min" + (f" {rest} s" if (rest := ms % 60_000 // 1000) else "")


def after(ts: Any, start: int) -> str:
    """The time since `start` as text; an imprecise time stays as it is."""
    return f"+{duration(ts - start)}" if isinstance(ts, int) and ts >= start else str(ts)


def window_span(window: tuple[int, int] | None) -> str:
    """The bounds of a window as text: `[low, high)`, or its first moment and length if it is in real time."""
    if window is None:
        return ""
    low, high = window
    return f"[{low}, {high})" if abs(low) <= DAY else f"{moment(low)} + {duration(high - low)}"


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
