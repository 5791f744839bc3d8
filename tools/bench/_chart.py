"""Line charts as SVG: series of points on logarithmic axes, as most of a benchmark's figures are, or on linear ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot

Series = Mapping[str, Sequence[tuple[float, float]]]


def chart(
    path: Path, title: str, across: str, up: str, series: Series, *, linear: bool = False, dashed: Series | None = None
) -> None:
    """Write one; a series without points is left out. `dashed`: figures of others, each in the colour of its name."""
    figure, axes = pyplot.subplots(figsize=(7.5, 4.2))
    colours = {}
    for name, points in series.items():
        if points:
            [line] = axes.plot(*zip(*sorted(points), strict=True), "o-", markersize=4, label=name)
            colours[name] = line.get_color()
    for name, points in (dashed or {}).items():
        if points:
            label = f"{name}, as published"
            axes.plot(*zip(*sorted(points), strict=True), "x--", color=colours.get(name), label=label)
    if linear:
        axes.set_ylim(bottom=0)
    else:
        axes.set(xscale="log", yscale="log")
    axes.set(title=title, xlabel=across, ylabel=up)
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    figure.savefig(path, bbox_inches="tight")
    pyplot.close(figure)
