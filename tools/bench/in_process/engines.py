"""The engines that have runs, beside each other: table, flat, and scan where the plan can be scanned.

The queries are those of `bench match` that run in pools for each state and report all matches. (Of OUTPUT FIRST the
table finds all, and flat the first ones.) Events are already in columns; a run ends with every match as sequence
numbers. The engines run by turns. `table` and `scan` are processor times where flat takes 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bench.papers.match import one_pass
from bench.shared.stock import blocks
from bench.shared.streams import stream
from bench.shared.table import arguments, median, picked, report
from bench.shared.workloads import WORKLOADS, Workload

from saffron.engine.events.column_operations import slice_columns
from saffron.engine.events.strings import Strings
from saffron.engine.match.planning.engine import engine_of_runs
from saffron.engine.match.queries.fastest import started
from saffron.engine.operators.engine_choice import Engine
from saffron.language import compile_query
from saffron.language.plan.clauses import Output
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pairs import exact_match


def measured(workload: Workload, runs: int, events: int, block: int) -> dict[str, Any] | None:
    """The figures of a workload; None if its plan needs a table, or does not report all matches."""
    schema, columns = stream(workload.stream)
    plan = compile_query(workload.text, schema, name="q")
    assert isinstance(plan, MatchPlan)
    chosen = engine_of_runs(plan, schema)
    if chosen.engine is Engine.TABLE or plan.output is not Output.ALL:
        return None
    choices = [replace(chosen, engine=Engine.TABLE, merging=None), replace(chosen, engine=Engine.FLAT)]
    choices += [chosen] if chosen.engine is Engine.SCAN else []
    parts = blocks(slice_columns(columns, 0, events), block)
    times: dict[Engine, list[float]] = {choice.engine: [] for choice in choices}
    found = set()
    for _ in range(runs + 1):
        for choice in choices:
            _, seconds, *matches = one_pass(started(exact_match(plan), choice, schema, Strings()), parts)
            times[choice.engine].append(seconds)
            found.add(tuple(matches))
    if len(found) > 1:
        raise SystemExit(f"{workload.name}: the engines find other matches")
    of = {engine: median(taken[1:]) for engine, taken in times.items()}  # the first run warms caches
    return {
        "workload": workload.name,
        "matches": found.pop()[0],
        "flat ms": 1000 * of[Engine.FLAT],
        "table": round(of[Engine.TABLE] / of[Engine.FLAT], 2),
        "scan": round(of[Engine.SCAN] / of[Engine.FLAT], 2) if Engine.SCAN in of else "-",
    }


def main() -> None:
    asked = arguments(__doc__ or "", block=32_768, events=60_000, only="*")
    named = [WORKLOADS[name] for name in picked(asked.only, WORKLOADS)]
    rows = [measured(one, asked.runs, asked.events, asked.block) for one in named]
    title = f"engines, {asked.events:,} events in blocks of {asked.block:,}, {asked.runs} runs"
    report(title, [row for row in rows if row is not None], asked.json)


if __name__ == "__main__":
    main()
