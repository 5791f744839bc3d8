"""The Kafka path at full speed: broker and all services on this machine, one partition, nothing lost.

The producer runs beside them, or the topic was filled before. Quotes have some 110 bytes, small events some 60.
With `--flink 1` also Flink CEP over the small events, on the same broker, exactly once (a JDK and Maven are needed).
"""

from __future__ import annotations

import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.shared import keyed, stock
from bench.shared.flink_job import RESULTS, SETTINGS, VERSION, Setting, job
from bench.shared.system import System, system
from bench.shared.table import arguments, median, report

from saffron.runtime.log import Record

_PROCESSES = ("broker", "producer", "windowing", "shedder", "matcher", "greta")


@dataclass(frozen=True)
class Load:
    """Events in a file, a query over them, and the number of its results; None: as many as the first run finds."""

    path: Path
    query: str
    events: int
    results: int | None


@dataclass(frozen=True)
class Run:
    """A run from the first event to the last committed result. `cpu`: processor seconds by process until then."""

    seconds: float
    results: int
    cpu: Mapping[str, float]


Way = Callable[[System, Load], Run]
Cpu = Callable[[], Mapping[str, float]]
"""A function that says how many processor seconds each process has used so far."""


def beside(running: System, load: Load) -> Run:
    """The events are produced as fast as it goes, while all services run."""
    return _beside(running, load, "complex-events", running.cpu)


def filled(running: System, load: Load) -> Run:
    """The topic has all events before windowing, which sleeps until then, may read the first one."""
    running.signal("windowing", signal.SIGSTOP)
    running.command("produce", str(load.path))
    before, began = running.cpu(), time.time()
    running.signal("windowing", signal.SIGCONT)
    results, after = _results(running, load, "complex-events", running.cpu)
    return Run(results[-1].timestamp / 1000 - began, len(results), _used(before, after))


def beside_flink(setting: Setting) -> Way:
    """The way of `beside`, with Flink's job in place of our services."""

    def beside_it(running: System, load: Load) -> Run:
        running.signal("windowing", signal.SIGSTOP)
        with job(running, setting) as flink:
            return _beside(running, load, RESULTS, lambda: {**running.cpu(), "flink": flink.cpu()})

    return beside_it


def filled_flink(setting: Setting) -> Way:
    """The way of `filled`, with Flink's job in place of our services. Its start is not counted."""

    def filled_before(running: System, load: Load) -> Run:
        running.signal("windowing", signal.SIGSTOP)
        running.command("produce", str(load.path))
        with job(running, setting) as flink:

            def cpu() -> Mapping[str, float]:
                return {**running.cpu(), "flink": flink.cpu()}

            before, began = cpu(), time.time()
            results, after = _results(running, load, RESULTS, cpu)
        return Run(results[-1].timestamp / 1000 - began, len(results), _used(before, after))

    return filled_before


def runs_of(load: Load, way: Way, count: int) -> list[Run]:
    """Runs, each on a system of its own. SystemExit: results are missing."""
    found: list[Run] = []
    for _ in range(count):
        with system() as running:
            running.command("query", "add", "-e", load.query)
            running.calm()
            found.append(way(running, load))
        wanted = load.results or found[0].results
        if found[-1].results != wanted:
            raise SystemExit(f"{found[-1].results:,} results, but {wanted:,} are right")
        print(f"{way.__name__}: {load.events / found[-1].seconds:,.0f} events/s", file=sys.stderr, flush=True)
    return found


def row_of(name: str, load: Load, runs: list[Run]) -> dict[str, Any]:
    """Medians; processor time in us an event."""
    row: dict[str, Any] = {"events": name, "events/s": round(load.events / median([run.seconds for run in runs]))}
    row["results"] = runs[0].results
    for process in (*_PROCESSES, "flink"):
        times = [run.cpu[process] for run in runs if process in run.cpu]
        row[f"{process} us"] = round(median(times) / load.events * 1e6, 2) if times else "-"
    others = [sum(run.cpu[name] for name in ("control", "model_builder") if name in run.cpu) for run in runs]
    row["others us"] = round(median(others) / load.events * 1e6, 2)
    return row


def main() -> None:
    chosen = arguments(__doc__ or "", passes=3, events=1_000_000, flink=0)
    with tempfile.TemporaryDirectory() as folder:
        quotes, small = Path(folder) / "quotes.ndjson", Path(folder) / "small.ndjson"
        stock.passes(quotes, chosen.passes)
        keyed.write(small, chosen.events)
        count = chosen.passes
        of_quotes = Load(quotes, "QUERY rally " + stock.QUERY, stock.EVENTS * count, stock.RESULTS * count)
        of_small = Load(small, "QUERY abc " + keyed.QUERY, chosen.events, None)
        rows = [
            row_of("quotes, producer beside", of_quotes, runs_of(of_quotes, beside, chosen.runs)),
            row_of("small, producer beside", of_small, runs_of(of_small, beside, chosen.runs)),
            row_of("small, filled before", of_small, runs_of(of_small, filled, chosen.runs)),
        ]
        for setting in SETTINGS if chosen.flink else ():
            for name, way in (("beside", beside_flink(setting)), ("filled", filled_flink(setting))):
                rows.append(
                    row_of(f"Flink {VERSION}, {name}: {setting.name}", of_small, runs_of(of_small, way, chosen.runs))
                )
    title = f"Kafka path, medians of {chosen.runs} runs; processor time in us an event"
    report(title, rows, chosen.json, width=180)


def _beside(running: System, load: Load, topic: str, cpu: Cpu) -> Run:
    """See `beside`. `topic`: of the results."""
    before, mine = cpu(), _children()
    running.command("produce", str(load.path))
    producer = _children() - mine
    results, after = _results(running, load, topic, cpu)
    first = running.read("events", 1, 10.0)[0].timestamp
    used = {**_used(before, after), "producer": producer}
    return Run((results[-1].timestamp - first) / 1000, len(results), used)


def _results(running: System, load: Load, topic: str, cpu: Cpu) -> tuple[list[Record], Mapping[str, float]]:
    """The results, and the processor seconds used until the last of them was there."""
    seen = [cpu()]
    patience = 30.0 if load.results else 5.0
    results = running.read(topic, load.results or 10**9, patience, grown=lambda: seen.append(cpu()))
    return results, seen[-1]


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _used(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    return {name: seconds - before[name] for name, seconds in after.items()}


if __name__ == "__main__":
    main()
