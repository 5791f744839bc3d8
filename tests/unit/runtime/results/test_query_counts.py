"""Numbers of results by query, as they are committed within a block."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.operators.containment import Note
from saffron.engine.operators.operator import History
from saffron.runtime.hops.input_state import InputState
from saffron.runtime.log import Committed
from saffron.runtime.results.chain_plan import Place
from saffron.runtime.results.query_counts import counts_of, counts_text, name_digest, results_of_others
from tests.unit.runtime.fakes import FakeOperator, FakeResults
from tests.unit.runtime.results.chain_bench import Bench

NAMES = tuple(f"a_query_with_a_long_name_{number:04}" for number in range(500))


def test_counts_are_read_as_they_were_written() -> None:
    draw = random.Random(1)
    for size in (0, 1, 2, 200):
        counts = {draw.randrange(1 << 24): 1 << draw.randrange(40) for _ in range(size)}
        assert counts_of(counts_text(counts)) == counts


def test_counts_of_version_0_1_0_were_by_name() -> None:
    kept = Place.from_committed(Committed(7, '{"index":5,"said":6,"counts":{"a":3,"b":2}}'))
    assert kept is not None
    assert kept.place.counts == {name_digest("a"): 3, name_digest("b"): 2}
    assert results_of_others(kept.place.counts, ("b", "c")) == 3


def test_a_place_fits_whatever_the_names_of_hundreds_of_queries() -> None:
    place = Place(10**9, 10**6, 10**9, counts_of(dict.fromkeys(NAMES, 3_000)), claim=10**9)
    assert place.fits(InputState("cl7NsppJRkugI8XbJFfQQQ"))


class ManyResults(FakeResults):
    """Results of many queries, whose writing takes a millisecond each of a bench's time."""

    names = NAMES
    bench: Bench

    @property
    def query(self) -> NDArray[np.int32]:
        return (np.arange(len(self.rows)) % len(NAMES)).astype(np.int32)

    def json(self, start: int, stop: int) -> list[bytes]:
        self.bench.now += stop - start
        return super().json(start, stop)


class Many(FakeOperator):
    """Its results are those of many queries."""

    def __init__(self, note: Note) -> None:
        del note
        super().__init__()

    def apply(self, block: Block, history: History | None = None) -> FakeResults:
        return ManyResults(super().apply(block, history).rows)


def test_a_block_of_many_queries_may_take_longer_than_a_transaction(bench: Bench) -> None:
    """It goes into many, with the place reached within it."""
    bench.broker.transaction_timeout, ManyResults.bench = 1_000, bench
    bench.block(3_000)
    chain, _ = bench.chain(operator=Many)
    for _ in range(2_000):
        bench.now += 1
        chain.take(bench.polled())
        chain.step(bench.now)
    assert bench.results() == bench.expected()
    assert bench.broker.epochs["matcher.0"].number == 1
