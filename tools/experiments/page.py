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

from bench.shared.chart import charts
from experiments.catalogue import EVEN, EXPERIMENTS, SHARES, Experiment
from experiments.robustness import ALLOWED, LEAST, ROBUSTNESS, places
from experiments.summary import summary

from saffron.language.cost.shedders import AUTO

Row = Mapping[str, Any]

_WORST = 8
"""Rows of the default shedder beside even dropping that stand on the page, the worst first."""
_LEAST_FALSE = 0.05
"""Per cent, below which no false positives are shown."""


@dataclass(frozen=True)
class Found:
    """The rows written for one experiment. `title` says for how many seeds, `measured` of which version and when."""

    experiment: Experiment
    title: str
    measured: str
    rows: Sequence[Row]


_OPENING = """# The papers' experiments

Each table has the share of complex events that a shedder misses under overload, in per cent:

| part of a cell | meaning |
| --- | --- |
| 10.5 | missed; the truth is the same run without shedding |
| (11.8) | missed by Saffron's own estimate |
| false 36.8 | share of the complex events found that are false; left out where there are none |
| paper 18.5 | the published figure, from other data: compare shapes and ratios |

Complex events can be false since a pattern may take a later event for a dropped one, or a NOT may miss its event.

All runs are on a virtual clock, with a latency bound of one second. The engine is too fast for these data, so each
check has a stated cost. A rate is a multiple of the events under shedding that the engine alone can process at that
cost.

`auto` is the shedder of a query that names none. `pspice--` (utility without time), `pm-bl`, `e-bl`, `espice` and `bl`
are the papers' baselines. How much must go is decided in the same way for all. `auto` and the `gspice` shedders also
drop early what loses nothing by what they know of events. When the figures of `g-pane` and `g-q4-pane` were made,
`e-bl`, `espice` and `bl` did so too; they no longer do.

```
.venv/bin/saffron experiment p-q1 --json docs/experiments/p-q1.json   # and so on: `saffron experiment` lists them
PYTHONPATH=tools:services .venv/bin/python -m experiments.page docs/experiments docs/experiments.md
```

The next table has a row for each experiment. "keeps %" is 100 less the share missed: the median over the rows of the
experiment's own table, where in each row the best baseline counts. The oracle knows which events and partial matches
will complete, and drops all others. It misses the least that can be missed. The last two columns count the estimates
that are within a fifth of the truth plus half a point. The second of them also allows for two standard errors, since
few matches say little.
"""

_BESIDE = """## With little training, and on streams that change

The table compares `auto` with two simple shedders: `pm-bl` drops partial matches at random, and `bl` drops events by
type alone. "worse" is by how many points `auto` misses more than the better of the two.

- "train %" is the share of the events that trains the models: 1, 3, 10 or 30.
- `r-quiet`, `r-turns` and `r-shift` change after the training.
- On `r-payments`, `r-logins` and `r-machines` nothing was tuned.
- "seeds" is the number of runs. A row runs again until its interval lies on one side of 3 points. On real data all
  runs use the same data set. On generated streams each run has another one, and a row gets five runs at least when it
  is made today.
- `+-` is half of the 95 % interval: over more than two seeds (Student's t), else over matches that are lost together.

```
.venv/bin/saffron experiment robustness --seeds 30 --json docs/experiments/robustness.json
```

The whole command has 176 rows and takes some hours on two cores. `--only` and `--train` run a part of it.
"""
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
            yield Found(one, written["benchmark"], _measured(written), written["rows"])


def _measured(written: Mapping[str, Any]) -> str:
    """The version that was measured, and the day, of a file that `saffron experiment --json` wrote."""
    return f"Version {written['version']}, {written['date']}."


def _beside_even(path: Path) -> list[str]:
    """The section of the worst rows that `saffron experiment robustness` wrote, where it has."""
    if not path.exists():
        return []
    written = json.loads(path.read_text("utf-8"))
    rows = sorted(written["rows"], key=lambda row: -row["worse, points"])
    named = ("experiment", "value", "train %", "seeds", *(f"{name} missed %" for name in (AUTO, *EVEN)))
    body = [
        [*(f"{row[name]:g}" if name in _NUMBERS else _text(row[name]) for name in named), _worse(row)]
        for row in rows[:_WORST]
    ]
    beyond = [row for row in rows if row["worse, points"] - row["+-"] > ALLOWED]
    every = sum(1 for one in EXPERIMENTS for _ in places(one, SHARES))
    ran = f"Of the {every} rows {len(rows)} were run." if len(rows) < every else f"All {every} rows were run."
    generated = {one.name for one in EXPERIMENTS if one.generated}
    if few := sum(row["experiment"] in generated and row["seeds"] < LEAST for row in rows):
        ran += f" {few} of them, on generated streams, have fewer than {LEAST} seeds."
    said = f"{ran} Worse by more than {ALLOWED:g} points, beyond chance: {len(beyond)}."
    return [f"{_BESIDE}\n{_measured(written)} {said} The worst:\n\n{_table([*named, 'worse, points'], body)}"]


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
    return f"## `{one.experiment.name}`\n\n{one.title}. {one.measured}\n\n{_table([varied, *shedders], body)}"


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
