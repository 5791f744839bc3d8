"""Match queries on SASE's own workloads: the engine alone, beside other engines where their adapters are given.

Events are already in columns; a run ends with every match as sequence numbers, and their hash taken. One core.
The limit is what memory allows: the columns that the query names read once, the matches written once, nothing asked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.shared.limit import limit_ms
from bench.shared.peers import measure, reason
from bench.shared.set_hash import set_hash
from bench.shared.stock import blocks
from bench.shared.streams import stream
from bench.shared.table import arguments, median, picked, report
from bench.shared.workloads import WORKLOADS, Workload

from saffron.engine.events.block import Block
from saffron.engine.events.strings import Strings
from saffron.engine.match.core.stream import Range
from saffron.engine.match.output.sequences import sequences
from saffron.engine.match.queries.fastest import fastest, started
from saffron.engine.match.runs.graph import Linking
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.operators.engine_choice import Engine, EngineChoice
from saffron.language import compile_query
from saffron.language.plan.consistency import is_collapsible
from saffron.language.plan.match_plan import MatchPlan


def one_pass(runs: QueryRuns, parts: Sequence[Block]) -> tuple[float, float, int, int, int]:
    """Seconds, those of the processor, number of matches, the hash of their set, and the bytes that they take."""
    matches, total, size = 0, 0, 0
    begun, begun_cpu = time.perf_counter(), time.process_time()
    for part in parts:
        runs.begin_block(int(part.columns.ts[0]))
        runs.advance(Range(part.columns, 0, len(part.columns)), None)
        counts, seqs = sequences(runs)
        matches += len(counts)
        total += int(set_hash(counts, seqs))
        size += counts.nbytes + seqs.nbytes
    return time.perf_counter() - begun, time.process_time() - begun_cpu, matches, total & (1 << 64) - 1, size


def collapsed(plan: MatchPlan, name: str, parts: Sequence[Block]) -> tuple[float, float]:
    """Seconds to all matches as graphs, one an ending event; and to those and their exact number."""
    runs = started(plan, EngineChoice(Engine.GRAPHS, "measured"), stream(name)[0], Strings())
    assert isinstance(runs.source, Linking)
    counting, total = 0.0, 0
    begun = time.perf_counter()
    for part in parts:
        runs.begin_block(int(part.columns.ts[0]))
        runs.advance(Range(part.columns, 0, len(part.columns)), None)
        graphs = runs.source.graphs()
        built = time.perf_counter()
        total += sum(graphs.counts())
        counting += time.perf_counter() - built
    seconds = time.perf_counter() - begun
    return seconds - counting, seconds


def ours(workload: Workload, runs: int, block: int) -> dict[str, Any]:
    """The figures of a workload: medians of so many runs."""
    schema, columns = stream(workload.stream)
    plan = compile_query(workload.text, schema, name="q")
    assert isinstance(plan, MatchPlan)
    parts = blocks(columns, block)
    passes = [one_pass(fastest(plan, schema, Strings()), parts) for _ in range(runs + 1)][1:]  # the first warms caches
    seconds = median([one[0] for one in passes])
    limit = limit_ms(columns, workload.text, passes[0][4])
    graphs = ["-", "-"]
    if is_collapsible(plan):
        found = [collapsed(plan, workload.stream, parts) for _ in range(runs)]
        graphs = [f"{1000 * median(times):,.1f}" for times in zip(*found, strict=True)]
    return {
        "workload": workload.name,
        "matches": passes[0][2],
        "set hash": f"{passes[0][3]:016x}",
        "ms": 1000 * seconds,
        "cpu ms": 1000 * median([one[1] for one in passes]),
        "events/s": round(len(columns) / seconds),
        "limit ms": limit,
        "times the limit": round(1000 * seconds / limit, 1),
        "compressed ms": graphs[0],
        "counted ms": graphs[1],
    }


def beside(row: dict[str, Any], lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The row with the peers' figures; ratios are to the fastest whose matches are the same.

    On a machine with other work the ratio of processor times says more; a peer's has its collector and compiler in it.
    """
    same = [line for line in lines if line.get("set_hash") == row["set hash"]]
    fastest = min(same, key=lambda line: float(line["seconds"]), default=None)
    notes = [
        f"{line['peer']}: {reason(line)}" if "seconds" not in line else f"{line['peer']}: {line['matches']:,} matches"
        for line in lines
        if line not in same
    ]
    return {
        **row,
        "peers (ms)": ", ".join(f"{line['peer']} {1000 * line['seconds']:,.0f}" for line in same),
        "times the fastest": round(1000 * fastest["seconds"] / row["ms"], 1) if fastest else "-",
        "by cpu": round(1000 * fastest["cpu_seconds"] / row["cpu ms"], 1) if fastest else "-",
        "not compared": "; ".join(notes),
    }


def main() -> None:
    chosen = arguments(__doc__ or "", block=32_768, only="*", peers="", limit=60.0)
    rows = []
    for name in picked(chosen.only, WORKLOADS):
        row = ours(WORKLOADS[name], chosen.runs, chosen.block)
        if chosen.peers:
            folder = Path(chosen.peers)
            lines = [measure(folder, peer, name, chosen.runs, chosen.limit) for peer in WORKLOADS[name].peers]
            row = beside(row, lines)
        rows.append(row)
    load = os.getloadavg()[0]
    title = f"matches as sequence numbers, blocks of {chosen.block:,} events, {chosen.runs} runs, load {load:.1f}"
    report(title, rows, chosen.json, width=240 if chosen.peers else 160)


if __name__ == "__main__":
    main()
