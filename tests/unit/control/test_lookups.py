"""Queries that look up in tables (`a.x IN t`): refused before they are written, with the place."""

from __future__ import annotations

import pytest

from saffron.control.checks import check
from saffron.errors import QueryError
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.log.topics import Topics
from saffron.runtime.streams.known_streams import KnownStreams

DEFINITION = """
stream: shop
sources: [{topic: orders}]
tables: [{name: blocked, topic: ips, key: address}, {name: customers, topic: crm, key: id}]
add: {tier: {table: customers, key: customer, take: tier}}
"""
QUERY = "QUERY q FROM {} PATTERN orders o WHERE {} WITHIN 1 s"


def streams() -> KnownStreams:
    known = KnownStreams(Topics("p."))
    record = StreamRecord("shop", "p.shop", definition=AppliedDefinition(DEFINITION, {"orders": 0}, 1))
    known.apply(b"shop", record.encode(), 0)
    return known


def test_an_attribute_of_the_message_is_looked_up() -> None:
    assert check(QUERY.format("shop", "o.ip IN blocked AND o.tier = 'gold'"), None, streams()).warnings == ()


@pytest.mark.parametrize(
    ("stream", "condition", "message"),
    [
        ("shop", "o.ip IN bloked", "stream shop has no table bloked\n{}\nIt has: blocked, customers. Did you mean"),
        (
            "events",
            "o.ip IN blocked",
            "stream events has no table blocked\n{}\nA stream's definition names its tables.",
        ),
        (
            "shop",
            "o.tier IN customers",
            "tier comes from a table, and what is looked up comes from the message\n{}\nIts own row is found by",
        ),
    ],
)
def test_refused_with_the_place_and_the_way_out(stream: str, condition: str, message: str) -> None:
    text = QUERY.format(stream, condition)
    with pytest.raises(QueryError) as caught:
        check(text, None, streams())
    marked = f"LINE 1: {text}\n{' ' * (8 + text.index(condition))}{'^' * len(condition)}"
    assert str(caught.value).startswith(f"query error: {message.format(marked)}")
