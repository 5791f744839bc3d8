"""Line charts on logarithmic axes as self-contained SVG: series of points, and a legend."""

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
    """The values `low`..`high` over the pixels `begin`..`end`."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        return self.begin + math.log(value / self.low) / math.log(self.high / self.low) * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """Powers of ten; on a short axis also two and five times those."""
        factors = (1.0,) if self.high / self.low > 100 else (1.0, 2.0, 5.0)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found = [factor * 10.0**power for power in powers for factor in factors]
        return [tick for tick in found if self.low <= tick <= self.high]


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
    return _Axis(min(values) / 1.3, max(values) * 1.3, begin, end)


def _frame(x: _Axis, y: _Axis, title: str, across: str, up: str) -> Iterator[str]:
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    for tick in x.ticks():
        at = x.at(tick)
        yield f'<path class="g" d="M{at:.1f} {y.begin}V{y.end}"/>'
        yield f'<text class="c" x="{at:.1f}" y="{y.begin + 18}">{_number(tick)}</text>'
    for tick in y.ticks():
        at = y.at(tick)
        yield f'<path class="g" d="M{x.begin} {at:.1f}H{x.end}"/>'
        yield f'<text class="r" x="{x.begin - 6}" y="{at + 4:.1f}">{_number(tick)}</text>'
    yield f'<path class="a" d="M{x.begin} {y.end}V{y.begin}H{x.end}"/>'
    middle = (x.begin + x.end) / 2
    yield f'<text class="c" x="{middle}" y="20" font-weight="bold">{escape(title)}</text>'
    yield f'<text class="c" x="{middle}" y="{HEIGHT - 16}">{escape(across)}</text>'
    height = (y.begin + y.end) / 2
    yield f'<text class="c" transform="translate(18 {height}) rotate(-90)">{escape(up)}</text>'


def _number(tick: float) -> str:
    if 0.01 <= tick < 1e5:
        return f"{tick:,g}"
    return f"{tick:.0e}".replace("e+", "e").replace("e0", "e").replace("e-0", "e-")


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
