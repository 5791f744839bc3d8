"""Which events go: by the model of their query, drawn where there is none, however the stream is cut."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.events.column_operations import slice_columns, take_columns
from saffron.engine.events.columns import Column, Columns
from saffron.engine.models.events.event_trainer import train_events
from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.features.feature_counts import FeatureCounts
from saffron.engine.models.features.feature_keys import FeatureKeys
from saffron.engine.models.features.features import FeatureSpec
from saffron.engine.models.transitions.latency import LatencyFunction
from saffron.engine.models.transitions.model import LatencyModel
from saffron.engine.shed.drops.event_drops import EventDrops
from saffron.engine.shed.drops.shedders import Shedder
from saffron.engine.shed.drops.traits import Traits
from saffron.engine.shed.known import Queries
from saffron.engine.shed.load.detector import Detector
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.shedding import Shedding
from saffron.experiments.virtual_learning import rates_of
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Kind, Schema
from tests.unit.engine.shed.shedders import shedder

SPEC = FeatureSpec(known=(("A",), ("B",), ("X",)), frequency_edges=())
BY_EVENTS = ("gspice-h", "bl", "e-bl", "auto")


def stream(count: int = 4000) -> Columns:
    """Two thirds of the events are of a type that no match needs."""
    seq = np.arange(count, dtype=np.int64)
    codes = np.random.default_rng(1).choice(3, count, p=[1 / 6, 1 / 6, 2 / 3]).astype(np.int32)
    return Columns(seq, seq * 10, seq * 10, Column(Kind.STRING, codes, ("A", "B", "X")), {})


def kinds(columns: Columns) -> NDArray[np.int64]:
    return columns.type.data.astype(np.int64)


def counted(columns: Columns, *, needed: tuple[int, int] = (0, 1)) -> FeatureCounts:
    """Every event of the types `needed` is in some match."""
    found = FeatureKeys(SPEC).apply(columns)
    keys, counts = np.unique(found.keys, return_counts=True)
    of = {kind: int(found.keys[columns.type.data == kind][0]) for kind in (0, 1)}
    row = {
        "query": "q",
        "query_version": 1,
        "spec": SPEC.identity,
        "occurrences": dict(zip(keys.tolist(), counts.tolist(), strict=True)),
        "matches": [[of[kind] for kind in needed]] * 600,
        "features": dict(zip(found.distinct.tolist(), map(tuple, found.vectors.tolist()), strict=True)),
    }
    counts_ = FeatureCounts("q", 1, SPEC.identity)
    for half in (0, 1):
        counts_.add(row, half)
    return counts_


def model(columns: Columns, *, needed: tuple[int, int] = (0, 1)) -> EventModel:
    return train_events(counted(columns, needed=needed), SPEC, (1, 1), {}, trees=False)


@cache
def by(name: str) -> Shedder:
    """A shedder that has learned from the stream."""
    return shedder(name, {"q": rates_of(counted(stream()), SPEC)})


@pytest.mark.parametrize("name", BY_EVENTS)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_what_no_match_needs_goes_first(name: str, share: float) -> None:
    columns = stream()
    drops = EventDrops(3)
    drops.use({"q": model(columns)})
    drops.apply(columns)
    gone = drops.marks(columns, "q", Traits(by(name)), share)
    assert gone.mean() == pytest.approx(share, abs=0.03)
    needed = gone[kinds(columns) < 2].mean()
    assert needed == pytest.approx(max(0.0, (share - 2 / 3) / (1 / 3)), abs=0.06)
    first, second = (gone[kinds(columns) == kind].mean() for kind in (0, 1))
    assert drops.lost("q", by(name), share, 2.0) == pytest.approx(1 - (1 - first) * (1 - second), abs=0.05)
    assert drops.curve("q", by(name), 2.0).at(share) == pytest.approx(drops.lost("q", by(name), share, 2.0), abs=0.05)


def test_each_event_of_a_match_may_be_one_of_a_kind_that_goes_at_random() -> None:
    columns = stream()
    drops = EventDrops(3)
    drops.use({"q": model(columns)})
    drops.apply(columns)
    assert drops.contribution("q", len(columns)) == pytest.approx(len(columns), rel=0.001), (
        "the mean of an event is one"
    )
    gone = drops.marks(columns, "q", Traits(by("bl")), 0.8)
    lost = 1 - np.prod([1 - gone[kinds(columns) == kind].mean() for kind in (0, 1)])
    assert 1 - (1 - drops.parts("q", by("bl"), 0.8, gone, 2.0)) ** 2 == pytest.approx(lost, abs=0.05)


def test_of_what_matches_need_that_goes_which_lies_below_a_threshold() -> None:
    columns = stream()
    drops = EventDrops(3)
    drops.use({"q": model(columns)})
    drops.apply(columns)
    gone = drops.marks(columns, "q", Traits(by("gspice-h")), 0.8)
    first, second = (float(gone[kinds(columns) == kind].mean()) for kind in (0, 1))
    assert drops.parts("q", by("gspice-h"), 0.8, gone, 2.0) == pytest.approx((first + second) / 2, abs=0.02)


@pytest.mark.parametrize(("matches", "beside"), [(0.0, 1.0), (16.0, 0.5), (1e6, 0.0)])
def test_what_auto_drops_by_position_is_told_by_the_promise_the_more_it_was_learned_from(
    matches: float, beside: float
) -> None:
    columns = stream()
    drops = EventDrops(3)
    whole = model(columns)
    drops.use({"q": replace(whole, curves={"espice": whole.curves["gspice-h"]}, matches=matches)})
    drops.apply(columns)
    gone = np.arange(len(columns)) % 4 == 0
    promised = 1 - (1 - drops.lost("q", by("espice"), 0.8, 2.0)) ** 0.5
    assert drops.parts("q", by("espice"), 0.8, gone, 2.0) == pytest.approx(promised)
    assert drops.parts("q", by("auto"), 0.8, gone, 2.0) == pytest.approx(
        promised + beside * (0.25 - promised), abs=0.02
    )


def test_a_block_of_events_that_all_are_needed_loses_what_goes_of_them() -> None:
    columns = stream()
    drops = EventDrops(3)
    drops.use({"q": model(columns)})
    needed = take_columns(columns, np.flatnonzero(kinds(columns) < 2))
    drops.apply(needed)
    assert drops.contribution("q", len(needed)) == pytest.approx(3 * len(needed), rel=0.05)
    gone = drops.marks(needed, "q", Traits(by("gspice-h")), 0.5)
    assert not gone.any()
    assert drops.parts("q", by("gspice-h"), 0.5, gone, 2.0) == 0.0


def test_without_a_model_each_event_is_worth_one() -> None:
    drops = EventDrops(3)
    drops.apply(stream(10))
    assert drops.contribution("q", 10) == 10
    assert drops.parts("q", by("gspice-h"), 0.5, np.arange(10) < 5, 3.0) == pytest.approx(0.5)


@pytest.mark.parametrize("name", [*BY_EVENTS, "espice", "gspice-forest"])
def test_events_are_drawn_where_no_model_says_more(name: str) -> None:
    columns = stream()
    drops = EventDrops(3)
    drops.apply(columns)
    gone = drops.marks(columns, "q", Traits(by(name)), 0.3)
    assert gone.mean() == pytest.approx(0.3, abs=0.03)
    assert abs(gone[kinds(columns) < 2].mean() - 0.3) < 0.05


@pytest.mark.parametrize("name", BY_EVENTS)
def test_what_goes_does_not_depend_on_how_the_stream_is_cut(name: str) -> None:
    columns = stream()
    whole, parts = EventDrops(3), EventDrops(3)
    for drops in (whole, parts):
        drops.use({"q": model(columns)})
    whole.apply(columns)
    found = []
    for begin, end in ((0, 7), (7, 1000), (1000, 4000)):
        part = slice_columns(columns, begin, end)
        parts.apply(part)
        found.append(parts.marks(part, "q", Traits(by(name)), 0.7))
    assert np.array_equal(np.concatenate(found), whole.marks(columns, "q", Traits(by(name)), 0.7))


def test_a_model_that_does_not_fit_the_stream_or_is_withdrawn_is_not_used() -> None:
    columns = stream()
    drops = EventDrops(3)
    drops.use({"q": model(columns)})
    drops.use({})
    drops.apply(columns)
    assert drops.lost("q", by("bl"), 0.5, 3.0) == 1 - 0.5**3
    other = replace(model(columns), spec=replace(SPEC, kinds=("symbol",)))
    drops.use({"q": other})
    drops.apply(columns)
    assert drops.marks(columns, "q", Traits(by("bl")), 0.3).mean() == pytest.approx(0.3, abs=0.03)


def test_watched_keys_are_told_once_and_again_behind_a_checkpoint() -> None:
    columns = stream()
    drops = EventDrops(3)
    assert drops.watched() is None
    drops.watch(SPEC)
    told = []
    for anew in (False, False, True):
        drops.apply(columns, anew=anew)
        watched = drops.watched()
        assert watched is not None
        assert len(watched[0]) == len(columns)
        told.append(len(watched[1]))
    assert told == [3, 0, 3]


@pytest.mark.parametrize(
    ("name", "matches", "share"), [("gspice-h", 1200.0, 2 / 3), ("gspice-h", 99.0, 0.2), ("bl", 1200.0, 0.2)]
)
def test_all_that_no_match_needs_goes_where_enough_matches_were_seen(name: str, matches: float, share: float) -> None:
    """Baselines drop no more than they must."""
    columns = stream()
    drops = EventDrops(3)
    drops.use({"q": replace(model(columns), matches=matches)})
    detector = Detector(model=LatencyModel("events", (0, 0), LatencyFunction("linear", 1e6, 0.0, 0.0), None, 1, {}))
    shedding = Shedding(Overload(1000.0, exempt=0.0), detector, drops)
    shedding.arrivals.arrived(1100, 0.0)
    block = take_columns(columns, np.arange(100))
    drops.apply(block)
    shed = shedding.plan(Block(block, 0, 100, 0), 820.0, 820.0, Queries({"q": Traits(by(name))}, {"q": 0}, {}))
    assert shed.share == pytest.approx(share, abs=0.05), "two thirds of the events are of a type that no match needs"


def sequences() -> EventDrops:
    """Drops of events for a query that can take every A and B, and no X."""
    schema = Schema({}, {"A": (), "B": (), "X": ()}, {}, given=True)
    plan = compile_query("PATTERN SEQ(A a, B b) WITHIN 90 EVENTS", schema)
    assert isinstance(plan, MatchPlan)
    drops = EventDrops(3)
    drops.watch(SPEC)
    drops.taking.serve({"q": plan})
    return drops


def marked(drops: EventDrops, columns: Columns, name: str, share: float) -> NDArray[np.bool_]:
    """Which events go, block by block."""
    gone = []
    for begin in range(0, len(columns), 40):
        block = slice_columns(columns, begin, begin + 40)
        drops.apply(block)
        gone.append(drops.marks(block, "q", Traits(by(name)), share))
    return np.concatenate(gone)


@pytest.mark.parametrize("name", ["auto", "gspice-h", "bl"])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.9])
def test_without_a_model_what_the_query_cannot_take_goes_first(name: str, share: float) -> None:
    """Of every cut of the stream; baselines know of none."""
    columns, drops = stream(), sequences()
    marks = marked(drops, columns, name, share)
    assert marks.mean() == pytest.approx(share, abs=0.04)
    needed = marks[kinds(columns) < 2].mean()
    expected = share if name == "bl" else max(0.0, (share - 2 / 3) / (1 / 3))
    assert needed == pytest.approx(expected, abs=0.06)
    spare = drops.even("q", by(name)).spare
    assert spare == pytest.approx(0.0 if name == "bl" else 2 / 3, abs=0.03)


@pytest.mark.parametrize("name", ["auto", "gspice-h"])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.8])
def test_what_the_query_cannot_take_goes_before_what_a_model_calls_worthless(name: str, share: float) -> None:
    """Nothing that it was learned from needed a B, which is no proof that nothing will."""
    columns, drops = stream(), sequences()
    drops.use({"q": model(columns, needed=(0, 0))})
    marks = marked(drops, columns, name, share)
    gone = [float(marks[kinds(columns) == kind].mean()) for kind in range(3)]
    beyond = max(0.0, share - 2 / 3) / (1 / 6)
    assert gone == pytest.approx([0.0, beyond, min(1.0, share / (2 / 3))], abs=0.08)


def test_no_more_goes_early_than_what_the_query_cannot_take_where_that_is_enough() -> None:
    columns, drops = stream(), sequences()
    drops.use({"q": model(columns, needed=(0, 0))})
    detector = Detector(model=LatencyModel("events", (0, 0), LatencyFunction("linear", 1e6, 0.0, 0.0), None, 1, {}))
    shedding = Shedding(Overload(1000.0, exempt=0.0), detector, drops)
    shedding.arrivals.arrived(1100, 0.0)
    block = take_columns(columns, np.arange(100))
    drops.apply(block)
    shed = shedding.plan(Block(block, 0, 100, 0), 820.0, 820.0, Queries({"q": Traits(by("auto"))}, {"q": 0}, {}))
    assert shed.events.mask is not None
    assert set(kinds(block)[shed.events.mask != 0].tolist()) == {2}
    assert shed.share == pytest.approx(2 / 3, abs=0.1)


def test_of_several_queries_none_loses_what_it_can_take_while_that_is_enough() -> None:
    """One query takes no X, the other no B; the models of both call B and X worthless."""
    columns, drops = stream(), EventDrops(3)
    schema = Schema({}, {"A": (), "B": (), "X": ()}, {}, given=True)
    texts = {"q": "PATTERN SEQ(A a, B b) WITHIN 90 EVENTS", "r": "PATTERN SEQ(A a, X x) WITHIN 90 EVENTS"}
    plans = {name: compile_query(text, schema) for name, text in texts.items()}
    drops.watch(SPEC)
    drops.taking.serve({name: plan for name, plan in plans.items() if isinstance(plan, MatchPlan)})
    drops.use(dict.fromkeys(texts, model(columns, needed=(0, 0))))
    detector = Detector(model=LatencyModel("events", (0, 0), LatencyFunction("linear", 1e6, 0.0, 0.0), None, 1, {}))
    shedding = Shedding(Overload(1000.0, exempt=0.0), detector, drops)
    shedding.arrivals.arrived(1100, 0.0)
    block = take_columns(columns, np.arange(100))
    drops.apply(block)
    queries = Queries(dict.fromkeys(texts, Traits(by("auto"))), {"q": 0, "r": 1}, {})
    shed = shedding.plan(Block(block, 0, 100, 0), 820.0, 820.0, queries)
    assert shed.events.mask is not None
    gone = [set(kinds(block)[shed.events.mask & np.uint64(bit) != 0].tolist()) for bit in (1, 2)]
    assert gone == [{2}, {1}]
