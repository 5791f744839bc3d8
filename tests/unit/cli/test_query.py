"""Standing queries and tables, on the in-memory log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
import typer

from saffron.cli import query, query_changes
from saffron.cli.client import Client
from saffron.cli.queries import QueryText
from saffron.cli.standing import next_version, read_standing, removed, stream_row, wait_for
from saffron.errors import QueryError
from saffron.runtime.config import Settings
from saffron.runtime.memory_broker import MemoryBroker
from saffron.runtime.memory_log import MemoryLog
from saffron.runtime.topics import topic_specs

TEXT = "PATTERN SEQ(Stock a, Stock b) WHERE [symbol] WITHIN 1 hour"


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client of a system with as many partitions of events as the test says (1)."""
    log = memory_log()
    log.create_topics(topic_specs("t.", getattr(request, "param", 1)))
    yield Client(Settings(prefix="t.", bootstrap="memory"), log)
    log.close()


def memory_log() -> MemoryLog:
    return MemoryLog(MemoryBroker(lambda: 0))


def say(client: Client, name: str, service: str, state: str, *, version: int = 1, reason: str | None = None) -> None:
    row: dict[str, Any] = {"name": name, "version": version, "service": service, "stream": "events", "partition": 0}
    row |= {"state": state, "reason": reason, "position": None}
    client.put(client.topics.query_status, f"{name}/{service}/events/0", row)


def add(client: Client, name: str, version: int = 1, op: str = "add") -> dict[str, Any]:
    row = {"name": name, "version": version, "op": op, "text": TEXT, "from": "now"}
    client.put(client.topics.queries, name, row)
    return row


def test_a_table_has_the_newest_value_of_each_key_and_no_removed_one(client: Client) -> None:
    for value in ({"v": 1}, {"v": 2}):
        client.put(client.topics.streams, "a", value)
    client.put(client.topics.streams, "b", {"v": 3})
    client.put(client.topics.streams, "b", None)
    assert client.table(client.topics.streams) == {"a": {"v": 2}}


def test_state_is_what_the_services_say_of_this_version(client: Client) -> None:
    add(client, "q", version=2)
    say(client, "q", "windowing", "active", version=1)
    assert read_standing(client)["q"].state == "pending"
    say(client, "q", "matcher", "ready", version=2)
    assert read_standing(client)["q"].state == "starting"
    say(client, "q", "windowing", "active", version=2)
    assert read_standing(client)["q"].state == "active"
    view = read_standing(client)["q"].view()
    assert [one["service"] for one in view["services"]] == ["matcher", "windowing"]
    assert orjson.dumps(view)


def test_versions_never_come_again(client: Client) -> None:
    assert next_version(client, "q") == 1
    add(client, "q", version=4)
    assert next_version(client, "q") == 5
    client.put(client.topics.queries, "q", None)
    say(client, "q", "windowing", "removed", version=4)
    assert next_version(client, "q") == 5


def test_a_query_says_by_what_it_may_be_shed(client: Client) -> None:
    add(client, "old")
    row = query_changes.put(client, "new", "add", TEXT, "now", "espice")
    assert row["shed"] == "espice"
    assert {name: one.view()["shed"] for name, one in read_standing(client).items()} == {"old": "auto", "new": "espice"}
    with pytest.raises(typer.BadParameter, match=r"there is no shedder 'espise'.* Did you mean 'espice'\?"):
        query._shedder("espise")


def test_a_shedder_that_can_drop_nothing_of_the_query_is_refused(client: Client) -> None:
    counted = QueryText("q", "RETURN COUNT(*) PATTERN Stock+ WITHIN 1 hour")
    assert query_changes.require_addable(client, counted, "e-bl") == "q"
    with pytest.raises(query_changes.QueryRefused, match=r"^q: pspice drops partial matches, .*Those that can act on"):
        query_changes.require_addable(client, counted, "pspice")


def test_waiting_ends_when_settled_or_when_the_time_is_up(client: Client) -> None:
    row = add(client, "q")
    found = wait_for(client, [row], lambda one: one.state == "active", 0.0)
    assert [one.state for one in found] == ["pending"]
    say(client, "q", "windowing", "rejected", reason="no")
    found = wait_for(client, [row], lambda one: one.state in ("active", "rejected"), 60.0)
    assert [(one.state, one.reason) for one in found] == [("rejected", "no")]
    say(client, "q", "windowing", "removed")
    assert all(map(removed, wait_for(client, [row], removed, 60.0)))


def test_the_default_stream_is_there_without_an_entry(client: Client) -> None:
    row = stream_row(client, "events")
    assert row is not None
    assert (row["topic"], row["key"], row["schema"], row["disorder"], row["idle"]) == ("t.events", None, None, 0, None)
    assert stream_row(client, "other") is None


def test_a_query_that_can_be_added_gives_its_name(client: Client) -> None:
    assert query_changes.require_addable(client, QueryText("file", TEXT)) == "file"
    assert query_changes.require_addable(client, QueryText("file", f"QUERY own {TEXT}")) == "own"


def test_a_wrong_query_is_refused_before_it_is_sent(client: Client) -> None:
    with pytest.raises(QueryError):
        query_changes.require_addable(client, QueryText("q", "PATTERN SEQ("))
    with pytest.raises(
        query_changes.QueryRefused, match=r"^q: there is no stream 'trades'; `saffron stream add trades`"
    ):
        query_changes.require_addable(client, QueryText("q", f"{TEXT} FROM trades"))
    client.put(client.topics.streams, "events", {**dict(stream_row(client, "events") or {}), "schema": SCHEMA})
    with pytest.raises(QueryError, match="symbol"):
        query_changes.require_addable(client, QueryText("q", TEXT))


@pytest.mark.parametrize("client", [3], indirect=True)
def test_over_several_partitions_the_key_must_be_the_streams(client: Client) -> None:
    with pytest.raises(query_changes.QueryRefused, match="has 3 partitions and has no key"):
        query_changes.require_addable(client, QueryText("q", TEXT))
    client.put(client.topics.streams, "events", {**dict(stream_row(client, "events") or {}), "key": "symbol"})
    assert query_changes.require_addable(client, QueryText("q", TEXT)) == "q"


SCHEMA = {
    "type": "object",
    "required": ["type", "ts"],
    "properties": {"type": {"const": "Stock"}, "ts": {"type": "integer"}, "ticker": {"type": "string"}},
    "additionalProperties": False,
}
