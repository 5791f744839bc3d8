"""Line charts on logarithmic axes as self-contained SVG: series of points, a legend, ticks at powers of ten."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, LEGEND = 720, 420, 80, 40, 60, 210
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#7f7f7f", "#8c564b", "#bcbd22", "#e377c2")
STYLE = (
    "text{font:12px sans-serif;fill:#222}.g{stroke:#ddd}.a{stroke:#222;fill:none}"
    ".c{text-anchor:middle}.r{text-anchor:end}"
)

Series = Mapping[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True)
class _Axis:
    """Powers of ten `low`..`high` over the pixels `begin`..`end`."""

    low: int
    high: int
    begin: float
    end: float

    def at(self, value: float) -> float:
        return self.begin + (math.log10(value) - self.low) / (self.high - self.low) * (self.end - self.begin)


def chart(path: Path, title: str, across: str, up: str, series: Series) -> None:
    """Write one. Values are greater than 0; a series without points is left out."""
    drawn = {name: sorted(points) for name, points in series.items() if points}
    x = _axis([point[0] for points in drawn.values() for point in points], LEFT, WIDTH - LEGEND)
    y = _axis([point[1] for points in drawn.values() for point in points], HEIGHT - BOTTOM, TOP)
    body = [*_frame(x, y, title, across, up)]
    for number, (name, points) in enumerate(drawn.items()):
        body += _line(number, name, [(x.at(a), y.at(b)) for a, b in points])
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>{escape(title)}</title>'
    path.write_text(f"{head}<style>{STYLE}</style>" + "\n".join(body) + "</svg>\n", "utf-8")


def _axis(values: Sequence[float], begin: float, end: float) -> _Axis:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return _Axis(low, max(high, low + 1), begin, end)


def _frame(x: _Axis, y: _Axis, title: str, across: str, up: str) -> Iterator[str]:
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    for power in range(x.low, x.high + 1):
        at = x.at(10.0**power)
        yield f'<path class="g" d="M{at:.1f} {y.begin}V{y.end}"/>'
        yield f'<text class="c" x="{at:.1f}" y="{y.begin + 18}">{_power(power)}</text>'
    for power in range(y.low, y.high + 1):
        at = y.at(10.0**power)
        yield f'<path class="g" d="M{x.begin} {at:.1f}H{x.end}"/>'
        yield f'<text class="r" x="{x.begin - 6}" y="{at + 4:.1f}">{_power(power)}</text>'
    yield f'<path class="a" d="M{x.begin} {y.end}V{y.begin}H{x.end}"/>'
    middle = (x.begin + x.end) / 2
    yield f'<text class="c" x="{middle}" y="20" font-weight="bold">{escape(title)}</text>'
    yield f'<text class="c" x="{middle}" y="{HEIGHT - 16}">{escape(across)}</text>'
    height = (y.begin + y.end) / 2
    yield f'<text class="c" transform="translate(18 {height}) rotate(-90)">{escape(up)}</text>'


def _power(power: int) -> str:
    return f"{10**power:,}" if 0 <= power <= 4 else f"1e{power}"


def _line(number: int, name: str, points: Sequence[tuple[float, float]]) -> Iterator[str]:
    colour, low = COLOURS[number % len(COLOURS)], TOP + 16 * number
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>'
    for x, y in points:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
    right = WIDTH - LEGEND + 16
    yield f'<path d="M{right} {low}h18" stroke="{colour}" stroke-width="1.8"/>'
    yield f'<circle cx="{right + 9}" cy="{low}" r="3" fill="{colour}"/>'
    yield f'<text x="{right + 24}" y="{low + 4}">{escape(name)}</text>'
