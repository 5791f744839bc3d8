"""Which features blocks carry keys of: chosen once for the queries in force, told, taken up again, and shared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.events.columns import Column
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.models.events.event_trainer import train_events
from saffron.engine.models.features.choosing import PANE
from saffron.engine.models.features.feature_counts import FeatureCounts
from saffron.engine.models.features.features import FeatureSpec, Pane
from saffron.engine.models.reader import records
from saffron.engine.shed.observing import SAMPLE_EVENTS
from saffron.engine.shed.operator import ShedderOperator
from saffron.schema.schema import Kind, Schema
from tests.unit.engine.shed.blocks import columns, kinds

TEXT = "PATTERN SEQ(A a, B b) WHERE a.x > 3 AND b.x < a.x WITHIN 100 EVENTS"
SCHEMA = Schema({"x": Kind.FLOAT}, {"A": ("x",), "B": ("x",)}, {"A": frozenset(), "B": frozenset()})
STARTED = Control(0, "schema", {"schema": schema_to_record(SCHEMA)})
SIZE = 1024
ENOUGH = 1 + SAMPLE_EVENTS // SIZE
"""Blocks: the first holds the record of the query, and is not of the sample."""


def add(position: int, name: str, shed: str = "auto") -> Control:
    body = {"op": "add", "name": name, "version": 1, "text": TEXT, "slot": 0, "from": "now", "shed": shed}
    return Control(position, "query", body)


def blocks(count: int, first: int = 0, *controls: Control) -> list[Block]:
    rng = np.random.default_rng(first)
    found = []
    for number in range(count):
        begin = (first + number) * SIZE
        made = columns(begin, SIZE)
        kind = Column(Kind.STRING, rng.integers(0, 2, SIZE).astype(np.int32), ("A", "B"))
        value = Column(Kind.FLOAT, rng.random(SIZE) * 9)
        own = controls if number == 0 else ()
        made = replace(made, type=kind, attributes={"x": value})
        found.append(Block(made, begin, begin + SIZE, begin, 0, begin, controls=own))
    return found


def applied(shedder: ShedderOperator, given: list[Block]) -> list[Block]:
    return [shedder.apply(block, now_ms=0) for block in given]


def test_features_are_chosen_where_the_schema_comes_with_more_than_a_sample() -> None:
    """The first events wait for a schema that is inferred from them, and come in one block."""
    shedder, size = ShedderOperator(0, "events", observes=PANE), 2 * SAMPLE_EVENTS
    made = columns(0, size)
    rng = np.random.default_rng(3)
    kind = Column(Kind.STRING, rng.integers(0, 2, size).astype(np.int32), ("A", "B"))
    made = replace(made, type=kind, attributes={"x": Column(Kind.FLOAT, rng.random(size) * 9)})
    given = [
        Block(columns(0, 0), 0, 0, 0, 0, 0, controls=(add(0, "q"),)),
        Block(made, 0, size, size, 0, 1, controls=(STARTED,)),
        *blocks(ENOUGH, size // SIZE),
    ]
    assert announced(applied(shedder, given))


def announced(given: list[Block]) -> list[tuple[int, str]]:
    return [
        (one.first_seq, control.body["spec"]) for one in given for control in one.controls if control.kind == "features"
    ]


def specification(given: list[Block]) -> FeatureSpec:
    """What is announced, once."""
    (control,) = (control for one in given for control in one.controls if control.kind == "features")
    return FeatureSpec.of(control.body["specification"])


def test_features_are_chosen_from_the_first_events_under_a_query_and_told_where_keys_begin() -> None:
    shedder = ShedderOperator(0, "events", observes=PANE)
    out = applied(shedder, blocks(ENOUGH + 2, 0, STARTED, add(0, "q")))
    assert [one.columns.key is not None for one in out] == [False] * (ENOUGH - 1) + [True] * 3
    ((position, identity),) = announced(out)
    assert position == out[ENOUGH - 1].first_seq
    spec = specification(out)
    assert spec.identity == identity
    assert [one.name for one in spec.attributes] == ["x"]
    assert out[ENOUGH - 1].features


@pytest.mark.parametrize("shed", ["none", "pspice"])
def test_nothing_is_observed_of_queries_that_lose_no_events(shed: str) -> None:
    shedder = ShedderOperator(0, "events", observes=PANE)
    assert not announced(applied(shedder, blocks(ENOUGH + 1, 0, STARTED, add(0, "q", shed))))


def test_without_being_asked_nothing_is_observed() -> None:
    out = applied(ShedderOperator(0, "events"), blocks(ENOUGH + 1, 0, STARTED, add(0, "q")))
    assert not announced(out)
    assert all(one.columns.key is None for one in out)


def test_a_successor_goes_on_with_what_was_told_and_another_query_brings_a_choice_anew() -> None:
    shedder = ShedderOperator(0, "events", observes=PANE)
    out = applied(shedder, blocks(ENOUGH, 0, STARTED, add(0, "q")))
    heir = ShedderOperator(0, "events", observes=PANE)
    for one in out:
        heir.resume(one)
    more = applied(heir, blocks(ENOUGH, ENOUGH))
    assert not announced(more)
    assert all(one.columns.key is not None for one in more)
    begin = 2 * ENOUGH
    last = applied(heir, blocks(ENOUGH, begin, add(begin * SIZE, "r"), checkpoint(begin * SIZE + 1)))
    ((_, identity),) = announced(out)
    (kept,) = (control.body["features"] for one in last for control in one.controls if control.kind == "checkpoint")
    assert kept["spec"] == identity
    assert len(announced(last)) <= 1, "the sample of other events may bring other quantiles"
    third = ShedderOperator(0, "events", observes=PANE)
    third.resume(last[0])  # the checkpoint, before a sample under both queries was there
    assert third._observing._chosen_for == {"q": 1}
    applied(third, blocks(ENOUGH, begin + 1))
    assert third._observing._chosen_for == {"q": 1, "r": 1}


def test_the_features_of_a_model_in_force_are_preferred() -> None:
    spec = FeatureSpec(known=(("A",),), seed=5)
    counts = FeatureCounts("q", 1, spec.identity)
    counts.add({"query": "q", "query_version": 1, "occurrences": {5: 9}, "matches": [[5, 5]], "features": {5: [0, 0]}})
    shedder = ShedderOperator(0, "events", observes=PANE)
    model = train_events(counts, spec, (1, 1), {}, trees=False)
    out = applied(shedder, blocks(ENOUGH, 0, STARTED, add(0, "q")))
    for offset, (key, value) in enumerate(records(model)):
        assert shedder.offer(key, value, offset) is None
    more = applied(shedder, blocks(2, ENOUGH))
    assert [identity for _, identity in announced(more)] == [spec.identity]
    assert announced(out)[0][1] != spec.identity
    assert kinds(more[1]) == []


@pytest.mark.parametrize(("text", "brought_together"), [(TEXT, True), (TEXT.replace("3", "4"), False)])
def test_features_of_a_model_do_for_a_query_that_has_none_and_asks_no_more(text: str, brought_together: bool) -> None:
    """Too few matches of it come for a model of its own."""
    other = Control(0, "query", {**add(0, "r").body, "text": text, "slot": 1})
    one, two = (ShedderOperator(0, "events", observes=PANE) for _ in range(2))
    chosen = specification(applied(one, blocks(ENOUGH, 0, STARTED, add(0, "q"))))
    other_chosen = specification(applied(two, blocks(ENOUGH, 7, STARTED, add(0, "q"), other)))
    assert chosen.identity != other_chosen.identity, "samples differ"
    model = train_events(FeatureCounts("q", 1, chosen.identity), chosen, (1, 1), {}, trees=False)
    for offset, (key, value) in enumerate(records(model)):
        assert two.offer(key, value, offset) is None
    told = [identity for _, identity in announced(applied(two, blocks(2, 7 + ENOUGH)))]
    assert told == ([chosen.identity] if brought_together else [])


def test_another_pane_is_taken_at_the_next_start_and_not_from_a_record_or_model_before_it() -> None:
    before, heir = (ShedderOperator(0, "events", observes=pane) for pane in (PANE, Pane(50)))
    out = applied(before, blocks(ENOUGH, 0, STARTED, add(0, "q")))
    known = specification(out)
    model = train_events(FeatureCounts("q", 1, known.identity), known, (1, 1), {}, trees=False)
    for one in out:
        heir.resume(one)
    for offset, (key, value) in enumerate(records(model)):
        assert heir.offer(key, value, offset) is None
    more = applied(heir, blocks(ENOUGH, ENOUGH))
    assert (known.pane, specification(more).pane) == (PANE, Pane(50))


def checkpoint(position: int) -> Control:
    queries = [{**dict(add(0, name).body), "op": "add"} for name in ("q", "r")]
    body = {"schema": schema_to_record(SCHEMA), "queries": queries, "models": {}, "windows": {}}
    return Control(position, "checkpoint", body)


def test_features_are_chosen_though_the_schema_grew_within_the_sample() -> None:
    """An attribute that the query compares comes with a later part of the sample."""
    text = "PATTERN SEQ(A a, B b) WHERE skip-till-any-match { b.level = 'high' AND b.y > a.x } WITHIN 20 EVENTS"
    start = schema_to_record(Schema({"x": Kind.FLOAT}, {"A": ("x",), "B": ("x",)}, {}))
    kinds = {"x": Kind.FLOAT, "level": Kind.STRING, "y": Kind.FLOAT}
    grown = schema_to_record(Schema(kinds, dict.fromkeys("AB", tuple(kinds)), {}))
    query = {"op": "add", "name": "q", "version": 1, "text": text, "slot": 0, "from": "now", "shed": "auto"}
    given = blocks(ENOUGH, 0, Control(0, "schema", {"schema": start}), Control(0, "query", query))
    more = blocks(ENOUGH, ENOUGH, Control(ENOUGH * SIZE, "schema", {"schema": grown}))
    level = Column(Kind.STRING, np.arange(SIZE, dtype=np.int32) % 2, ("high", "low"))
    wide = [
        replace(
            block,
            columns=replace(
                block.columns,
                attributes={**block.columns.attributes, "level": level, "y": block.columns.attributes["x"]},
            ),
        )
        for block in more
    ]
    half = SAMPLE_EVENTS // SIZE // 2
    assert announced(applied(ShedderOperator(0, "events", observes=PANE), [*given[: half + 1], *wide]))
