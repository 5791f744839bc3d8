"""Sets of event types, beside the sets of all types that there are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from saffron.schema.event_types import EventTypes, type_names

ALL = frozenset("ABCDX")
"""X stands for every type that no query names."""
SETS = st.builds(EventTypes, st.lists(st.sampled_from("ABCD"), unique=True).map(tuple), st.booleans())


def members(types: EventTypes) -> frozenset[str]:
    return frozenset(name for name in ALL if name in types)


@given(SETS, SETS)
def test_relations_are_those_of_sets(one: EventTypes, other: EventTypes) -> None:
    assert one.meets(other) == bool(members(one) & members(other))
    assert one.holds(other) == (members(other) <= members(one))
    assert one.equals(other) == (members(one) == members(other))


def test_texts_and_names() -> None:
    some, every = EventTypes(("B", "A")), EventTypes(("D",), others=True)
    assert [str(one) for one in (EventTypes(("A",)), some, every)] == ["A", "(B | A)", "ANY"]
    assert type_names([some, every, EventTypes(("A", "C"))]) == ("B", "A", "C")
