"""What `doctor` and the documents prescribe about streams, done: each command is run, and does what it is for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from saffron.cli.checks.cluster.queries import check_queries
from saffron.cli.checks.cluster.records import check_records, check_shared_topics
from saffron.cli.checks.cluster.schemas import check_losses, check_schemas
from saffron.cli.client import Client
from saffron.cli.options import System
from saffron.cli.streams import stream
from saffron.control.checks import Refused, check_partitions, compiled
from saffron.engine.events.json_schema import from_json_schema
from saffron.engine.events.schema_record import schema_to_record
from saffron.errors import BEGIN_ANEW
from saffron.records.query import QueryRecord
from saffron.records.status import ENDED, QueryStatus
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.records.table import Unreadable
from saffron.records.version import VersionRecord
from saffron.runtime.hops.incident_reports import incident_reports_of
from saffron.runtime.log import TopicSpec
from saffron.runtime.log.topics import stream_topics, topic_specs
from saffron.runtime.process.config import Settings
from saffron.schema.schema import Kind, Schema
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.cli.checks.sound import SCHEMA, TEXT, digests, query, sound

ROOT = Path(__file__).parents[4]
DOCUMENTS = ("docs/runbook.md", "docs/control.md", "docs/ingest.md", "docs/operating.md", "docs/overload.md")
COMMAND = re.compile(r"saffron (stream (?:add|set|remove)(?: [^`\n()|,;]+)?)")
SETTINGS = Settings(prefix="saffron.", bootstrap="memory")


def prescribed() -> list[str]:
    """Every command about streams in the documents, whole ones only (with a stream's name)."""
    found = []
    for name in DOCUMENTS:
        text = (ROOT / name).read_text("utf-8")
        found += [match.strip().rstrip(".") for match in COMMAND.findall(text)]
    return sorted({one for one in found if len(one.split()) > 2 and "..." not in one})


class Console:
    """The commands over a broker in memory, with the streams NAME, events and trades."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
        self.broker = MemoryBroker(lambda: 0)
        self.log = MemoryLog(self.broker)
        self.log.create_topics([*topic_specs("saffron.", 2), TopicSpec("trades", 2, {}), TopicSpec("NAME", 2, {})])
        self.client = Client(SETTINGS, self.log)
        for record in (StreamRecord("NAME", "NAME"), StreamRecord("trades", "trades", "symbol")):
            self.log.create_topics(stream_topics("saffron.", record.stem, 2))
            self.put(record)
        self.file = directory / "schema.json"
        self.file.write_bytes(orjson.dumps(SCHEMA))
        monkeypatch.setattr(stream, "connection", self._connection)
        monkeypatch.setattr(System, "connected", lambda system: SETTINGS)

    @contextmanager
    def _connection(self, settings: Settings) -> Iterator[Client]:
        del settings
        yield self.client

    def put(self, record: StreamRecord) -> None:
        self.client.put(self.client.topics.streams, record.name, record.encode())

    def run(self, command: str) -> str:
        """What the command says; it must end well."""
        words = [str(self.file) if re.search(r"FILE|\.json$", word) else word for word in shlex.split(command)]
        meant = {"KEY": "symbol", "ATTR": "symbol", "TOPIC": "spare", "N": "2"}
        words = [meant.get(word, word) for word in words]
        found = CliRunner().invoke(stream.app, words[1:])
        assert found.exit_code == 0, f"{command}: {found.output} {found.exception!r}"
        return found.output


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Console:
    return Console(monkeypatch, tmp_path)


def test_there_are_prescriptions() -> None:
    assert len(prescribed()) > 6, "the pattern above finds them"


@pytest.mark.parametrize("command", prescribed())
def test_what_the_documents_prescribe_can_be_done(console: Console, command: str) -> None:
    console.run(command)


@pytest.mark.parametrize("command", ["set trades --disorder 2s", "add trades --disorder 2s"])
def test_a_change_that_another_process_makes_at_the_same_moment_stays(
    console: Console, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its record comes between the command's look and its record: the command is done again on top of it."""
    puts, theirs = console.client.put, StreamRecord("trades", "trades", "symbol", idle=7_000)

    def put(topic: str, key: str, value: bytes | None) -> None:
        monkeypatch.setattr(console.client, "put", puts)
        puts(topic, key, theirs.encode())
        puts(topic, key, value)

    monkeypatch.setattr(console.client, "put", put)
    assert "disorder: - -> 2s" in console.run(f"stream {command}")
    assert console.client.streams()["trades"] == replace(theirs, disorder=2_000)


def test_what_doctor_prescribes_for_values_that_were_not_kept_gives_the_stream_a_schema(console: Console) -> None:
    look = sound()
    look = replace(look, digests=look.digests + tuple(digests("windowing", 0, mistyped={"price": 3})))
    (finding,) = check_losses(look)
    console.run(finding.fix.removeprefix("saffron "))
    assert console.client.streams()["events"].schema == SCHEMA


def test_what_doctor_prescribes_for_a_stream_that_is_not_there_makes_it(console: Console) -> None:
    console.log.create_topics([TopicSpec("saffron.orders", 2, {})])
    look = replace(sound(), queries={"q": query(f"{TEXT} FROM orders")})
    (finding,) = [one for one in check_schemas(look) if one.state == "error"]
    console.run(finding.fix.removeprefix("saffron ").partition(",")[0])
    assert "orders" in console.client.streams()


def test_what_doctor_prescribes_for_a_record_that_cannot_be_read_heals_it(console: Console) -> None:
    topic = console.client.topics.streams
    console.client.put(topic, "NAME", b"[]")
    for key in ("lost", "a b", ""):
        console.client.put(topic, key, b"{broken")
    look = replace(sound(), unreadable=tuple(console.client.unreadable()))
    fixes = [one.fix for one in check_records(look)]
    assert [fix.rpartition("saffron stream ")[2] for fix in fixes] == [
        "remove NAME",
        "remove lost",
        "remove 'a b'",
        "remove ''",
    ]
    console.run("stream set NAME --idle 10s")
    for fix in fixes[1:]:
        assert CliRunner().invoke(stream.app, shlex.split(fix.rpartition("saffron stream ")[2])).exit_code == 0
    assert all(f"saffron stream set {name}" in fix for name, fix in zip(("NAME", "lost"), fixes[:2], strict=True))
    assert console.client.unreadable() == []
    assert console.client.streams()["NAME"].idle == 10_000


PRODUCER = "kafka-console-producer --topic"


@pytest.mark.parametrize(
    ("topic", "key", "fix"),
    [
        ("saffron.queries", "q", "saffron query replace q FILE"),
        ("saffron.queries", "q", "saffron query remove q"),
        ("saffron.queries", "no such", f"printf '%s\\tNULL\\n' 'no such' | {PRODUCER} saffron.queries"),
        ("saffron.query-status", "q/matcher/events/0", "restart matcher"),
        ("saffron.query-status", "gone/matcher/events/0", f"gone/matcher/events/0 | {PRODUCER} saffron.query-status"),
        ("saffron.query-status", "x", f"printf '%s\\tNULL\\n' x | {PRODUCER} saffron.query-status"),
        ("saffron.streams", "plain/schema", "windowing writes the next version"),
        ("saffron.streams", "gone/schema", f"gone/schema | {PRODUCER} saffron.streams"),
        ("saffron.streams", "", "saffron stream remove ''"),
        ("saffron.streams", "a b", "saffron stream remove 'a b'"),
    ],
)
def test_records_that_cannot_be_read_are_named_with_what_ends_them(topic: str, key: str, fix: str) -> None:
    look = replace(sound(), streams={"plain": StreamRecord("plain", "plain")})
    (finding,) = check_records(replace(look, unreadable=(Unreadable(topic, key, 7, "it is not JSON"),)))
    assert finding.where == f"{topic}, offset 7, key {key!r}"
    assert fix in finding.fix


def test_two_streams_on_one_topic_are_named_and_the_fix_parts_them(console: Console) -> None:
    console.put(StreamRecord("copy", "trades"))
    look = replace(sound(), streams=console.client.streams())
    (finding,) = check_shared_topics(look)
    assert "its topic trades is stream 'trades''s too" in finding.what
    assert look.unread == {"copy": "trades"}, "no check asks for partitions for it"
    first, _, second = finding.fix.partition(", then ")
    console.run(first.removeprefix("saffron "))
    console.run(second.removeprefix("saffron "))
    assert console.client.streams()["copy"].source == "trades"
    assert list(check_shared_topics(replace(sound(), streams=console.client.streams()))) == []


def test_a_schema_that_does_not_go_together_with_what_events_had_is_refused_at_once(console: Console) -> None:
    inferred = Schema({"price": Kind.STRING}, {"Quote": ("price",)}, {})
    version = VersionRecord("trades", 1, schema_to_record(inferred))
    console.client.put(console.client.topics.streams, version.key, version.encode())
    found = CliRunner().invoke(stream.app, ["set", "trades", "--schema", str(console.file)])
    assert "attribute 'price' is string in the schema in force, and float in the new one" in str(found.exception)
    assert "`saffron stream add trades_2 --from trades --key symbol --schema FILE` makes another" in str(
        found.exception
    )
    assert console.client.streams()["trades"].schema is None
    console.run("stream remove trades")
    console.run("stream add trades --topic trades --schema FILE")  # begun anew
    record = console.client.streams()["trades"]
    assert record.schema == SCHEMA
    assert console.client.known_streams().schema(record) == from_json_schema(SCHEMA)


def announce(console: Console, **kinds: Kind) -> None:
    """Events of the stream trades had these attributes."""
    version = VersionRecord("trades", 1, schema_to_record(Schema(kinds, {"Quote": tuple(kinds)}, {})))
    console.client.put(console.client.topics.streams, version.key, version.encode())


def of_trades(console: Console, **queries: str) -> list[str]:
    """The errors in schemas that doctor finds."""
    known = console.client.known_streams()
    texts = {name: query(text) for name, text in queries.items()}
    look = replace(sound(), streams=known.all(), of_events=known.of_events(), queries=texts)
    return [one.what for one in check_schemas(look) if one.state == "error"]


def test_a_second_schema_that_contradicts_what_events_have_beside_the_first_is_refused(console: Console) -> None:
    announce(console, price=Kind.FLOAT, size=Kind.INT)
    first = {"type": "object", "properties": {"type": {"const": "Quote"}, "price": {"type": "number"}}}
    console.put(StreamRecord("trades", "trades", "symbol", schema=first))
    second = {**first, "properties": {**first["properties"], "size": {"type": "string"}}}  # type: ignore[dict-item]
    console.file.write_bytes(orjson.dumps(second))
    found = CliRunner().invoke(stream.app, ["set", "trades", "--schema", str(console.file)])
    assert "attribute 'size' is int in the schema in force, and string in the new one" in str(found.exception)
    text = "PATTERN Quote q WHERE q.size > 5 WITHIN 1 s"
    assert of_trades(console, q=f"FROM trades {text}") == [], "size is in force, too"


def test_a_given_schema_that_events_contradict_is_named_and_another_one_ends_that(console: Console) -> None:
    """Both may come at once: the stream is given a schema while its first events are read."""
    announce(console, price=Kind.STRING)
    console.put(StreamRecord("trades", "trades", "symbol", schema=SCHEMA))
    (what,) = of_trades(console)
    assert what.startswith(
        "the given one is not in force: attribute 'price' is string in the schema in force, and float"
    )
    known = console.client.known_streams()
    in_force = known.schema(known.all()["trades"])
    assert in_force is not None
    assert in_force.kinds == {"price": Kind.STRING}, "as windowing does"
    text = {"type": "object", "properties": {"type": {"const": "Quote"}, "price": {"type": "string"}}}
    console.file.write_bytes(orjson.dumps(text))
    console.run("stream set trades --schema FILE")
    assert of_trades(console) == []


REGISTRY = "http://r:8081"
STREAMS = (
    StreamRecord("plain", "plain", "symbol", disorder=2_000, idle=5_000, silence=90_000),
    StreamRecord("given", "saffron.given", "symbol", schema=SCHEMA),
    StreamRecord("avro", "avro", "symbol", format="avro", registry=REGISTRY),
    StreamRecord("made", "saffron.made", "sector", disorder=0, idle=1_500, source="trades"),
    StreamRecord("one", "saffron.one", disorder=0, silence=4_000, source="trades"),
)
REFUSED = (
    "stream add plain --topic spare",
    "stream add plain --topic unborn",
    "stream add plain --topic unborn --partitions 3",
    "stream add plain --from trades --key symbol",
    "stream add plain --format json-schema",
    "stream set plain --schema UNLIKE",
    "stream set given --schema UNLIKE",
    "stream add avro --topic spare",
    "stream add avro --format protobuf --registry http://p:8081",
    "stream set avro --schema UNLIKE",
    "stream set made --schema UNLIKE",
    "stream set one --schema UNLIKE",
    "stream add made --from events",
    "stream add made --partitions 3",
    "stream add made --topic spare",
    "stream set events --schema UNLIKE",
    "stream set plain --topic spare",
    "stream set plain --from trades --key symbol",
    "stream set plain --format json-schema",
    "stream set made --partitions 3",
)


def prepared(console: Console) -> None:
    """Streams of each kind, whose topics have messages, and whose events had a text as price."""
    inferred = schema_to_record(Schema({"price": Kind.STRING}, {"Quote": ("price",)}, {}))
    console.log.create_topics([TopicSpec("spare", 2, {})])
    for record in STREAMS:
        count = 1 if record.key is None else 2
        console.log.create_topics([TopicSpec(record.topic, count, {}), *stream_topics("saffron.", record.stem, count)])
        console.put(record)
        console.client.put(record.topic, "IBM", b"{}")
    for name in ("events", *(record.name for record in STREAMS if record.schema is None)):
        version = VersionRecord(name, 1, inferred)
        console.client.put(console.client.topics.streams, version.key, version.encode())


@pytest.mark.parametrize("command", REFUSED)
def test_each_way_out_of_a_refusal_can_be_done_and_keeps_the_rest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    unlike = tmp_path / "unlike.json"
    unlike.write_bytes(orjson.dumps({"type": "object", "properties": {"type": {"const": "Quote"}}}))
    words = [str(unlike) if word == "UNLIKE" else word for word in shlex.split(command)]
    if "UNLIKE" in command and words[2] != "given":
        words[-1] = str(tmp_path / "schema.json")  # it has the price as a number
    consoles = [Console(monkeypatch, tmp_path) for _ in range(2)]
    for console in consoles:
        prepared(console)
    found = CliRunner().invoke(stream.app, words[1:])
    ways = re.findall(r"`saffron (stream [^`]+)`", str(found.exception))
    name = words[2]
    assert len(ways) == (1 if name == "events" else 3), str(found.exception)
    for console, commands, made in ((consoles[0], ways[:1], f"{name}_2"), (consoles[1], ways[1:], name)):
        monkeypatch.setattr(stream, "connection", console._connection)
        before = console.client.streams()[name]
        for one in commands:
            console.run(one)
        after = console.client.streams()[made]
        assert (after.disorder or 0, after.idle, after.silence) == (before.disorder or 0, before.idle, before.silence)
        assert after.key == before.key or before.key is None


@pytest.mark.parametrize("key", ["customer.id", "user id", "it's", "straße"])
@pytest.mark.parametrize("record", STREAMS)
def test_a_stream_of_the_same_events_under_another_key_can_be_made_whatever_the_key(
    console: Console, record: StreamRecord, key: str
) -> None:
    """As the refusals of another key, and of a query that needs it, prescribe."""
    prepared(console)
    text = f'FROM {record.name} PATTERN SEQ(Q a, Q b) WHERE ["{key}"] WITHIN 1 second'
    refusals = [str(CliRunner().invoke(stream.app, ["set", record.name, "--key", key]).exception)]
    with pytest.raises(Refused) as of_query:
        check_partitions(compiled(text, None, "q"), record, lambda topic: 2)
    refusals.append(str(of_query.value))
    for refusal in refusals:
        (command,) = re.findall(r"`saffron (stream add [^`]+)`", refusal)
        console.run(command)
        made = console.client.streams()[shlex.split(command)[2]]
        assert (made.source, made.key) == (record.source or record.name, key)


@pytest.mark.parametrize("record", [one for one in STREAMS if one.key is not None])
def test_another_stream_of_the_same_events_can_be_made_of_each_kind(console: Console, record: StreamRecord) -> None:
    """As doctor prescribes where a topic has grown, and a refusal where it is another stream's."""
    prepared(console)
    incident = {"kind": "grown", "before": 1, "after": 3, "at": 0, "offset": 7}
    inputs = [{"topic": record.topic, "partition": 0, "incidents": [incident]}]
    (report,) = incident_reports_of(inputs, console.client.streams())
    console.run(report.fix.partition("saffron ")[2])
    made = console.client.streams()[f"{record.name}-fixed"]
    assert (made.source, made.key) == (record.source or record.name, record.key)
    refused = CliRunner().invoke(stream.app, ["add", "copy", "--topic", record.topic])
    (command,) = re.findall(r"\(saffron (stream [^)]+)\)", str(refused.exception))
    console.run(command)
    assert console.client.streams()["copy"].source == made.source


@pytest.mark.parametrize("record", STREAMS)
def test_a_removed_stream_is_added_again_as_it_was_by_the_command_that_is_named(
    console: Console, record: StreamRecord
) -> None:
    """As doctor prescribes where a stream can only begin anew."""
    prepared(console)
    count = console.log.partitions(record.topic)
    assert "then the command that it names" in BEGIN_ANEW
    (command,) = re.findall(r"is added again by `saffron (stream [^`]+)`", console.run(f"stream remove {record.name}"))
    assert record.name not in console.client.streams()
    console.run(command)
    again = console.client.streams()[record.name]
    assert again == replace(record, generation=again.generation, topic=again.topic, disorder=record.disorder or 0)
    assert console.log.partitions(again.topic) == count
    assert again.topic == record.topic or record.is_routed


def test_an_ended_query_says_what_to_do() -> None:
    look = replace(sound(), queries={"q": query(state="ended", reason="there is no stream 'x' (any more)")})
    (finding,) = check_queries(look)
    assert (finding.state, finding.fix) == ("error", "saffron query remove q, or add its stream again")


def test_removing_a_stream_waits_for_its_queries(console: Console) -> None:
    record = QueryRecord("q", 1, "add", f"{TEXT} FROM trades")
    console.client.put(console.client.topics.queries, "q", record.encode())
    found = CliRunner().invoke(stream.app, ["remove", "trades", "--timeout", "0"])
    assert "q have not ended: does windowing run?" in str(found.exception)
    console.put(StreamRecord("trades", "trades", "symbol"))
    ended = QueryStatus("q", 1, "windowing", "trades", None, ENDED, "gone")
    console.client.put(console.client.topics.query_status, ended.key, ended.encode())
    told = console.run("stream remove trades")
    assert "its queries have ended: q" in told
    assert "saffron.trades.windows, saffron.trades.admitted" in told


def test_a_changed_definition_is_said_by_its_version(console: Console) -> None:
    applied = AppliedDefinition("stream: shop\nidle: 10s\nsources: [{topic: trades}]\n", {"trades": 0}, 4)
    console.log.create_topics([TopicSpec("saffron.shop", 2, {})])
    console.put(StreamRecord("shop", "saffron.shop", idle=10_000, definition=applied))
    said = console.run("stream set shop --idle 1500ms")
    assert "definition: version 4 -> version 5" in said
    assert "idle: 10s -> 1500ms" in said


def test_what_is_changed_is_said(console: Console) -> None:
    assert "idle: - -> 5s" in console.run("stream set trades --idle 5s")
    assert "nothing is changed" in console.run("stream add trades")


@pytest.mark.parametrize("topic", ["trades", "saffron.trades.windows", "saffron.trades.admitted"])
def test_a_topic_that_is_made_again_is_said(console: Console, topic: str) -> None:
    console.broker.delete(topic)
    said = console.run("stream add trades --partitions 2")
    assert f"topic {topic} was missing, and is made again" in said
    assert "nothing is changed" not in said
    assert console.log.partitions(topic) == 2
