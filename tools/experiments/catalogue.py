"""The catalogue of the papers' experiments: streams, the varied value, and the figures of the papers.

Figures of the papers are false negatives in per cent, read off where the text names them. Our data are others (see
`sets`): shapes and ratios compare, and absolute numbers where match probability and rate are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from experiments.changing import quiet, shift, turns
from experiments.run import Load
from experiments.sets import MOVED, moved, real, synthetic
from experiments.unseen import logins, machines, payments

from saffron.experiments.virtual_pace import Rate

_QUERIES = Path(__file__).parent / "queries"
SHARES = (0.01, 0.03, 0.1, 0.3)
"""The shares of the events that train."""
LEARNED = ("auto", "pspice", "gspice-h")
EVEN = ("pm-bl", "bl")
"""Even dropping: of partial matches, and of events of a kind."""
RATES = (1.2, 1.4, 1.6, 1.8, 2.0)
PARTIAL = ("auto", "pspice", "pspice--", "pm-bl", "e-bl")
EVENTS = ("auto", "gspice-h", "gspice-tree", "gspice-forest", "espice", "bl")


@dataclass(frozen=True)
class Point:
    """One value of the varied variable, and its load: made for a seed, in a folder for generated files."""

    value: float
    load: Callable[[int, Path], Load]


@dataclass(frozen=True)
class Experiment:
    """An experiment. `varied`: the axis. `paper`: shedder -> {value: false negatives, per cent}.

    `generated`: each seed makes a stream of its own; else it draws only what is shed.
    """

    name: str
    about: str
    varied: str
    points: Sequence[Point]
    shedders: Sequence[str]
    paper: Mapping[str, Mapping[float, float]] = field(default_factory=dict)
    generated: bool = False


def text(name: str, **values: float) -> str:
    """A query of `queries/` with its parameters filled in."""
    found = (_QUERIES / f"{name}.saf").read_text("utf-8")
    for parameter, value in values.items():
        found = found.replace(f"${parameter}", str(value))
    return found


def _over(
    queries: Mapping[str, str], stream: Callable[[int, Path], Path], rate: float, **costs: float
) -> Callable[[int, Path], Load]:
    stated = {name: costs.get(name, 1.0) for name in queries}
    return lambda seed, folder: Load(queries, stream(seed, folder), Rate(rate, relative=True), stated)


def _panes(query: str, stream: Callable[[int, Path], Path], panes: Sequence[int]) -> list[Point]:
    """Points by pane at 180 % load, as in the paper."""
    made = _over({"g": text(query)}, stream, 1.8)

    def point(pane: int) -> Point:
        return Point(pane, lambda seed, folder: replace(made(seed, folder), pane=pane))

    return [point(pane) for pane in panes]


def _distributions(query: str, sets: Sequence[int]) -> list[Point]:
    """Points by synthetic set, at 140 % load."""
    return [Point(i, _over({"g": text(query)}, _synthetic(f"D{i}"), 1.4)) for i in sets]


def _data(name: str) -> Callable[[int, Path], Path]:
    return lambda seed, folder: real(name)


def _synthetic(name: str, events: int = 60_000) -> Callable[[int, Path], Path]:
    return lambda seed, folder: synthetic(name, events, seed, folder)


def _moved(seed: int, folder: Path) -> Path:
    return moved(MOVED, folder)


def _windows(query: str, sizes: Sequence[int], rate: float = 1.2) -> list[Point]:
    name = query.removeprefix("pspice_")
    return [Point(size, _over({name: text(query, WINDOW=size)}, _data("stock"), rate)) for size in sizes]


def _rates(queries: Mapping[str, str], stream: Callable[[int, Path], Path]) -> list[Point]:
    return [Point(rate, _over(queries, stream, rate)) for rate in RATES]


def _on_rates(
    name: str, about: str, query: str, stream: Callable[[int, Path], Path], *, generated: bool = False
) -> Iterator[Experiment]:
    """An experiment of gSPICE's at all rates."""
    yield Experiment(name, f"{about}: rates", "rate", _rates({"g": text(query)}, stream), EVENTS, generated=generated)


def _burst(factor: float) -> Callable[[int, Path], Load]:
    """Below the capacity (70 %), but for 30 seconds of so many times that."""
    rate = Rate(0.7, relative=True, profile=((10.0, 1.0), (30.0, factor)))
    lasts = 0.7 * (10.0 + 30.0 * factor + 20.0)
    return lambda seed, folder: Load({"q1": text("pspice_q1", WINDOW=4000)}, real("stock"), rate, {"q1": 1.0}, lasts)


def _by_training(name: str, about: str, query: str, stream: Callable[[int, Path], Path]) -> Iterator[Experiment]:
    """A stream of our own: one that changes behind what trains, or one that no paper has."""
    shedders = (*LEARNED, *EVEN)
    yield Experiment(
        name, f"{about}, 140 %: per cent that train", "train", _trained(query, stream), shedders, generated=True
    )


def _trained(query: str, stream: Callable[[int, Path], Path]) -> list[Point]:
    """Points by the share of the events that trains, at 140 % load; the engine alone is busy for eight seconds."""
    made = _over({"q": text(query)}, stream, 1.4)

    def point(share: float) -> Point:
        return Point(100 * share, lambda seed, folder: replace(made(seed, folder), train=share, seconds=8.0))

    return [point(share) for share in SHARES]


