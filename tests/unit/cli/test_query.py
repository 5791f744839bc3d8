"""Standing queries and tables, on the in-memory log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
import typer
from typer.testing import CliRunner

from saffron.cli.client import Client
from saffron.cli.options import System
from saffron.cli.queries import addable, query, query_changes, query_views
from saffron.cli.queries.standing import read_standing, read_versions, removed, wait_for
from saffron.cli.queries.texts import QueryText
from saffron.engine.events.schema_record import schema_to_record
from saffron.errors import LogError, QueryError, UnavailableError
from saffron.records.query import QueryRecord
from saffron.records.status import QueryStatus
from saffron.records.stream import StreamRecord
from saffron.records.version import VersionRecord
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.process.config import Settings
from saffron.schema.schema import Kind, Schema
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

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


def say(
    client: Client,
    name: str,
    service: str,
    state: str,
    *,
    version: int = 1,
    reason: str | None = None,
    partition: int = 0,
) -> None:
    status = QueryStatus(name, version, service, "events", partition, state, reason)
    client.put(client.topics.query_status, status.key, status.encode())


def add(client: Client, name: str, version: int = 1, op: str = "add") -> QueryRecord:
    record = QueryRecord(name, version, op, TEXT)
    client.put(client.topics.queries, name, record.encode())
    return record


def test_a_change_beside_that_of_another_process_is_refused_and_loses_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = add(client, "q")
    longer = replace(first, version=2, text=TEXT.replace("1 hour", "2 hours"))
    puts = client.put

    def put(topic: str, key: str, value: bytes | None) -> None:
        monkeypatch.undo()
        puts(topic, key, longer.encode())
        puts(topic, key, value)

    monkeypatch.setattr(client, "put", put)
    with pytest.raises(query_changes.QueryRefused, match="changed by another process at the same moment"):
        query_changes.QueryChanges(client).put(replace(first, op="pause"), first)
    standing = replace(longer, version=3)
    assert client.queries()["q"] == standing
    with pytest.raises(query_changes.QueryRefused):
        query_changes.QueryChanges(client).put(replace(first, op="pause"), first)  # made of an older record
    assert client.queries()["q"] == standing
    assert query_changes.QueryChanges(client).put(replace(standing, op="pause"), standing).version == 4


def test_of_three_changes_at_once_the_first_stays(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    first = add(client, "q")
    longer, shorter = (replace(first, version=2, text=TEXT.replace("1 hour", f"{n} hours")) for n in (2, 3))
    puts, calls = client.put, iter(("before ours", "before ours is taken back"))

    def put(topic: str, key: str, value: bytes | None) -> None:
        """Another process is faster each time: the second one made its change of what was before all of them."""
        call = next(calls, None)
        if call is not None:
            puts(topic, key, (longer if call == "before ours" else shorter).encode())
        puts(topic, key, value)

    monkeypatch.setattr(client, "put", put)
    with pytest.raises(query_changes.QueryRefused, match="that change stays"):
        query_changes.QueryChanges(client).put(replace(first, op="pause"), first)
    assert client.queries()["q"] == replace(longer, version=3)


def test_a_change_that_another_process_writes_again_is_waited_for_as_that(client: Client) -> None:
    first = add(client, "q")
    ours = query_changes.QueryChanges(client).put(replace(first, text=TEXT.replace("1 hour", "2 hours")), first)
    client.put(client.topics.queries, "q", replace(first, version=2, op="pause").encode())  # it came second
    client.put(client.topics.queries, "q", replace(ours, version=3).encode())
    say(client, "q", "windowing", "active", version=3)
    (found,) = wait_for(client, [ours], lambda one: one.state == "active", 5.0)
    assert (found.state, found.record) == ("active", replace(ours, version=3))


@pytest.mark.parametrize("client", [4], indirect=True)
def test_a_change_is_waited_for_on_every_partition(client: Client) -> None:
    add(client, "q")
    for partition in range(4):
        say(client, "q", "windowing", "active", partition=partition)
    assert read_standing(client)["q"].state == "active"
    second = add(client, "q", version=2)
    for partition in range(4):
        say(client, "q", "windowing", "active", version=2, partition=partition)
        (one,) = wait_for(client, [second], lambda one: one.state == "active", 0.0)
        assert one.state == ("active" if partition == 3 else "starting")
    assert one.view()["state"] == read_standing(client)["q"].state == read_versions(client).view("q")["state"]


@pytest.mark.parametrize("client", [4], indirect=True)
def test_topics_that_the_broker_does_not_describe_keep_no_command_from_its_end(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic of another stream may be such a one. What services say is known all the same."""
    record = add(client, "q")
    say(client, "q", "windowing", "active")

    def describe(topics: Sequence[str]) -> None:
        raise LogError(f"describing topic {topics[0]}: not permitted")

    monkeypatch.setattr(client.log, "describe", describe)
    (one,) = wait_for(client, [record], lambda one: one.state == "active", 0.0)
    assert one.state == read_standing(client)["q"].state == read_versions(client).view("q")["state"] == "active"


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
    first = add(client, "q", version=4)
    assert query_changes.QueryChanges(client).put(replace(first, version=1), first).version == 5
    client.put(client.topics.queries, "q", None)
    say(client, "q", "windowing", "removed", version=5)
    assert query_changes.QueryChanges(client).put(replace(first, version=1), None).version == 6


