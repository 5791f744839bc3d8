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


def charts(path: Path, up: str, parts: Sequence[tuple[str, str, Series]], columns: int = 4) -> None:
    """Small ones side by side, of (title, across, series) each, whose names are coloured alike in all."""
    names = list(dict.fromkeys(name for _, _, series in parts for name in series))
    colours = {name: f"C{number}" for number, name in enumerate(names)}
    lines = -(-len(parts) // columns)
    figure, axes = pyplot.subplots(lines, columns, figsize=(3.2 * columns, 2.5 * lines), squeeze=False)
    for place, (title, across, series) in zip(axes.flat, parts, strict=False):
        for name, points in series.items():
            place.plot(*zip(*sorted(points), strict=True), "o-", markersize=3, color=colours[name], label=name)
        place.set(title=title, xlabel=across)
        place.set_ylim(bottom=0)
        place.grid(alpha=0.3)
    for place in axes.flat[len(parts) :]:
        place.set_axis_off()
    figure.supylabel(up)
    known = {text: line for place in axes.flat for line, text in zip(*place.get_legend_handles_labels(), strict=True)}
    figure.legend(known.values(), known.keys(), loc="upper center", ncols=len(known), frameon=False)
    figure.tight_layout(rect=(0.01, 0, 1, 0.97))
    with mpl.rc_context({"svg.hashsalt": "saffron"}):  # the same figures are the same bytes
        figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
