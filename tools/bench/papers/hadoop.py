"""The six Hadoop queries of SASE++ (tables 1 and 5) over a generated log, or with --trace over one's own.

Events are already in columns; matches are found and counted, not written. Query 6 has two options. Queries 5 and 6 are
asked over exact and over imprecise times: what the cluster reports happened within 15 s, with a confidence of at least
0.999. A query that takes more than --limit seconds is stopped. Its row then says how far it came, and "of" how many
matches. --trace FILE has events as `saffron replay` reads them; the queries run whose event types are in it. One core.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import zstandard
from bench.shared.finding import Finding, find, prepare
from bench.shared.hadoop_counts import query_5, query_6
from bench.shared.hadoop_log import schema, segments
from bench.shared.stock import blocks, opening
from bench.shared.table import arguments, picked, report

from saffron.engine.events.decoding.ndjson import decode_ndjson
from saffron.engine.match.match_operator import MatchOperator
from saffron.errors import SaffronError
from saffron.language import compile_query
from saffron.language.cost.complexity import match_complexity
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Schema

QUERIES = {path.stem: path.read_text("utf-8") for path in sorted((Path(__file__).parent / "hadoop_queries").iterdir())}
CONFIDENCE = 0.999
_FINE = 8  # events of a block where each may double the work: the limit is looked at often
COUNTED = {"q5": query_5, "q6_option1": query_6, "q6_option2": query_6}


def cases() -> Iterator[tuple[str, str, bool]]:
    """(name, text, imprecise) of what the table has."""
    for name, text in QUERIES.items():
        yield name, text, False
        if "skip-till-any-match" in text:
            yield f"{name}, imprecise", f"{text}CONFIDENCE >= {CONFIDENCE}", True


def compiled(name: str, text: str, events: Schema) -> MatchPlan:
    plan = compile_query(text, events, name=name.split(",", maxsplit=1)[0])
    assert isinstance(plan, MatchPlan)
    return plan


def measured(plan: MatchPlan, events: int, block: int, limit: float, *, imprecise: bool) -> Finding:
    """A short pass that warms caches, and then all events, which are made as they are needed."""
    known = schema(imprecise=imprecise)
    size = min(block, _FINE) if imprecise else block
    find(prepare(plan, known), segments(10 * size, imprecise=imprecise), block=size, seconds=1.0)
    return find(prepare(plan, known), segments(events, imprecise=imprecise), block=size, seconds=limit)


def right(name: str, events: int) -> int | None:
    """The number of matches of an exponential query, by arithmetic; None where it is not known."""
    count = COUNTED.get(name)
    return None if count is None else sum(count(columns) for columns in segments(events))


def row(name: str, plan: MatchPlan, found: Finding, events: int) -> dict[str, Any]:
    cost, whole = match_complexity(plan), right(name, events)
    if whole is not None and not found.stopped and whole != found.matches:
        raise SystemExit(f"{name}: {found.matches:,} matches, but {whole:,} are right")
    return {
        "query": name,
        "class": f"{cost.name} {cost.bound}",
        "events": found.events,
        "matches": found.matches,
        "seconds": found.seconds,
        "events/s": round(found.events / found.seconds),
        "found": f"stopped: {found.stopped}" if found.stopped else f"as {found.way}",
        "of": "" if whole is None else f"{whole:,}",
    }


def answers(path: Path) -> Iterator[dict[str, Any]]:
    """A row for each query: its number of matches and the return of the last ones, if the file has its event types."""
    known, columns = decode_ndjson(_text(path))
    for name, text in QUERIES.items():
        try:
            compiled(name, text, known)
        except SaffronError as missing:
            yield {"query": name, "matches": "-", "answers": str(missing).splitlines()[0]}
            continue
        operator = MatchOperator(partition=0)
        operator.apply(opening(known, columns, text))
        lines = []
        for part in blocks(columns, 8192):
            results = operator.apply(part)
            lines += results.json(0, len(results))
        last = [orjson.loads(line)["return"] for line in lines[-3:]]
        told = "; ".join(", ".join(f"{item} {value}" for item, value in one.items()) for one in last)
        yield {"query": name, "matches": len(lines), "answers": told}


def _text(path: Path) -> bytes:
    if path.suffix == ".zst":
        return zstandard.ZstdDecompressor().stream_reader(path.open("rb")).read()
    return path.read_bytes()


def main() -> None:
    chosen = arguments(__doc__ or "", block=8192, events=1_000_000, limit=20.0, trace="", only="*")
    if chosen.trace:
        report(f"Hadoop queries on {Path(chosen.trace).name}", list(answers(Path(chosen.trace))), chosen.json)
        return
    of_name = {name: (text, imprecise) for name, text, imprecise in cases()}
    rows = []
    for name in picked(chosen.only, of_name):
        text, imprecise = of_name[name]
        plan = compiled(name, text, schema(imprecise=imprecise))
        found = measured(plan, chosen.events, chosen.block, chosen.limit, imprecise=imprecise)
        rows.append(row(name, plan, found, chosen.events))
    report(f"Hadoop queries, {chosen.events:,} events", rows, chosen.json)


if __name__ == "__main__":
    main()