def test_a_query_says_by_what_it_may_be_shed(client: Client) -> None:
    add(client, "old")
    record = query_changes.QueryChanges(client).put(QueryRecord("new", 1, "add", TEXT, "now", "gspice-tree"), None)
    assert record.shed == "gspice-tree"
    assert {name: one.view()["shed"] for name, one in read_standing(client).items()} == {
        "old": "auto",
        "new": "gspice-tree",
    }
    with pytest.raises(typer.BadParameter, match=r"there is no shedder 'pspise'.* Did you mean 'pspice'\?"):
        query._shedder("pspise")


def test_a_shedder_that_can_drop_nothing_of_the_query_is_refused(client: Client) -> None:
    counted = QueryText("q", "RETURN COUNT(*) PATTERN Stock+ WITHIN 1 hour")
    assert addable.require_addable(client, [counted], "gspice-h")[0].name == "q"
    with pytest.raises(query_changes.QueryRefused, match=r"^q: pspice drops partial matches, .*Those that can act on"):
        addable.require_addable(client, [counted], "pspice")


def test_waiting_ends_when_settled_or_when_the_time_is_up(client: Client) -> None:
    row = add(client, "q")
    found = wait_for(client, [row], lambda one: one.state == "active", 0.0)
    assert [one.state for one in found] == ["pending"]
    say(client, "q", "windowing", "rejected", reason="no")
    found = wait_for(client, [row], lambda one: one.state in ("active", "rejected"), 60.0)
    assert [(one.state, one.reason) for one in found] == [("rejected", "no")]
    say(client, "q", "windowing", "removed")
    assert all(map(removed, wait_for(client, [row], removed, 60.0)))


