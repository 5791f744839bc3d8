"""What is said of a name that is not there."""

from __future__ import annotations

from saffron.runtime.streams.unknown_names import no_query, no_stream, no_topic


def test_a_stream_and_a_query_that_are_not_there() -> None:
    assert no_stream("shp", ["events", "shop"]) == (
        "there is no stream 'shp'; streams: events, shop. Did you mean 'shop'?"
    )
    assert no_stream("x", ["events"], "make it") == "there is no stream 'x'; make it; streams: events"
    assert no_query("raly", {"rally": 1, "fall": 2}) == (
        "there is no query 'raly'; queries: fall, rally. Did you mean 'rally'?"
    )
    assert no_query("x", []) == "there is no query 'x'; there are no queries"


def test_a_topic_that_is_not_there() -> None:
    topics = [f"other{number}" for number in range(900)] + ["orders"]
    assert no_topic("order", topics) == ("topic 'order' does not exist: is that its full name? Did you mean 'orders'?")
    assert no_topic("xyzzy", topics, at="kafka:9092") == (
        "topic 'xyzzy' does not exist at kafka:9092: is that its full name?"
    )
    assert no_topic("order", topics, "make it") == "topic 'order' does not exist: make it. Did you mean 'orders'?"
