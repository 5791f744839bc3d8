"""The cost of observation: the matcher with observation, as in the services, beside one without.

Observed: events carry keys of features, a stopwatch runs, some blocks are watched, and messages are packed twice a
second. All variants take the same blocks in turn, each first as often as the others, so that they meet the same
machine. The least time of the thread over --runs runs counts for each block, as its work is always the same.

- "every block": without watched ones.
- "watched": measured with one watched block in 8, scaled to one in 256 as in the services.
- "messages": of half a second.
- "keys": ns an event that the shedder takes, in a process of its own.

The kernels count transitions of flat plans in any case. One core. Asked: at most 1 %.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from bench.shared.stock import QUERY, blocks, ndjson, opening
from bench.shared.streams import stream
from bench.shared.table import arguments, report
from numpy.typing import NDArray

from saffron.engine.events.block import Block, Control
from saffron.engine.events.column_operations import slice_columns
from saffron.engine.events.columns import Columns
from saffron.engine.events.decoding.ndjson import decode_ndjson
from saffron.engine.match.general.watch import ONE_IN
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.models.features.choosing import SAMPLE, choose_features
from saffron.engine.models.features.feature_keys import FeatureKeys
from saffron.engine.models.features.features import FeatureSpec
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.matcher.observer import MatcherObserver
from saffron.runtime.log.topics import Topics
from saffron.runtime.results.chain_plan import Limits
from saffron.schema.schema import Schema

Ints = NDArray[np.int64]

GENERAL = "PATTERN SEQ(A a, B? b, NOT D, C c) WHERE skip-till-next-match { [key] } WITHIN 1000 ms"
NEXT = "PATTERN SEQ(A a, B b, C c) WHERE skip-till-next-match { [key] } WITHIN 1000 ms"
NEVER, OFTEN = 1 << 62, 8
"""Numbers of blocks of which one is watched."""
WARM = 10
"""Blocks at the beginning that are not counted."""


class Watched:
    """A matcher that observes, with its observer."""

    def __init__(self, begin: Block, spec: FeatureSpec, one_in: int) -> None:
        body = {"spec": spec.identity, "specification": spec.body()}
        self.operator = MatchOperator(partition=0, stopwatch=time.perf_counter_ns, one_in=one_in)
        self.operator.apply(replace(begin, controls=(*begin.controls, Control(0, "features", body))))
        self.observer = MatcherObserver(Topics(""), "events", 0)

    def apply(self, block: Block) -> None:
        began = time.perf_counter_ns()
        self.operator.apply(block)
        self.observer.applied(block, self.operator, time.perf_counter_ns() - began)

    def tell(self) -> tuple[int, int]:
        """Make the messages; returns their ns and bytes."""
        began = time.thread_time_ns()
        size = sum(len(value) for _, _, value in self.observer.messages(self.operator))
        return time.thread_time_ns() - began, size


def keyed(parts: list[Block], spec: FeatureSpec) -> tuple[list[Block], float]:
    """The blocks with the keys of their events, and ns an event that these took."""
    keys, found, spent = FeatureKeys(spec), [], 0
    for part in parts:
        began = time.thread_time_ns()
        own = keys.apply(part.columns)
        news = keys.news()
        spent += time.thread_time_ns() - began
        found.append(replace(part, columns=replace(part.columns, key=own.keys), features=news))
    return found, spent / sum(len(part.columns) for part in parts)


def one_run(begin: Block, plain: list[Block], told: list[Block], spec: FeatureSpec) -> tuple[Ints, tuple[int, int]]:
    """[3, blocks]: ns of the thread, without observation, with no block watched, and with many; ns and bytes of
    messages.
    """
    alone = MatchOperator(partition=0, one_in=NEVER)
    alone.apply(begin)
    never, often = Watched(begin, spec, NEVER), Watched(begin, spec, OFTEN)
    acts: list[Callable[[Block], object]] = [alone.apply, never.apply, often.apply]
    spent = np.zeros((3, len(plain)), np.int64)
    for number, (block, keyed_block) in enumerate(zip(plain, told, strict=True)):
        for turn in range(3):
            which = (number + turn) % 3
            began = time.thread_time_ns()
            acts[which](keyed_block if which else block)
            spent[which, number] = time.thread_time_ns() - began
    return spent[:, WARM:], often.tell()


def row(name: str, schema: Schema, columns: Columns, text: str, runs: int, size: int) -> dict[str, Any]:
    """The figures of a query."""
    plan = compile_query(text, schema, name="q")
    assert isinstance(plan, MatchPlan)
    spec = choose_features([plan], schema, slice_columns(columns, 0, SAMPLE), seed=0)
    plain = blocks(columns, size)
    told, key_ns = keyed(plain, spec)
    begin = opening(schema, columns, text)
    found = [one_run(begin, plain, told, spec) for _ in range(runs + 1)][1:]  # the first one warms caches
    alone, never, often = np.min([spent for spent, _ in found], axis=0).sum(axis=1).tolist()
    ns, told_bytes = min(told for _, told in found)
    every, watched = 100 * (never / alone - 1), 100 * (often - never) / alone * OFTEN / ONE_IN
    messages = 100 * ns / (Limits.observe_ms * 1e6)
    return {
        "query": name,
        "events": len(columns),
        "ns an event": alone / (len(columns) - WARM * size),
        "every block %": every,
        "watched %": watched,
        "messages %": messages,
        "in all %": every + watched + messages,
        "KiB": told_bytes / 1024,
        "keys": key_ns,
    }


def workloads() -> Iterator[tuple[str, Schema, Columns, str]]:
    """Name, schema, events, query."""
    schema, columns = decode_ndjson(ndjson())
    yield "quotes: rising above average", schema, columns, QUERY
    for name, text in (("three in a row by key", NEXT), ("with an option and NOT", GENERAL)):
        schema, columns = stream("keyed")
        yield name, schema, columns, text


def main() -> None:
    chosen = arguments(__doc__ or "", block=8192)
    rows = [row(*workload, chosen.runs, chosen.block) for workload in workloads()]
    report(f"observing, blocks of {chosen.block:,} events, {chosen.runs} runs", rows, chosen.json, width=120)


if __name__ == "__main__":
    main()
