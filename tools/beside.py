"""`saffron bench NAME --beside DIR`: one benchmark of two checkouts in turns, and the ratio of their figures.

Machines are noisy, and their speed drifts: only runs that take turns compare two versions. DIR is a checkout of the
other version, set up (`make setup`). A run of either is `saffron bench NAME --runs 1` of its own checkout.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.shared.table import report

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]
"""The rows of a run's tables, by the name of the file that has them."""

HERE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Figure:
    """One measured cell of a benchmark: the medians of both versions, and their ratio in each turn."""

    row: str
    name: str
    before: float
    now: float
    ratios: tuple[float, ...]


def figures(before: Sequence[Tables], now: Sequence[Tables]) -> Iterator[Figure]:
    """The numbers that differ between runs, of the tables and rows that both versions have.

    Numbers that are the same in all runs (sizes, results) are no measurements. Rows are known by their texts and by
    these numbers; the first column is one of them.
    """
    for table in now[0]:
        if table not in before[0]:
            continue
        for index, first in enumerate(now[0][table][: len(before[0][table])]):
            ours = [run[table][index] for run in now]
            theirs = [run[table][index] for run in before]
            if not _is_label(next(iter(first)), [*ours, *theirs]):
                continue  # another row of a version that has more of them
            measured = [name for name in first if _is_measured(name, [*ours, *theirs])]
            row = ", ".join(_told(name, value) for name, value in first.items() if _is_label(name, [*ours, *theirs]))
            for name in measured:
                ratios = (mine[name] / other[name] for other, mine in zip(theirs, ours, strict=True))
                other_median, own = (median([one[name] for one in rows]) for rows in (theirs, ours))
                yield Figure(row, name, other_median, own, tuple(sorted(ratios)))


def _is_measured(name: str, rows: Sequence[Row]) -> bool:
    values = [row.get(name) for row in rows]
    return all(isinstance(value, int | float) and value > 0 for value in values) and len(set(values)) > 1


def _is_label(name: str, rows: Sequence[Row]) -> bool:
    return len({str(row.get(name)) for row in rows}) == 1


def _told(name: str, value: object) -> str:
    return value if isinstance(value, str) else f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"


def run(checkout: Path, name: str, options: Sequence[str]) -> Tables:
    """The tables of one run. SystemExit: it failed."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(checkout / ".venv/bin/saffron"), "bench", name, "--runs", "1"]
        command += ["--json", str(Path(folder) / "figures.json"), *options]
        ended = subprocess.run(command, check=False, capture_output=True, text=True, cwd=checkout)
        if ended.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stderr[-2000:]}")
        return {path.name: json.loads(path.read_text("utf-8"))["rows"] for path in sorted(Path(folder).iterdir())}


def taken(other: Path, name: str, turns: int, options: Sequence[str]) -> tuple[list[Tables], list[Tables]]:
    """The runs of the other checkout and of this one. Each turn begins with the one that ended the turn before."""
    found: dict[Path, list[Tables]] = {other: [], HERE: []}
    order = [other, HERE]
    for turn in range(turns):
        for checkout in order:
            found[checkout].append(run(checkout, name, options))
        order.reverse()
        print(f"{name}: turn {turn + 1} of {turns}", file=sys.stderr, flush=True)
    return found[other], found[HERE]


def rows_of(found: Iterable[Figure]) -> list[dict[str, Any]]:
    """The table's rows; the least and the greatest ratio of a turn say how noisy the machine was."""
    return [
        {
            "row": one.row,
            "figure": one.name,
            "before": one.before,
            "now": one.now,
            "now / before": round(median(one.ratios), 3),
            "least": round(one.ratios[0], 3),
            "greatest": round(one.ratios[-1], 3),
        }
        for one in found
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("other", type=Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--json", type=Path)
    chosen, options = parser.parse_known_args()
    other = chosen.other.resolve()
    if not (other / ".venv/bin/saffron").is_file():
        raise SystemExit(f"{chosen.other} has no .venv/bin/saffron: is it a checkout, and was `make setup` run there?")
    found = list(figures(*taken(other, chosen.name, chosen.turns, options)))
    if not found:
        raise SystemExit(f"no row of `bench {chosen.name}` has a figure that both versions measure")
    title = f"{chosen.name}, {chosen.turns} turns: {other.name} before, this now; medians, also of the turns' ratios"
    report(title, rows_of(found), chosen.json, 160)


if __name__ == "__main__":
    main()
