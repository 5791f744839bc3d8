"""Events that a query cannot take go first: as many as were asked for, and the others evenly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.events.block import Block
from saffron.engine.events.columns import Column, Columns
from saffron.engine.models.features.features import FeatureSpec
from saffron.engine.shed.belief.beliefs import Believed
from saffron.engine.shed.drops.chance import chance
from saffron.engine.shed.drops.event_drops import EventDrops
from saffron.engine.shed.drops.taking import unfit_first
from saffron.engine.shed.drops.traits import Traits
from saffron.engine.shed.event_masks import mask_events
from saffron.engine.shed.known import Queries, known_of
from saffron.engine.shed.load.detector import Detector
from saffron.engine.shed.load.settings import Overload
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Kind, Schema
from tests.reference.shedding import unfit_before_marked
from tests.unit.engine.shed.shedders import shedder

SPEC = FeatureSpec(known=(("A",), ("X",)), frequency_edges=())
EVENTS, BLOCK = 20_000, 400


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.floats(0, 1, exclude_max=True)), max_size=30))
def test_what_does_not_fit_goes_instead_of_what_is_marked(events: list[tuple[bool, bool, float]]) -> None:
    marks, fits = (np.array([one[place] for one in events], np.bool_) for place in (0, 1))
    drawn = np.array([one[2] for one in events], np.float64)
    found = unfit_first(marks, fits, drawn)
    assert set(np.flatnonzero(found).tolist()) == unfit_before_marked(events)
    assert found.sum() == max(marks.sum(), (~fits).sum())


@pytest.mark.parametrize("marks_fitting", [False, True])
@pytest.mark.parametrize(
    ("unfit", "share", "belief"), [(0.3, 0.8, 0.5), (0.2, 0.9, 0.8), (0.1, 0.6, 0.9), (0.3, 0.2, 0.5), (0.0, 0.5, 0.5)]
)
def test_as_many_go_as_were_asked_for_however_far_a_model_is_believed(
    unfit: float, share: float, belief: float, marks_fitting: bool
) -> None:
    """`marks_fitting`: the model calls worthless what the query can take, which the draw for the rest must not know."""
    schema = Schema({}, {"A": (), "X": ()}, {}, given=True)
    plan = compile_query("PATTERN SEQ(A a, A b) WITHIN 90 EVENTS", schema)
    assert isinstance(plan, MatchPlan)
    drops = EventDrops(3)
    drops.watch(SPEC)
    drops.taking.serve({"q": plan})
    draw, learned, gone = np.random.default_rng(1), belief * share, 0
    for begin in range(0, EVENTS, BLOCK):
        seq = np.arange(begin, begin + BLOCK)
        kinds = (draw.random(BLOCK) < unfit).astype(np.int32)
        block = Columns(seq, seq, seq, Column(Kind.STRING, kinds, ("A", "X")), {})
        drops.apply(block)
        marks = draw.random(BLOCK) < learned
        if marks_fitting:
            marks = (kinds == 0) & (draw.random(BLOCK) < learned / (1 - unfit))
        gone += int(drops.taking.evenly(block, "q", share, marks, learned, chance(3, seq)).sum())
    assert gone / EVENTS == pytest.approx(share, abs=0.015)


@pytest.mark.parametrize(("share", "fitting"), [(0.3, 0.0), (0.5, 0.0), (0.75, 0.5), (1.0, 1.0)])
def test_chance_would_drop_so_many_of_the_events_that_fit(share: float, fitting: float) -> None:
    """Half of the events do not fit, and lose nothing however many of them go."""
    plan = compile_query("PATTERN SEQ(A a, A b) WITHIN 90 EVENTS", Schema({}, {"A": (), "X": ()}, {}, given=True))
    assert isinstance(plan, MatchPlan)
    drops, seq = EventDrops(3), np.arange(EVENTS)
    drops.watch(SPEC)
    drops.taking.serve({"q": plan})
    columns = Columns(seq, seq, seq, Column(Kind.STRING, (seq % 2).astype(np.int32), ("A", "X")), {})
    drops.apply(columns)
    queries = Queries({"q": Traits(shedder("auto"))}, {"q": 0}, {})
    known = known_of(Overload(1000.0, exempt=0.0), Detector(), drops, queries, {"q": Believed()})
    masked = mask_events(known, Block(columns, 0, EVENTS, 0), {"q": share}, 0.0)
    assert masked.masked["q"] == pytest.approx(share, abs=0.015)
    assert masked.fitting["q"] == pytest.approx(fitting, abs=0.015)
    assert (masked.gone["q"] > 0) is (fitting > 0)


@pytest.mark.parametrize(("strategy", "share"), [("strict-contiguity", 0.1), ("skip-till-next-match", 0.6)])
def test_other_types_go_by_the_share_where_no_event_may_be_skipped_and_first_where_one_may(
    strategy: str, share: float
) -> None:
    """Features are not known: types are."""
    schema = Schema({"x": Kind.INT}, {"A": ("x",), "B": ("x",), "X": ("x",)}, {}, given=True)
    plan = compile_query(f"PATTERN SEQ(A a, B b) WHERE {strategy} {{ a.x < b.x }} WITHIN 90 EVENTS", schema)
    assert isinstance(plan, MatchPlan)
    drops = EventDrops(3)
    drops.taking.serve({"q": plan})
    draw, gone, others = np.random.default_rng(1), 0, 0
    for begin in range(0, EVENTS, BLOCK):
        seq = np.arange(begin, begin + BLOCK)
        kinds = draw.choice(3, BLOCK, p=(0.25, 0.25, 0.5)).astype(np.int32)
        block = Columns(seq, seq, seq, Column(Kind.STRING, kinds, ("A", "B", "X")), {"x": Column(Kind.INT, seq)})
        drops.taking.saw(block, {})
        found = drops.taking.evenly(block, "q", share, np.zeros(BLOCK, np.bool_), 0.0, draw.random(BLOCK))
        gone, others = gone + int(found.sum()), others + int(found[kinds == 2].sum())
    assert gone / EVENTS == pytest.approx(share, abs=0.02)
    assert others / (EVENTS / 2) == pytest.approx(share if strategy == "strict-contiguity" else 1.0, abs=0.02)