def _pair(ratio: float) -> Callable[[int, Path], Load]:
    both = {name: text(f"pspice_{name}", WINDOW=10_000) for name in ("q1", "q2")}
    return _over(both, _data("stock"), 1.2, q1=ratio, q2=1.0)


EXPERIMENTS = [
    Experiment(
        "p-q1", "pSPICE Q1, sequence: windows (events), 120 %", "window",
        _windows("pspice_q1", (1000, 2000, 3000, 4000, 6000, 10000)), PARTIAL,
    ),
    Experiment(
        "p-q1-rate", "pSPICE Q1 where about 30 % of partial matches complete: rates", "rate",
        _rates({"q1": text("pspice_q1", WINDOW=8000)}, _data("stock")), PARTIAL,
        {"pspice": {1.2: 18.5, 2.0: 60}, "pm-bl": {1.2: 29, 2.0: 86}, "e-bl": {1.2: 49, 2.0: 94}},
    ),
    Experiment(
        "p-q2", "pSPICE Q2, sequence with repetition: windows (events), 120 %", "window",
        _windows("pspice_q2", (2000, 3000, 4000, 6000, 8000, 12000)), PARTIAL,
    ),
    Experiment(
        "p-q3", "pSPICE Q3, striker and n defenders, 120 %", "n",
        [Point(n, _over({"q3": text("pspice_q3", N=n)}, _data("soccer"), 1.2)) for n in (2, 3, 4, 5, 6)], PARTIAL,
    ),
    Experiment(
        "p-q4", "pSPICE Q4, n buses late at one stop, 120 %", "n",
        [Point(n, _over({"q4": text("pspice_q4", N=n, WINDOW=2000)}, _data("bus"), 1.2)) for n in (3, 4)], PARTIAL,
    ),
    Experiment(
        "p-q4-flights", "pSPICE Q4 at volume, n aircraft late for one airport, 120 %", "n",
        [Point(n, _over({"q4": text("pspice_q4_flights", N=n, WINDOW=1000)}, _data("flights"), 1.2))
         for n in (3, 4, 7, 8, 10)], PARTIAL,
    ),
    Experiment(
        "p-tau", "pSPICE Q1 and Q2 together, a check of Q1 costing so many times one of Q2, 120 %", "cost ratio",
        [Point(ratio, _pair(ratio)) for ratio in (1, 2, 4, 8, 12, 16)], PARTIAL,
        {"pspice": {16: 23}, "pspice--": {16: 37.5}},
    ),
    Experiment(
        "burst", "pSPICE Q1 at 70 %, and 30 seconds of so many times that", "times",
        [Point(factor, _burst(factor)) for factor in (3, 5)], PARTIAL,
    ),
    *_on_rates("g-q1", "gSPICE Q1, sequence, D1", "gspice_q1", _synthetic("D1"), generated=True),
    *_on_rates("g-q2", "gSPICE Q2, Kleene, D1", "gspice_q2", _synthetic("D1"), generated=True),
    *_on_rates("g-q3", "gSPICE Q3, disjunction, D5", "gspice_q3", _synthetic("D5"), generated=True),
    *_on_rates("g-q4", "gSPICE Q4, stock sequence", "gspice_q4", _data("stock")),
    *_on_rates("g-q4-moved", "gSPICE Q4, of quotes that moved by 0.1 % only", "gspice_q4", _moved),
    *_on_rates("g-q5", "gSPICE Q5, stock with NOT", "gspice_q5", _data("stock")),
    *_on_rates("g-q6", "gSPICE Q6, soccer with ANY", "gspice_q6", _data("soccer")),
    Experiment(
        "g-distribution", "gSPICE Q1 over D1 to D4 (4: uniform types), 140 %", "set",
        _distributions("gspice_q1", (1, 2, 3, 4)), EVENTS, generated=True,
    ),
    Experiment(
        "g-distribution-or", "gSPICE Q3, disjunction, over D5 to D8 (8: uniform types), 140 %", "set",
        _distributions("gspice_q3", (5, 6, 7, 8)), EVENTS, generated=True,
    ),
    Experiment(
        "g-pane", "gSPICE Q1, sequence, D1, 180 %: events of the predecessor pane", "pane",
        _panes("gspice_q1", _synthetic("D1"), (5, 10, 20, 40, 80, 320)), EVENTS, generated=True,
    ),
    Experiment(
        "g-q4-pane", "gSPICE Q4, stock sequence, 180 %: events of the predecessor pane", "pane",
        _panes("gspice_q4", _data("stock"), (10, 50, 100, 400, 800, 1600)), EVENTS,
    ),
    *_by_training("r-quiet", "A quiet stretch before a rush", "quiet", quiet),
    *_by_training("r-turns", "Regimes that take turns", "turns", turns),
    *_by_training("r-shift", "A feature that foretells matches in the beginning only", "shift", shift),
    *_by_training("r-payments", "Payments by one card that grow", "payments", payments),
    *_by_training("r-logins", "Failed logins, and one that succeeds without a reset", "logins", logins),
    *_by_training("r-machines", "Temperatures that rise before an alarm", "machines", machines),
]  # fmt: skip
