"""An event that does not fit a query is one that no component of it can take; without such events it finds the same."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import saffron
from saffron.engine.models.features.choosing import choose_features
from saffron.engine.models.features.feature_keys import FeatureKeys
from saffron.engine.models.features.features import FeatureSpec
from saffron.engine.shed.drops.fitting import can_skip, unfit
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Kind, Schema
from tests.unit.engine.models.event_streams import as_columns, random_events, random_spec

Event = dict[str, Any]
KINDS = {"symbol": Kind.STRING, "id": Kind.INT, "price": Kind.FLOAT, "prev": Kind.FLOAT, "up": Kind.BOOL}
SCHEMA = Schema(KINDS, dict.fromkeys("ABCD", tuple(KINDS)), {}, given=True)
EXACT: list[tuple[str, str, Callable[[Event], bool]]] = [
    ("SEQ(A a, B b)", "a.price > 2.5", lambda e: e["type"] == "B" or (e["type"] == "A" and over(e["price"], 2.5))),
    ("SEQ(A a, A b)", "a.symbol IN ('IBM', 'KO') AND b.id != 2 AND b.id <= 2",
     lambda e: e["type"] == "A" and (e["symbol"] in ("IBM", "KO") or e["id"] == 1)),
    ("SEQ(A a, NOT C c, B b)", "c.price > c.prev AND b.up = true AND NOT a.price >= 2.5",
     lambda e: (e["type"] == "C" and e["prev"] is not None and over(e["price"], e["prev"]))
     or (e["type"] == "B" and e["up"] is True)
     or (e["type"] == "A" and not (e["price"] is not None and e["price"] >= 2.5))),
    ("SEQ(A+ a[], B b) OR SEQ(C c, D d)",
     "a[i].price > 1 AND (b.id = 1 OR b.id = 3) AND d.price < c.price AND 0 < c.price",
     lambda e: e["type"] == "D" or (e["type"] == "B" and e["id"] in (1, 3))
     or (e["type"] == "A" and over(e["price"], 1)) or (e["type"] == "C" and over(e["price"], 0))),
    ("SEQ(A a, B b, C c)",
     "NOT a.id = true AND NOT a.symbol != 5 AND NOT b.up = 1 AND NOT c.id != 'IBM' AND c.up = true AND b.id = 2",
     lambda e: e["type"] == "A" or (e["type"] == "B" and e["id"] == 2) or (e["type"] == "C" and e["up"] is True)),
    ("ANY(2, A a, B b, C c)", "a.price = b.price AND c.symbol = 'XOM'",
     lambda e: e["type"] in ("A", "B") or (e["type"] == "C" and e["symbol"] == "XOM")),
]  # fmt: skip
"""Pattern, conditions, and which events fit."""


def over(one: float | None, other: float) -> bool:
    return one is not None and one > other


def planned(pattern: str, where: str, strategy: str = "skip-till-next-match") -> MatchPlan:
    plan = compile_query(f"PATTERN {pattern} WHERE {strategy} {{ {where} }} WITHIN 40 ms", SCHEMA)
    assert isinstance(plan, MatchPlan)
    return plan


def marked(plan: MatchPlan, events: list[Event], spec: FeatureSpec | None = None) -> list[bool]:
    columns = as_columns(events)
    known = choose_features([plan], SCHEMA, columns) if spec is None else spec
    rows = FeatureKeys(known).apply(columns).rows()
    return [bool(one) for one in unfit(plan, known, rows)]


@pytest.mark.parametrize(("pattern", "where", "fits"), EXACT)
def test_what_no_component_can_take_does_not_fit(pattern: str, where: str, fits: Callable[[Event], bool]) -> None:
    events = random_events(random.Random(pattern), 2000)
    found = marked(planned(pattern, where), events)
    assert found == [not fits(event) for event in events]
    assert 0 < sum(found) < len(found)


@pytest.mark.parametrize("seed", range(30))
def test_features_that_were_chosen_for_others_call_nothing_unfit_that_fits(seed: int) -> None:
    rng = random.Random(seed)
    events, spec = random_events(rng, 300), random_spec(rng)
    for pattern, where, fits in EXACT:
        found = marked(planned(pattern, where), events, spec)
        assert not [event for event, gone in zip(events, found, strict=True) if gone and fits(event)]


@pytest.mark.parametrize(("pattern", "where", "fits"), EXACT)
def test_without_what_does_not_fit_the_same_is_found(pattern: str, where: str, fits: Callable[[Event], bool]) -> None:
    made = [
        {name: None if value in (np.inf, -np.inf) else value for name, value in event.items()}
        for event in random_events(random.Random(where), 400)
    ]
    events = [{name: value for name, value in event.items() if value is not None} for event in made]
    gone = marked(planned(pattern, where), made)
    text = f"QUERY q PATTERN {pattern} WHERE skip-till-next-match {{ {where} }} WITHIN 40 ms"
    kept = [event for event, unfitting in zip(events, gone, strict=True) if not unfitting]
    assert bound(text, events) == bound(text, kept)


def bound(text: str, events: list[Event]) -> list[Any]:
    """What each match binds, without the numbers of events."""
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of conditions that never hold
        found = list(saffron.replay(text, events))
    return [{name: unnumbered(own) for name, own in match["events"].items()} for match in found]


def unnumbered(own: Any) -> Any:
    if isinstance(own, list):
        return [unnumbered(one) for one in own]
    return own and {name: value for name, value in own.items() if name != "seq"}


def test_where_what_lies_between_counts_nothing_may_go() -> None:
    for strategy in ("strict-contiguity", "partition-contiguity"):
        assert not can_skip(planned("SEQ(A a, B b)", "a.price > 1", strategy))
    for strategy in ("skip-till-next-match", "skip-till-any-match"):
        assert can_skip(planned("SEQ(A a, B b)", "a.price > 1", strategy))
