"""One match query over events in columns, its matches counted: by runs, as graphs, or over imprecise time."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from bench.shared.set_hash import set_hash
from bench.shared.stock import blocks
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.events.columns import Columns
from saffron.engine.events.strings import Strings
from saffron.engine.match.core.rows import SEQ
from saffron.engine.match.core.stream import Range
from saffron.engine.match.output.reporting import Listing
from saffron.engine.match.output.sequences import bound, sequences
from saffron.engine.match.planning.imprecise import is_uncertain
from saffron.engine.match.queries.fastest import fastest
from saffron.engine.match.queries.kinds import start
from saffron.engine.match.runs.graph import Linking
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.runs.runs import Runs
from saffron.engine.match.uncertain.runs import UncertainRuns
from saffron.language.cost.shedders import NONE
from saffron.language.plan.clauses import Output
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Schema

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Finding:
    """`matches` and `seconds` of the first `events` events; `way`: how they were found; `bytes`: of state, at most.

    `stopped`: why it went no further, "" where it saw all events.
    """

    way: str
    events: int
    matches: int
    seconds: float
    live: int
    bytes: int
    stopped: str


def prepare(plan: MatchPlan, schema: Schema, *, merges: bool = True) -> Runs:
    """The compiled runs of a plan: as graphs where it can run so (no match is listed then, all are counted).

    `merges`: equivalent runs go on as one (N7).
    """
    if is_uncertain(plan, schema) or plan.output is Output.NON_OVERLAP:
        return start(plan, schema, Strings(), slot=0, compiled=True, shed=NONE, merges=merges)
    return fastest(plan, schema, Strings(), merges=merges)


def find(runs: Runs, stream: Iterable[Columns], *, block: int, seconds: float, room: int = 4 << 30) -> Finding:
    """Take all events, until `seconds` have passed or the state has more than `room` bytes (asked between blocks)."""
    took, seen, matches, live, size = 0.0, 0, 0, 0, 0
    for columns in stream:
        for part in blocks(columns, block):
            begun = time.perf_counter()
            runs.begin_block(int(part.columns.ts[0]))
            runs.advance(Range(part.columns, 0, len(part.columns)), None)
            matches += _count(runs)
            took += time.perf_counter() - begun
            seen += len(part.columns)
            live, size = max(live, runs.live), max(size, runs.size)
            if took > seconds or size > room:
                stopped = f"{live:,} runs, {size >> 20:,} MB"
                return Finding(_way(runs), seen, matches, took, live, size, stopped)
    return Finding(_way(runs), seen, matches, took, live, size, "")


def _count(runs: Runs) -> int:
    """Matches of the block at hand; those of graphs are counted, not listed."""
    if isinstance(runs, QueryRuns) and isinstance(runs.source, Linking):
        return sum(runs.source.graphs().counts())
    assert isinstance(runs, QueryRuns | UncertainRuns)
    return int(runs.found.shape[1])


def _way(runs: Runs) -> str:
    if not isinstance(runs, QueryRuns):
        return "imprecise time"
    return "graphs" if isinstance(runs.source, Linking) else "runs"


def listed(runs: Runs, parts: Iterable[Block], seconds: float) -> tuple[Finding, int]:
    """Take all blocks, every match as sequence numbers; with the hash of their set (`set_hash`)."""
    assert isinstance(runs, QueryRuns)
    took, seen, matches, total, stopped = 0.0, 0, 0, 0, ""
    for part in parts:
        begun = time.perf_counter()
        runs.begin_block(int(part.columns.ts[0]))
        runs.advance(Range(part.columns, 0, len(part.columns)), None)
        counts, seqs = sequences(runs) if runs.plan.output is Output.ALL else _selected(runs, part)
        matches += len(counts)
        total += int(set_hash(counts, seqs))
        took += time.perf_counter() - begun
        seen += len(part.columns)
        if took > seconds:
            stopped = f"after {seconds:g} s"
            break
    return Finding(_way(runs), seen, matches, took, runs.live, runs.size, stopped), total & (1 << 64) - 1


def _selected(runs: QueryRuns, part: Block) -> tuple[Ints, Ints]:
    """The events of the matches that the query's OUTPUT leaves; see `sequences`."""
    runs.end_block(part.watermark, part.next_seq, end=part.end)
    assert isinstance(runs.reporter, Listing)
    counts, places = bound(runs, runs.reporter.settled().found)
    return counts, runs.rows.columns[SEQ][places].astype(np.int64)


def lengths(runs: Runs, parts: Iterable[Block]) -> int:
    """The number of events of all matches together: the size of the output."""
    assert isinstance(runs, QueryRuns)
    total = 0
    for part in parts:
        runs.begin_block(int(part.columns.ts[0]))
        runs.advance(Range(part.columns, 0, len(part.columns)), None)
        total += len(sequences(runs)[1])
    return total
