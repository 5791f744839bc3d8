"""Matches written with what they share copied, against matches walked one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from saffron.engine.events.strings import Strings
from saffron.engine.match.core.rows import SEQ
from saffron.engine.match.core.stream import Range
from saffron.engine.match.output.prefixes import written
from saffron.engine.match.output.sequences import bound, sequences
from saffron.engine.match.queries.fastest import started
from saffron.engine.operators.engine_choice import Engine
from saffron.language.plan.pattern import Strategy
from tests.unit.engine.match import cases


@pytest.mark.parametrize("strategy", [Strategy.PARTITION, Strategy.NEXT, Strategy.ANY])
def test_each_match_has_the_events_of_its_chain(strategy: Strategy) -> None:
    rng = random.Random(8)
    matched = 0
    for _ in range(60):
        plan, events = cases.plan(rng, strategy), cases.stream(rng, rng.randrange(5, 25))
        runs = started(plan, cases.choice(Engine.FLAT, plan), cases.SCHEMA, Strings(), compiled=False)
        for low in range(0, len(events), 10):
            columns = cases.columns(events[low : low + 10])
            runs.begin_block(int(columns.seq[0] if plan.window.events else columns.ts[0]))
            runs.advance(Range(columns, 0, len(columns)), None)
            seqs = runs.rows.columns[SEQ].astype(np.int64)
            counts, places = bound(runs, runs.found)
            found = written(runs.found, len(plan.components), runs.rows.mask, runs.nodes, seqs)
            assert [array.tolist() for array in found] == [counts.tolist(), seqs[places].tolist()]
            assert [array.tolist() for array in sequences(runs)] == [array.tolist() for array in found]
            matched += len(counts)
    assert matched > 20
