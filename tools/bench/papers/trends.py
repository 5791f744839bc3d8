"""Benchmarks of trend queries: GRETA's own with their ten predicates, and one window of up to a million events.

Events are already in columns; one core. The options:

- `--data DIR` has the data sets that are not shipped (cluster_load, aircraft).
- `--varpulis PATH` is the program of that name (`cargo install varpulis-cli`).
- `--peers DIR` has the adapters of engines that build every trend (`--limit` seconds each).
- `--charts DIR` draws the figures.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from bench.papers.baselines.trends import built, scanned
from bench.shared.chart import chart
from bench.shared.peers import measure, reason
from bench.shared.stock import blocks, opening
from bench.shared.streams import priced
from bench.shared.table import arguments, clocked, median, picked, report
from bench.shared.trend_queries import papers, stream_of, uniform

from saffron.engine.events.columns import Columns
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.schema.schema import Schema

Row = dict[str, Any]
SIZES = (1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
SCANNED = 100_000
BUILT = 2**27
WINDOWS = (1, 2, 4, 10, 60)
GROUPS = (1, 10, 100, 1_000, 10_000)
SELECTIVITIES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
SPAN = 100_000
BLOCK = 8192


def one_pass(schema: Schema, columns: Columns, text: str) -> tuple[float, list[bytes], int]:
    """Seconds to all results, their lines, and the most bytes of state at the end of a block."""
    operator = TrendOperator(partition=0)
    operator.apply(opening(schema, columns, text))
    parts = blocks(columns, BLOCK)
    lines: list[bytes] = []
    peak, asked = 0, 0.0
    begun = time.perf_counter()
    for part in parts:
        found = operator.apply(part)
        if len(found):
            lines += found.json(0, len(found))
        looked = time.perf_counter()
        peak = max(peak, int(operator.statistics()["state_bytes"]))
        asked += time.perf_counter() - looked
    return time.perf_counter() - begun - asked, lines, peak


def measured(schema: Schema, columns: Columns, text: str, runs: int) -> Row:
    """Medians; the first run warms caches."""
    passes = [one_pass(schema, columns, text) for _ in range(runs + 1)][1:]
    seconds = median([one[0] for one in passes])
    return {
        "results": len(passes[0][1]),
        "seconds": seconds,
        "events/s": round(len(columns) / seconds),
        "bytes/event": passes[0][2] / len(columns),
        "lines": passes[0][1],
    }


def of_papers(folder: Path | None, runs: int) -> Iterator[Row]:
    for workload in papers():
        stream = stream_of(workload.stream, folder)
        if stream is not None:
            found = measured(*stream, workload.text, runs)
            del found["lines"], found["bytes/event"]
            yield {"query": workload.name, "events": len(stream[1]), **found}


def one_window(pattern: str, condition: str, window: int, group: str = "") -> str:
    where = f" WHERE {condition}" if condition else ""
    return f"RETURN COUNT(*) PATTERN {pattern}{where}{group} WITHIN {window} ms"


def by_size(runs: int) -> Iterator[Row]:
    """All events in one window, its count asked at the end by the event after it."""
    for size in SIZES:
        schema, columns = uniform(size + 1)
        row: Row = {"events a window": size}
        for name, condition in (("falling", "A.v > NEXT(A).v"), ("no predicate", "")):
            found = measured(schema, columns, one_window("A+", condition, size), runs)
            row |= {f"{name} ms": 1000 * found["seconds"], f"{name} events/s": found["events/s"]}
            row |= {f"{name} bytes/event": found["bytes/event"]}
        values = np.ascontiguousarray(columns.attributes["v"].data[:size])
        scanned(values[:9])  # compiled
        row["scan ms"] = 1000 * clocked(partial(scanned, values)) if size <= SCANNED else float("nan")
        row["scan / ours"] = row["scan ms"] / row["falling ms"]
        yield row


def by_selectivity(runs: int) -> Iterator[Row]:
    """A row for each share of earlier events that an event may follow: v uniform in 0..1, A.v > NEXT(A).v + d."""
    schema, columns = uniform(SPAN + 1)
    for share in SELECTIVITIES:
        shift = 1 - (2 * share) ** 0.5 if share <= 0.5 else (2 * (1 - share)) ** 0.5 - 1
        text = one_window("A+", f"A.v > NEXT(A).v + {shift:.6f}", SPAN)
        found = measured(schema, columns, text, runs)
        del found["lines"]
        yield {"selectivity": share, **found}


def by_groups(runs: int) -> Iterator[Row]:
    for groups in GROUPS:
        schema, columns = uniform(SPAN + 1, groups)
        found = measured(schema, columns, one_window("A+", "A.v > NEXT(A).v", SPAN, " GROUP BY key"), runs)
        del found["lines"]
        yield {"groups": groups, **found}


def by_windows(runs: int) -> Iterator[Row]:
    """Overlapping windows, one beginning each second: an event lies in k of them; of one key and of a thousand."""
    for windows in WINDOWS:
        row: Row = {"windows of an event": windows}
        for keys in (1, 1_000):
            schema, columns = uniform(SPAN + 1, keys)
            for name, condition in (("no predicate", "[key]"), ("falling", "[key] AND A.v > NEXT(A).v")):
                text = f"RETURN COUNT(*) PATTERN A+ WHERE {condition} WITHIN {windows} seconds SLIDE 1 second"
                found = measured(schema, columns, text, runs)
                row |= {f"{name}, {keys} keys, events/s": found["events/s"]}
        yield row


def two_steps(runs: int) -> Iterator[Row]:
    """The largest windows that building every trend still finishes, beside ours."""
    for size in (20, 40, 80, 120, 160):
        schema, columns = uniform(size + 1)
        values = np.ascontiguousarray(columns.attributes["v"].data[:size])
        built(values[:5], BUILT)
        begun = time.perf_counter()
        trends = int(built(values, BUILT))
        seconds = time.perf_counter() - begun
        found = measured(schema, columns, one_window("A+", "A.v > NEXT(A).v", size), runs)
        count = orjson.loads(found["lines"][0])["return"]["COUNT(*)"]
        whole = trends < BUILT
        if whole and count != trends:
            raise SystemExit(f"{size} events: {count} trends, but {trends} are right")
        yield {
            "events a window": size,
            "trends": count,
            "two steps ms": 1000 * seconds if whole else f"gave up after {1000 * seconds:,.0f}",
            "Saffron ms": 1000 * found["seconds"],
            "ratio": seconds / found["seconds"],
        }


def engines(folder: Path, runs: int, limit: float) -> Iterator[Row]:
    """Engines that build every trend, to be counted: falling prices in tumbling windows of 20, 50 and 80."""
    for size in (20, 50, 80):
        text = one_window("P+", "P.price > NEXT(P).price", size + 2)
        found = measured(*priced(size), text, runs)
        trends = sum(int(orjson.loads(line)["return"]["COUNT(*)"]) for line in found["lines"])
        row: Row = {"prices a window": size, "windows": len(found["lines"]), "trends": trends}
        row["Saffron ms"] = 1000 * found["seconds"]
        for peer in ("sase", "flink"):
            line = measure(folder, peer, f"trends_n{size}_w{size + 1}", 1, limit)
            if "seconds" not in line:
                row |= {f"{peer} ms": reason(line), f"{peer} / ours": f"> {limit / found['seconds']:,.0f}"}
                continue
            if line["matches"] != trends:
                raise SystemExit(f"{size} prices: {trends} trends, but {peer} finds {line['matches']}")
            ratio = line["seconds"] / found["seconds"]
            row |= {f"{peer} ms": f"{1000 * line['seconds']:,.0f}", f"{peer} / ours": f"{ratio:,.0f}"}
        yield row


_VARPULIS = """event A:
    v: float

