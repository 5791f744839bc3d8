"""Features are what queries ask of an event, no finer than a sample can teach (G1)."""

from __future__ import annotations

import random
from typing import Any

import pytest

from saffron.engine.models.features.choosing import EVENTS_PER_KEY, choose_features
from saffron.engine.models.features.event_conditions import Comparison, Computed
from saffron.engine.models.features.feature_keys import FeatureKeys
from saffron.engine.models.features.features import Binned, FeatureSpec, Pane
from saffron.language import compile_query
from saffron.schema.schema import Kind, Schema
from tests.unit.engine.models.event_streams import as_columns, random_events

KINDS = {"symbol": Kind.STRING, "id": Kind.INT, "price": Kind.FLOAT, "prev": Kind.FLOAT, "up": Kind.BOOL}
SCHEMA = Schema(KINDS, dict.fromkeys("ABCD", tuple(KINDS)), {}, given=True)


def chosen(*texts: str, events: int = 3000, **options: Any) -> FeatureSpec:
    sample = as_columns(random_events(random.Random(1), events))
    return choose_features([compile_query(text, SCHEMA) for text in texts], SCHEMA, sample, **options)


def query(pattern: str, where: str) -> str:
    return f"PATTERN {pattern} WHERE skip-till-next-match {{ {where} }} WITHIN 100 EVENTS"


def test_types_and_named_strings_are_the_kind_and_a_rising_quote_is_a_condition() -> None:
    found = chosen(query("SEQ(A a, A b)", "a.symbol = 'IBM' AND b.symbol = 'KO' AND a.price > a.prev"))
    assert found.kinds == ("type", "symbol")
    assert set(found.known) == {(kind, symbol) for kind in ("A", None) for symbol in ("IBM", "KO", None)}
    assert found.conditions == (Comparison("price", ">", "prev"),)
    assert found.attributes == ()


def test_constants_are_edges_on_the_side_where_the_condition_changes() -> None:
    found = chosen(query("SEQ(A a, B b)", "a.price >= 2.5 AND 5 > b.price AND b.prev <= -1 AND a.up = true"))
    prices = next(one for one in found.attributes if one.name == "price")
    prevs = next(one for one in found.attributes if one.name == "prev")
    assert prices.edges == (2.5, 5.0)
    assert len(prevs.edges) == 1
    assert prevs.edges[0] > -1 > prevs.edges[0] - 1e-9
    assert Binned("up", (1.0,)) in found.attributes


def test_what_one_event_decides_is_a_condition_whoever_asks_and_however_it_is_turned() -> None:
    found = chosen(
        query("SEQ(A a, B b)", "a.price > 1.001 * a.prev AND 1.001 * b.prev < b.price AND b.id % 2 = 0"),
        query("SEQ(C c, A a)", "abs(c.price - c.prev) < 3 AND c.price > 1.001 * c.prev AND -a.prev < a.id"),
    )
    assert set(found.conditions) == {
        Comparison("price", ">", Computed("*", (1.001, "prev"))),
        Comparison(Computed("%", ("id", 2.0)), "=", 0.0),
        Comparison(Computed("abs", (Computed("-", ("price", "prev")),)), "<", 3.0),
        Comparison(Computed("-", ("prev",)), "<", "id"),
    }
    assert found.attributes == ()
    assert FeatureSpec.of(found.body()) == found


def test_of_more_conditions_than_there_is_room_for_the_attributes_are_binned() -> None:
    many = " AND ".join(f"a.price > {n}.5 * a.prev" for n in range(20))
    found = chosen(query("SEQ(A a, B b)", many), events=20_000)
    assert len(found.conditions) == 16
    assert {one.name for one in found.attributes} == {"price", "prev"}


def test_an_integer_compared_for_equality_is_a_kind_and_a_float_a_bin_of_its_own() -> None:
    found = chosen(query("SEQ(A a, B b)", "a.id = 2 AND b.id IN (3) AND b.price = 2.5"))
    assert found.kinds == ("type", "id")
    assert ("A", 2) in found.known
    assert [len(one.edges) for one in found.attributes] == [2]


def test_numbers_compared_across_events_have_quantiles_of_the_sample() -> None:
    found = chosen(query("SEQ(A a, B b)", "b.price > 0.5 * a.price"), events=20_000)
    assert [one.name for one in found.attributes] == ["price"]
    assert 1 <= len(found.attributes[0].edges) <= 7


def test_what_all_events_of_a_match_agree_on_tells_nothing() -> None:
    found = chosen(query("SEQ(A a, B b)", "[symbol] AND a.symbol = 'IBM'"))
    assert found.kinds == ("type",)
    assert set(found.known) == {("A",), ("B",), (None,)}


def test_negation_and_aggregate_queries_are_asked_too() -> None:
    trend = "PATTERN D d+ WHERE d.price > 1 AND d.id > NEXT(d).id WITHIN 1 minute RETURN COUNT(*)"
    found = chosen(query("SEQ(A a, NOT(C c), B b)", "c.prev < 2 OR NOT c.up = false"), trend)
    assert {name for (name,) in found.known} >= {"A", "B", "C", "D"}
    assert {one.name for one in found.attributes} == {"prev", "up", "price", "id"}


@pytest.mark.parametrize("events", [0, 5, 300, 3000, 20_000])
def test_keys_are_as_fine_as_the_sample_can_teach(events: int) -> None:
    text = query("SEQ(A a, B b, C c)", "b.price > 0.5 * a.price AND c.symbol = 'KO' AND c.prev != b.prev")
    found = chosen(text, events=events, pane=Pane(20), seed=5)
    assert (found.pane, found.seed) == (Pane(20), 5)
    sample = as_columns(random_events(random.Random(1), events))
    distinct = len(FeatureKeys(found).apply(sample).distinct)
    assert distinct * EVENTS_PER_KEY <= events or found.frequency_edges == ()
    if not events:
        assert found.attributes == ()
