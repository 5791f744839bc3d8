"""What a query may lose, by its record."""

from __future__ import annotations

import pytest

from saffron.engine.shed.drops.shedders import EXEMPT, GSPICE_H
from saffron.engine.shed.drops.traits import Traits, traits_of

MATCH = "PATTERN SEQ(A a, B b) WITHIN 1 hour WEIGHT 3"
TREND = "RETURN COUNT(*) PATTERN A+ WITHIN 1 hour"
LIKELY = "PATTERN SEQ(A a, B b) WITHIN 1 hour CONFIDENCE >= 0.5"
GRAPHS = "PATTERN SEQ(A a, B b) WHERE skip-till-any-match WITHIN 1 hour OUTPUT COMPRESSED"


@pytest.mark.parametrize(
    ("text", "shed", "events", "partial"),
    [
        (MATCH, "auto", True, True),
        (MATCH, "none", False, False),
        (MATCH, "pspice", False, True),
        (MATCH, "gspice-tree", True, False),
        (TREND, "auto", False, False),
        (TREND, "pspice", False, False),
        (TREND, "gspice-h", True, False),
        (LIKELY, "auto", True, False),
        (LIKELY, "pspice", False, False),
        (GRAPHS, "auto", True, False),
        (GRAPHS, "gspice-forest", True, False),
    ],
)
def test_a_record_says_what_a_query_may_lose(text: str, shed: str, events: bool, partial: bool) -> None:
    traits = traits_of({"name": "q", "text": text, "shed": shed})
    assert (traits.drops_events, traits.partial_order is not None) == (events, partial)
    assert traits.weight == (3.0 if text == MATCH else 1.0)
    assert (traits.by is EXEMPT) is not (events or partial), "else it counts as exempt"


def test_what_does_not_bind_is_shed_like_any_other() -> None:
    assert traits_of({"name": "q", "text": "no query", "shed": "gspice-h"}) == Traits(GSPICE_H)
    assert traits_of({"name": "q"}) == Traits()
    assert traits_of({"name": "q", "shed": "of a later version"}) == Traits()


def test_a_record_says_where_windows_begin() -> None:
    sliding = traits_of({"name": "q", "text": "PATTERN SEQ(A a, B b) WITHIN 60 EVENTS SLIDE 20 EVENTS"})
    assert (sliding.slide, sliding.counts) == (20, True)
    assert traits_of({"name": "q", "text": MATCH}).slide is None


@pytest.mark.parametrize(
    ("text", "replaces"),
    [
        ("PATTERN SEQ(A a, B b) WHERE skip-till-any-match { a.x = b.x } WITHIN 60 EVENTS", False),
        ("PATTERN SEQ(A a, B b) WHERE skip-till-next-match { a.x = b.x } WITHIN 60 EVENTS", True),
        ("PATTERN SEQ(A a, B b) WHERE skip-till-any-match { a.x = b.x } WITHIN 60 EVENTS CONSUME b", True),
        ("PATTERN SEQ(A a, NOT C c, B b) WHERE skip-till-any-match { a.x = b.x } WITHIN 60 EVENTS", True),
        ("PATTERN SEQ(A a, B b) WHERE skip-till-any-match { a.x = b.x } WITHIN 60 EVENTS OUTPUT FIRST", True),
        (TREND, True),
    ],
)
def test_where_all_matches_are_found_none_stands_for_another(text: str, replaces: bool) -> None:
    traits = traits_of({"name": "q", "text": text})
    assert (traits.replaces, traits.errors) == (replaces, 2.0 if replaces else 1.0)
