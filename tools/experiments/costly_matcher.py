"""A matcher as slow as stated: `python -m experiments.costly_matcher [--data DIR] NAME=NS ...` beside a running system.

Our engine is too fast for the experiments' data to overload it, so that a check has a stated cost, as on the virtual
clock: a block takes at least as long as its checks. All else is the service `matcher`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.operators.containment import Note
from saffron.engine.operators.operator import History
from saffron.engine.operators.results import OrderedResults
from saffron.experiments.virtual_cost import StatedCost
from saffron.experiments.virtual_server import work_of
from saffron.matcher.main import MATCHER
from saffron.records.stream import StreamRecord
from saffron.runtime.local.state import connect
from saffron.runtime.process.config import load
from saffron.runtime.results.result_service import ResultService, ServiceKind
from saffron.runtime.service import run
from saffron.runtime.streams.generations import compiler_of


class CostlyMatcher(MatchOperator):
    """A matcher with stated costs. `each`: ns a check, by query."""

    def __init__(self, each: Mapping[str, float], **settings: Any) -> None:
        super().__init__(**settings)
        self._cost = StatedCost(each)
        self._slots: dict[str, int] = {}

    def apply(self, block: Block, history: History | None = None) -> OrderedResults:
        begun = perf_counter_ns()
        bodies = (control.body for control in block.controls if control.kind == "query")
        self._slots |= {str(body["name"]): int(body["slot"]) for body in bodies if body["op"] == "add"}
        before = self._alive()
        results = super().apply(block, history)
        work = work_of(block, self._slots, before, self._alive(), {})
        due = begun + sum(self._cost.of(work).values()) + work.shedding_ns
        while perf_counter_ns() < due:  # works, and does not sleep: the machine is to be as busy as stated
            pass
        return results

    def _alive(self) -> dict[str, int]:
        counts: Mapping[str, int] = self.statistics()["partial_matches"]
        return {**dict.fromkeys(self._slots, 0), **counts}


def kind(each: Mapping[str, float]) -> ServiceKind:
    """The service `matcher` with this operator."""

    def made(partition: int, stream: StreamRecord, note: Note) -> CostlyMatcher:
        return CostlyMatcher(
            each,
            partition=partition,
            stream=stream.name,
            compiler=compiler_of(stream),
            note=note,
            stopwatch=perf_counter_ns,
        )

    return replace(MATCHER, make=made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, help="data directory of the running system, unless SAFFRON_BOOTSTRAP is set"
    )
    parser.add_argument("costs", nargs="+", metavar="NAME=NS", help="of each query: ns a check")
    chosen = parser.parse_args()
    each = {name: float(cost) for name, _, cost in (text.partition("=") for text in chosen.costs)}
    settings = connect(load({} if chosen.data is None else {"data": chosen.data}))
    raise SystemExit(run("matcher", settings, lambda *parts: ResultService(kind(each), *parts)))


if __name__ == "__main__":
    main()