stream T = A as first -> all A as rest .within(10h) .trend_aggregate(n: count_trends()) .emit(n: n)
"""


def varpulis(program: Path, runs: int) -> Iterator[Row]:
    """SEQ(A, A+) without a predicate, the trend query that it has."""
    for size in (1_000, 10_000, 100_000):
        schema, columns = uniform(size + 1)
        found = measured(schema, columns, one_window("SEQ(A x, A+ y[])", "", size), runs)
        seconds, said = _varpulis(program, size)
        yield {
            "events a window": size,
            "Saffron s": found["seconds"],
            "Saffron trends": str(orjson.loads(found["lines"][0])["return"]["COUNT(*)"])[:24],
            "Varpulis s": seconds,
            "Varpulis trends": said,
            "ratio": seconds / found["seconds"],
        }


def _varpulis(program: Path, size: int) -> tuple[float, str]:
    """Seconds of the whole program (its start is a few ms), and the last count that it printed."""
    with tempfile.TemporaryDirectory() as folder:
        source, events = Path(folder) / "trends.vpl", Path(folder) / "events.evt"
        source.write_text(_VARPULIS)
        events.write_text("".join(f"@{i}ms A {{ v: {i}.0 }}\n" for i in range(size)))
        begun = time.perf_counter()
        run = subprocess.run(
            [str(program), "simulate", "-p", str(source), "-e", str(events)],
            capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip
        seconds = time.perf_counter() - begun
    lines = [line for line in run.stdout.splitlines() if '"n"' in line or "n:" in line]
    return seconds, (lines or [run.stderr.strip()[-60:]])[-1].strip()[-60:]


def draw(folder: Path, sizes: Sequence[Row], shares: Sequence[Row], groups: Sequence[Row]) -> None:
    def series(rows: Sequence[Row], across: str, **names: str) -> dict[str, list[tuple[float, float]]]:
        return {
            name: [(float(row[across]), float(row[up])) for row in rows if row[up] == row[up]]
            for name, up in names.items()
        }

    folder.mkdir(parents=True, exist_ok=True)
    across = "events a window"
    spent = {"falling": "falling ms", "no predicate": "no predicate ms", "scan (paper's cost)": "scan ms"}
    chart(folder / "trends-latency.svg", "Time to a window's count", across, "ms", series(sizes, across, **spent))
    rates = {"falling": "falling events/s", "no predicate": "no predicate events/s"}
    chart(folder / "trends-rate.svg", "Throughput", across, "events/s", series(sizes, across, **rates))
    memory = {"falling": "falling bytes/event", "no predicate": "no predicate bytes/event"}
    chart(folder / "trends-memory.svg", "Memory", across, "bytes/event", series(sizes, across, **memory))
    chart(
        folder / "trends-selectivity.svg", "100,000 events a window", "edge selectivity", "s",
        series(shares, "selectivity", Saffron="seconds"),
    )  # fmt: skip
    chart(
        folder / "trends-groups.svg",
        "100,000 events a window",
        "groups",
        "s",
        series(groups, "groups", Saffron="seconds"),
    )


def main() -> None:
    chosen = arguments(__doc__ or "", data="", varpulis="", peers="", limit=60.0, charts="", only="*")
    if chosen.charts and chosen.only != "*":
        raise SystemExit("--charts: the charts are of all parts; leave --only out")
    folder = Path(chosen.data) if chosen.data else None
    found: dict[str, list[Row]] = {}
    parts: dict[str, Callable[[], Iterable[Row]]] = {
        "GRETA's queries": lambda: of_papers(folder, chosen.runs),
        "events a window": lambda: by_size(chosen.runs),
        "selectivity": lambda: by_selectivity(chosen.runs),
        "groups": lambda: by_groups(chosen.runs),
        "overlapping windows": lambda: by_windows(chosen.runs),
        "two steps": lambda: two_steps(chosen.runs),
        "engines": lambda: engines(Path(chosen.peers), chosen.runs, chosen.limit) if chosen.peers else iter(()),
        "Varpulis": lambda: varpulis(Path(chosen.varpulis), chosen.runs) if chosen.varpulis else iter(()),
    }
    for title in picked(chosen.only, parts):
        found[title] = list(parts[title]())
        if found[title]:
            path = chosen.json and chosen.json.with_stem(f"{chosen.json.stem}-{title.replace(' ', '-')}")
            report(f"trends: {title}, medians of {chosen.runs} runs", found[title], path, width=140)
    if chosen.charts:
        draw(Path(chosen.charts), found["events a window"], found["selectivity"], found["groups"])


if __name__ == "__main__":
    main()
