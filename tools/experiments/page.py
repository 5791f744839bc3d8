"""The page of all experiments from what `saffron experiment NAME --json FOLDER/NAME.json` wrote.

    python -m experiments.page docs/experiments docs/experiments.md

A table of each experiment, one line of each in a table of all, and the same as small charts beside the page.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench._chart import charts
from experiments.catalogue import EVEN, EXPERIMENTS, Experiment
from experiments.robustness import ROBUSTNESS
from experiments.summary import summary

from saffron.language.cost.shedding import AUTO

Row = Mapping[str, Any]

_WORST = 8
"""Rows of the default shedder beside even dropping that stand on the page, the worst first."""
_LEAST_FALSE = 0.05
"""Per cent, below which no false positives are shown."""


@dataclass(frozen=True)
class Found:
    """What was written of one experiment; `title` says of how many seeds."""

    experiment: Experiment
    title: str
    rows: Sequence[Row]


_OPENING = """# The papers' experiments

Complex events missed under overload, per cent, in brackets what the system itself says it missed, and where there are
any, what share of those found is false: dropped events can make a pattern take later ones, or a NOT miss its own.
Latency bound one second, on a virtual clock. The truth is the same run without shedding. Checks have a stated cost,
since the engine is too fast for the data; a rate is times what the engine alone takes of the events that are shed, at
that cost. "paper" is the published figure, from other data: shapes and ratios compare. `auto` is what a query gets that
names no shedder; `pm-bl`, `e-bl`, `espice` and `bl` are the papers' baselines. How much must go is decided alike for
all: those that drop events, baselines too, drop early what loses nothing by what they know of events.

```
.venv/bin/saffron experiment p-q1 --json docs/experiments/p-q1.json   # and so on: `saffron experiment` lists them
PYTHONPATH=tools:services .venv/bin/python -m experiments.page docs/experiments docs/experiments.md
```

The oracle knows which events and partial matches will complete, and drops all else: what it misses is the least that
can be missed. In the last two columns: how many estimates lie within a fifth of the truth and half a point, and how
many do with two standard errors allowed for (few matches tell little).
"""

_BESIDE = """## With little training, and on streams that change

`auto` beside the better of two simple ones: partial matches at random (`pm-bl`), and events by their types alone
(`bl`). 1, 3, 10 and 30 % of the events train. `r-quiet`, `r-turns` and `r-shift` change behind what trains; nothing was
tuned on `r-payments`, `r-logins` and `r-machines`. `+-` is half of the 95 % interval, by seeds where there are several.

```
.venv/bin/saffron experiment robustness --seeds 30 --json docs/experiments/robustness.json
```

That takes more than a day on two cores: `--only` and `--train` take a part, and `seeds` says how many were run of each
(of one data set, where it is real). `g-q6` at 10 % is not solved: the order of events that the first tenth teaches is
believed throughout, by its own trials.
"""
_ALLOWED = 3.0
"""Percentage points."""
_NUMBERS = ("value", "train %", "seeds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="with one JSON file of each experiment")
    parser.add_argument("page", type=Path, help="Markdown to write; the charts go beside it, as .svg")
    chosen = parser.parse_args()
    found = list(_read(chosen.folder))
    picture = chosen.page.with_suffix(".svg")
    charts(picture, "complex events missed, %", [_drawn(one) for one in found])
    parts = [_OPENING, f"![Complex events missed, by experiment and shedder]({picture.name})\n", _together(found)]
    parts += _beside_even(chosen.folder / f"{ROBUSTNESS}.json")
    chosen.page.write_text("\n".join([*parts, *map(_section, found)]), "utf-8")


def _read(folder: Path) -> Iterator[Found]:
    for one in EXPERIMENTS:
        path = folder / f"{one.name}.json"
        if path.exists():
            written = json.loads(path.read_text("utf-8"))
            yield Found(one, written["benchmark"], written["rows"])


def _beside_even(path: Path) -> list[str]:
    """The section of the worst rows that `saffron experiment robustness` wrote, where it has."""
    if not path.exists():
        return []
    rows = sorted(json.loads(path.read_text("utf-8"))["rows"], key=lambda row: -row["worse, points"])
    named = ("experiment", "value", "train %", "seeds", *(f"{name} missed %" for name in (AUTO, *EVEN)))
    body = [
        [*(f"{row[name]:g}" if name in _NUMBERS else _text(row[name]) for name in named), _worse(row)]
        for row in rows[:_WORST]
    ]
    beyond = [row for row in rows if row["worse, points"] - row["+-"] > _ALLOWED]
    said = f"Of {len(rows)} rows that were run {len(beyond)} are worse by more than {_ALLOWED:g} points beyond chance."
    return [f"{_BESIDE}\n{said} The worst:\n\n{_table([*named, 'worse, points'], body)}"]


def _worse(row: Row) -> str:
    return f"{row['worse, points']:.1f} +- {row['+-']:.1f}"


def _drawn(one: Found) -> tuple[str, str, dict[str, list[tuple[float, float]]]]:
    varied = one.experiment.varied
    missed: dict[str, list[tuple[float, float]]] = {}
    for row in one.rows:
        missed.setdefault(row["shedder"], []).append((row[varied], row["missed %"]))
    return one.experiment.name, varied, missed


def _together(found: Sequence[Found]) -> str:
    lines = [{"experiment": one.experiment.name} | summary(one.experiment.varied, one.rows) for one in found]
    return _table(list(lines[0]), [[_text(value) for value in line.values()] for line in lines])


def _section(one: Found) -> str:
    varied = one.experiment.varied
    shedders = list(dict.fromkeys(row["shedder"] for row in one.rows))
    values = sorted({row[varied] for row in one.rows})
    cells = {(row[varied], row["shedder"]): row for row in one.rows}
    body = [[f"{value:g}", *(_cell(cells[value, shedder]) for shedder in shedders)] for value in values]
    return f"## `{one.experiment.name}`\n\n{one.title}.\n\n{_table([varied, *shedders], body)}"


def _cell(row: Row) -> str:
    paper = "" if row["paper %"] == "-" else f", paper {row['paper %']:g}"
    false = f", false {row['false %']:.1f}" if row["false %"] >= _LEAST_FALSE else ""
    return f"{_text(row['missed %'])} ({_text(row['estimated %'])}){false}{paper}"


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _text(value: Any) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