def test_a_removed_query_is_not_blamed_for_its_failure(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    row = add(client, "q")
    say(client, "q", "matcher", "failed", reason="no registry")
    say(client, "q", "windowing", "removed")
    found = wait_for(client, [row], removed, 60.0)
    query_changes.finish(found, "removed", [], 60.0, json=False)
    assert capsys.readouterr().err.endswith("q: removed\n")


def test_the_default_stream_is_there_without_an_entry(client: Client) -> None:
    assert client.streams() == {"events": StreamRecord("events", "t.events")}


def test_a_query_that_can_be_added_gives_its_name(client: Client) -> None:
    assert addable.require_addable(client, [QueryText("file", TEXT)])[0].name == "file"
    assert addable.require_addable(client, [QueryText("file", f"QUERY own {TEXT}")])[0].name == "own"


def test_a_wrong_query_is_refused_before_it_is_sent(client: Client) -> None:
    with pytest.raises(QueryError):
        addable.require_addable(client, [QueryText("q", "PATTERN SEQ(")])
    with pytest.raises(
        query_changes.QueryRefused, match=r"^q: there is no stream 'trades'; `saffron stream add trades`"
    ):
        addable.require_addable(client, [QueryText("q", f"{TEXT} FROM trades")])
    client.put(client.topics.streams, "events", replace(client.streams()["events"], schema=SCHEMA).encode())
    with pytest.raises(QueryError, match="symbol"):
        addable.require_addable(client, [QueryText("q", TEXT)])


def test_check_looks_at_the_streams_and_schemas_of_the_running_system(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def connection(settings: Settings) -> Iterator[Client]:
        yield client

    def check(text: str) -> str:
        found = CliRunner().invoke(query.app, ["check", "-e", text])
        return found.output if found.exception is None else str(found.exception)

    monkeypatch.setattr(query, "connection", connection)
    monkeypatch.setattr(System, "connected", lambda system: client.settings)
    assert "there is no stream 'trades'; `saffron stream add trades`, or `stream apply`, makes one" in check(
        f"{TEXT} FROM trades"
    )
    assert check(TEXT) == "query: right\n"
    kinds = {"price": Kind.INT, "name": Kind.STRING, "firm.city": Kind.STRING, "owners": Kind.ARRAY}
    schema = Schema(kinds, {"Stock": tuple(kinds)}, {})
    version = VersionRecord("events", 1, schema_to_record(schema))
    client.put(client.topics.streams, version.key, version.encode())
    told = check("PATTERN SEQ(Stock a, Rise b) WHERE a.price > b.gain WITHIN 1 hour")
    assert "no event of the stream has had this yet" in told
    assert "attribute 'gain' of type Rise" in told
    for wrong, said in (
        ("firm", "It is an object; its fields are: firm.city."),
        ("owners.share", "'owners' is an array: owners[1].share reads its first element."),
        ("name.first", "'name' is a value, which has no fields."),
        ("prize", "Did you mean 'price'?"),
        ("city", "Did you mean firm.city?"),
    ):
        told = check(f"PATTERN SEQ(Stock a, Stock b) WHERE a.{wrong} = b.{wrong} WITHIN 1 hour")
        assert (f"no event of type Stock has had '{wrong}' yet" in told, said in told) == (True, True), told
    assert "Did you mean 'Stock'?" in check("PATTERN SEQ(Stock a, Stok b) WITHIN 1 hour")
    assert "a string is compared with a number" in check("PATTERN SEQ(Stock a, Stock b) WHERE a.name > 5 WITHIN 1 hour")
    maker = QueryRecord("m", 1, "add", "PATTERN SEQ(Stock a, Stock b) WITHIN 1 hour RETURN a.price AS gain INTO Rise")
    client.put(client.topics.queries, "m", maker.encode())
    assert check("PATTERN SEQ(Stock a, Rise b) WHERE a.price > b.gain WITHIN 1 hour") == "query: right\n"


def test_adding_warns_of_what_check_warns_of_and_leaves_unseen_names_to_the_status(client: Client) -> None:
    version = VersionRecord("events", 1, schema_to_record(Schema({"name": Kind.STRING}, {"Stock": ("name",)}, {})))
    client.put(client.topics.streams, version.key, version.encode())
    text = "PATTERN SEQ(Stock a, Stok b) WITHIN 1 hour RETURN a.name AS name INTO Found"
    (found,) = addable.require_addable(client, [QueryText("q", text)])
    near, unseen, unwritten = found.warnings
    assert "Did you mean 'Stock'?" in near
    assert "event type 'Stok'" in unseen
    assert found.lasting == (near, unwritten)


def test_check_says_what_it_could_not_look_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SAFFRON_DATA", str(tmp_path))
    found = CliRunner().invoke(query.app, ["check", "-e", TEXT])
    assert found.exception is None
    assert "nothing runs here, so streams, attributes and kinds were not checked" in found.output
    named = CliRunner().invoke(query.app, ["check", "-e", TEXT, "--data", str(tmp_path)])
    assert isinstance(named.exception, UnavailableError)


def test_a_query_that_is_not_there_may_be_another(client: Client) -> None:
    client.put(client.topics.queries, "rally", QueryRecord("rally", 1, "add", TEXT).encode())
    with pytest.raises(query_changes.QueryRefused, match=r"no query 'raly'; queries: rally. Did you mean 'rally'\?"):
        query_changes.existing(read_standing(client), "raly")


@pytest.mark.parametrize("client", [3], indirect=True)
def test_over_several_partitions_the_key_must_be_the_streams(client: Client) -> None:
    with pytest.raises(query_changes.QueryRefused, match="has 3 partitions and has no key"):
        addable.require_addable(client, [QueryText("q", TEXT)])
    client.put(client.topics.streams, "events", replace(client.streams()["events"], key="symbol").encode())
    assert addable.require_addable(client, [QueryText("q", TEXT)])[0].name == "q"


SCHEMA = {
    "type": "object",
    "required": ["type", "ts"],
    "properties": {"type": {"const": "Stock"}, "ts": {"type": "integer"}, "ticker": {"type": "string"}},
    "additionalProperties": False,
}


def test_show_names_the_engine_of_the_query_and_why(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def connection(settings: Settings) -> Iterator[Client]:
        yield client

    def show(name: str, *more: str) -> str:
        found = CliRunner().invoke(query.app, ["show", name, *more])
        assert found.exception is None, found.exception
        return found.output

    monkeypatch.setattr(query_views, "connection", connection)
    monkeypatch.setattr(System, "connected", lambda system: client.settings)
    client.put(client.topics.streams, "events", replace(client.streams()["events"], schema=SCHEMA).encode())
    fits = QueryRecord(
        "fits", 1, "add", "PATTERN SEQ(Stock a, Stock b) WHERE a.ticker = b.ticker WITHIN 1 hour", shed="none"
    )
    client.put(client.topics.queries, "fits", fits.encode())
    add(client, "odd")
    say(client, "fits", "matcher", "ready")
    engine = orjson.loads(show("fits", "--json"))["engine"]
    assert engine["name"]
    shown = show("fits")
    assert f"engine {engine['name']}: {engine['reason']}" in " ".join(shown.split())
    assert shown.splitlines()[-1].split() == ["matcher", "0", "ready", "-"]
    assert "engine" in show("odd"), "its attribute is none of the stream, so its text alone says"
