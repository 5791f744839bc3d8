"""Where a query may publish, and what results a stream may take: refused before it is written, with the way out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from saffron.control.checks import Refused, check
from saffron.control.streams.change import StreamChange, StreamContext
from saffron.control.streams.definitions import plan_definition
from saffron.control.streams.stream_changes import plan_change
from saffron.records.stream import StreamRecord
from saffron.runtime.log.topics import Topics
from saffron.runtime.streams.known_streams import KnownStreams

QUERY = "QUERY q PATTERN A a WITHIN 1 s RETURN a.x AS x PUBLISH {}"


ALERTS = "QUERY q FROM {} PATTERN A a WITHIN 1 s PUBLISH 'alerts'"


def streams(*topics: str) -> KnownStreams:
    """`topics`: each read by a stream of its name, beside that of trades."""
    known = KnownStreams(Topics("p."))
    for topic in ("trades", *topics):
        known.apply(topic.encode(), StreamRecord(topic, topic).encode(), 0)
    return known


@pytest.mark.parametrize(
    ("publish", "why"),
    [
        ("'p.complex-events'", "topic 'p.complex-events' is Saffron's own"),
        ("'trades'", "topic 'trades' holds the events of stream 'trades'"),
        ("'rows' AS AVRO", "query 'rows' publishes to topic 'rows', and rows (AS) have the fields of one query"),
        ("'rows'", "query 'rows' publishes to topic 'rows', and rows (AS) have the fields of one query"),
        ("'plain' AS JSON SCHEMA", "query 'plain' publishes to topic 'plain', and rows"),
    ],
)
def test_topics_that_are_taken(publish: str, why: str) -> None:
    others = {
        "rows": "PATTERN A a WITHIN 1 s RETURN a.x AS x PUBLISH 'rows' AS JSON SCHEMA",
        "plain": "PATTERN A a WITHIN 1 s PUBLISH 'plain'",
    }
    with pytest.raises(Refused) as caught:
        check(QUERY.format(publish), None, streams(), others)
    assert str(caught.value).startswith(why)


def test_topics_that_may_be_written() -> None:
    others = {"plain": "PATTERN A a WITHIN 1 s PUBLISH 'plain'", "q": QUERY.format("'mine' AS AVRO")}
    for publish in ("'plain'", "'mine' AS JSON SCHEMA", "'new' KEY a.x", ""):
        assert check(QUERY.format(publish), None, streams(), others).name == "q"


def test_a_stream_of_results_lets_their_queries_be_replaced_and_others_join_them() -> None:
    known, first = streams("alerts"), ALERTS.format("trades")
    with pytest.raises(Refused, match="topic 'alerts' holds the events of stream 'alerts'"):
        check(first, None, known)
    for other in ("q", "r"):
        assert check(first, None, known, {other: ALERTS.format("events")}).name == "q"


def test_a_query_over_results_does_not_publish_to_where_they_come_from() -> None:
    known, first = streams("alerts", "later"), ALERTS.format("trades")
    second = "QUERY r FROM alerts PATTERN A a WITHIN 1 s PUBLISH '{}'"
    assert check(second.format("new"), None, known, {"q": first}).name == "r"
    with pytest.raises(Refused, match="query 'r' over stream 'alerts' publishes to 'alerts', which stream 'alerts'"):
        check(second.format("alerts"), None, known, {"q": first})
    back = {"q": first, "s": "FROM later PATTERN A a WITHIN 1 s PUBLISH 'trades'"}
    with pytest.raises(Refused, match=r"results would be events of stream 'alerts' again: .* 'r' .* 's' .* 'q' "):
        check(second.format("later"), None, known, back)


def test_a_stream_does_not_read_its_own_results() -> None:
    first = ALERTS.format("trades")
    back = "FROM alerts PATTERN A a WITHIN 1 s PUBLISH 'more'"
    now = StreamContext("p.", streams().all(), lambda topic: 1, lambda topic: False, queries={"q": first, "r": back})
    assert plan_change(StreamChange("alerts", topic="alerts"), now).record.topic == "alerts"
    with pytest.raises(Refused, match="results would be events of stream 'alerts' again: query 'r' over stream"):
        plan_change(StreamChange("alerts", topic="more"), now)
    shop = "stream: shop\nsources:\n  - topic: {}\n    type: A\n    ts: message\n"
    over = replace(now, queries={"q": first, "s": "FROM shop PATTERN A a WITHIN 1 s PUBLISH 'alerts'"})
    assert plan_definition(shop.format("trades"), over).before is None
    with pytest.raises(Refused, match="results would be events of stream 'shop' again: query 's' over stream 'shop'"):
        plan_definition(shop.format("alerts"), over)


def test_results_that_only_others_read_are_told_of() -> None:
    maker = "QUERY q PATTERN A a WITHIN 1 s RETURN a.x AS x INTO D"
    told = check(maker, None, streams()).warnings
    assert "the results of q are events of other queries only; PUBLISH writes them, too" in told
    assert not any("PUBLISH" in one for one in check(f"{maker} PUBLISH", None, streams()).warnings)


@pytest.mark.parametrize("given", [False, True], ids=["inferred", "given"])
def test_a_schema_does_not_name_a_type_that_a_query_makes(given: bool) -> None:
    def schema(*types: str) -> dict[str, Any]:
        return {"type": "object", "properties": {"type": {"enum": list(types)}}}

    record = StreamRecord("s", "t", schema=schema("A") if given else None)
    maker = "FROM {} PATTERN A a WITHIN 1 s RETURN a.x AS x INTO D"
    now = StreamContext("p.", {"s": record}, lambda topic: 1, lambda topic: False, queries={"q": maker.format("s")})
    assert plan_change(StreamChange("s", schema=schema("A", "B")), now).is_change
    with pytest.raises(
        Refused, match=r"query 'q' makes the events of type 'D' of stream 's' .*saffron query remove q`"
    ):
        plan_change(StreamChange("s", schema=schema("A", "D")), now)
    for other in (maker.format("events"), "no query", "FROM s PATTERN A a WITHIN 1 s"):
        assert plan_change(StreamChange("s", schema=schema("A", "D")), replace(now, queries={"q": other})).is_change
    had = replace(now, streams={"s": replace(record, schema=schema("A", "D"))})
    assert plan_change(StreamChange("s", schema=schema("A", "B", "D")), had).is_change
