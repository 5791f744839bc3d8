"""`stream infer` and `stream check` over files: what a person sees first of a stream of several topics."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import saffron as api
from saffron.cli import main
from saffron.cli.client import Client
from saffron.cli.options import System
from saffron.cli.streams import applied
from saffron.cli.streams.samples import of_topics, whole_topic
from saffron.cli.streams.stream import app
from saffron.errors import InputError, LogError, UnavailableError
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.yaml_nodes import DefinitionError
from saffron.runtime.log import TopicSpec
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.process.config import Settings
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

NOON = 1_777_629_600_000


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two topics as files: records with keys and times, and values alone."""
    monkeypatch.chdir(tmp_path)
    orders = [{"order_id": f"O-{n}", "total": 10.5 + n, "created_at": "2026-05-01T12:00:00+02:00"} for n in range(5)]
    payments = [{"order": {"id": f"O-{n}"}, "paid_at": NOON // 1000 + n, "status": "OK"} for n in range(4)]
    records = [{"key": one["order_id"], "time": NOON, "value": one} for one in orders]
    (tmp_path / "orders.ndjson").write_text("".join(f"{json.dumps(one)}\n" for one in records), "utf-8")
    (tmp_path / "payments.ndjson").write_text("".join(f"{json.dumps(one)}\n" for one in payments), "utf-8")
    return tmp_path


def saffron(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


BOTH = ("orders=orders.ndjson", "payments=payments.ndjson")


def test_what_is_proposed_is_what_reads_the_messages(files: Path) -> None:
    done = saffron("infer", "orders.ndjson", "payments.ndjson", "--name", "shop", "--out", "shop.yaml")
    assert done.exit_code == 0, done.output
    shop = read_definition((files / "shop.yaml").read_text("utf-8"))
    assert [one.topic for one in shop.sources] == ["orders", "payments"]
    assert shop.key == "order_id"
    done = saffron("check", "shop.yaml", *BOTH, "--json")
    assert done.exit_code == 0, done.output
    orders, payments = json.loads(done.stdout)
    assert (orders["messages"], orders["events"], orders["refused"]) == (5, 5, {})
    assert payments["examples"][0]["order_id"] == "O-0"
    assert payments["examples"][0]["ts"] == NOON
    assert "orders" in saffron("check", "shop.yaml", *BOTH).stdout


def test_a_definition_is_printed_where_no_file_is_named(files: Path) -> None:
    done = saffron("infer", "orders.ndjson", "--name", "shop")
    assert done.exit_code == 0
    assert read_definition(done.stdout).name == "shop"


def test_what_is_refused_is_shown_with_its_place_and_fails_the_command(files: Path) -> None:
    sources = "- {topic: orders, type: {field: kind}}\n- {topic: payments, ts: {field: paid_at, format: epoch_s}}\n"
    text = f"stream: s\nsources:\n{sources}"
    (files / "s.yaml").write_text(text, "utf-8")
    done = saffron("check", "s.yaml", *BOTH)
    assert done.exit_code == 1
    assert "orders: 5 refused (no-type); the first is orders/0/0: 'kind' is missing" in done.output
    with (files / "orders.ndjson").open("a", encoding="utf-8") as orders:
        orders.write("{\n")
    body = json.loads(saffron("check", "s.yaml", *BOTH, "--json").stdout)
    assert body[0]["refused"]["not-json"]["first"] == "orders/0/5"


def test_several_files_of_a_topic_are_its_partitions(files: Path) -> None:
    assert saffron("infer", "orders.ndjson", "payments.ndjson", "--name", "shop", "--out", "shop.yaml").exit_code == 0
    lines = (files / "orders.ndjson").read_text("utf-8")
    (files / "first.ndjson").write_text("{\n" + lines, "utf-8")
    done = saffron("check", "shop.yaml", "orders=first.ndjson", *BOTH, "--json")
    assert done.exit_code == 1
    orders, payments = json.loads(done.stdout)
    assert (orders["messages"], orders["events"], payments["messages"]) == (11, 10, 4)
    assert orders["refused"]["not-json"]["first"] == "orders/0/0"
    shutil.copy("orders.ndjson", "again.ndjson")
    with (files / "again.ndjson").open("a", encoding="utf-8") as again:
        again.write("{\n")
    done = saffron("check", "shop.yaml", *BOTH, "orders=again.ndjson", "--json")
    assert json.loads(done.stdout)[0]["refused"]["not-json"]["first"] == "orders/1/5"


def test_a_disorder_of_zero_is_given_too(files: Path) -> None:
    (files / "s.yaml").write_text("stream: s\ndisorder: 5s\nsources: [{topic: orders}]\n", "utf-8")
    replay = ["replay", "--stream", "s.yaml", "-e", "PATTERN A a WITHIN 1 s", BOTH[0], "--disorder", "0"]
    done = CliRunner().invoke(main.app, replay)
    assert done.exit_code == 2
    assert "beside which --disorder means nothing" in " ".join(done.output.replace("│", " ").split())


def test_seconds_that_are_read_as_milliseconds_are_noticed(files: Path) -> None:
    record = {"key": None, "time": NOON, "value": {"at": NOON // 1000}}
    (files / "t.ndjson").write_text(json.dumps(record) + "\n", "utf-8")
    (files / "s.yaml").write_text("stream: s\nsources:\n- {topic: t, ts: {field: at, format: epoch_ms}}\n", "utf-8")
    assert "they fit as epoch_s" in saffron("check", "s.yaml", "t=t.ndjson").output


@pytest.mark.parametrize("ending", [".ndjson", ".ndjson.gz", ".jsonl.zst", ".parquet", ".csv"])
def test_files_are_read_as_a_replay_reads_them(files: Path, ending: str) -> None:
    rows = [{"kind": "A", "at": 1_777_636_800_000 + at, "x": at} for at in range(5)]
    lines = b"".join(orjson.dumps(row) + b"\n" for row in rows)
    path = files / f"of.rows{ending}"
    match ending:
        case ".parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)
        case ".csv":
            pa.csv.write_csv(pa.Table.from_pylist(rows), path)
        case ".ndjson":
            path.write_bytes(lines)
        case _:
            with pa.output_stream(path, "gzip" if ending.endswith("gz") else "zstd") as out:
                out.write(lines)
    said = saffron("infer", path.name, "--name", "shop", "--out", "s.yaml").output
    (checked,) = json.loads(saffron("check", "s.yaml", f"of.rows={path.name}", "--json").stdout)
    assert checked["events"] == 5, said
    kind = read_definition((files / "s.yaml").read_text("utf-8")).sources[0].type.constant or "A"
    results = api.replay(f'FROM shop PATTERN "{kind}" a WITHIN 1 s', {"of.rows": path}, stream=files / "s.yaml")
    assert results.counts() == {"query": 5}


def test_a_file_that_is_no_text_is_refused(files: Path) -> None:
    (files / "none.ndjson").write_bytes(b"PAR1\x00\xff")
    with pytest.raises(InputError, match=r"none\.ndjson: is Parquet, and is read as lines"):
        raised(saffron("infer", "none.ndjson", "--name", "shop"))


@pytest.mark.parametrize("content", [b"", b"no json\nnone either\n"])
def test_a_proposal_from_nothing_is_said_to_be_a_guess(files: Path, content: bytes) -> None:
    (files / "none.ndjson").write_bytes(content)
    done = saffron("infer", "none.ndjson", "orders.ndjson", "--name", "shop")
    assert done.exit_code == 0
    assert "none: no message of it could be read" in done.stderr
    assert "orders: no message" not in done.stderr


def test_a_proposal_that_cannot_be_written_is_refused(files: Path) -> None:
    done = saffron("infer", "orders.ndjson", "--name", "shop", "--out", "nowhere/shop.yaml")
    assert isinstance(done.exception, InputError)
    assert "there is no directory nowhere" in str(done.exception)


def test_a_source_without_messages_is_said(files: Path) -> None:
    (files / "none.ndjson").write_text("", "utf-8")
    (files / "s.yaml").write_text("stream: s\nsources: [{topic: none}]\n", "utf-8")
    done = saffron("check", "s.yaml", "none=none.ndjson")
    assert done.exit_code == 1
    assert "no message has been found" in done.output


def test_a_missing_definition_is_named() -> None:
    done = saffron("check", "missing.yaml")
    assert isinstance(done.exception, InputError)
    assert "missing.yaml" in str(done.exception)


def test_a_file_that_is_not_there_is_said_where_no_system_has_a_topic(files: Path) -> None:
    found = saffron("infer", "orders.ndjson", "order.ndjson", "--name", "shop", "--data", str(files / "none"))
    assert isinstance(found.exception, UnavailableError)
    assert str(found.exception).startswith("order.ndjson: no such file, so a topic is meant; nothing runs under")


def test_of_a_topic_the_newest_messages_of_each_partition_are_read() -> None:
    log = MemoryLog(MemoryBroker(lambda: NOON))
    log.create_topics([TopicSpec("orders", 2, {})])
    producer = log.producer(client_id="test")
    for number in range(10):
        value = json.dumps({"n": number}).encode()
        producer.send("orders", number % 2, value, key=b"k", headers=[("trace", b"t")], timestamp=NOON + number)
    producer.flush(1.0)
    (topic,) = of_topics(Client(Settings(), log), ["orders"], 4)
    found = topic.messages
    assert [message.value for message in found] == [b'{"n": %d}' % number for number in (6, 7, 8, 9)]
    assert (found[0].topic, found[0].partition, found[0].offset) == ("orders", 0, 3)
    assert (found[0].key, found[0].time, found[0].headers) == (b"k", NOON + 6, {"trace": b"t"})
    with pytest.raises(LogError, match=r"topic 'order' does not exist.* Did you mean 'orders'\?"):
        of_topics(Client(Settings(), log), ["order"], 4)


def test_an_error_in_the_definition_shows_its_line(files: Path) -> None:
    (files / "s.yaml").write_text("stream: s\nsources:\n- topic: t\n  typ: x\n", "utf-8")
    done = saffron("check", "s.yaml", "t=orders.ndjson")
    assert isinstance(done.exception, DefinitionError)
    assert "LINE 4:   typ: x" in str(done.exception)


def test_an_event_far_ahead_of_its_message_is_refused_as_the_stream_would(files: Path) -> None:
    (files / "one.yaml").write_text("stream: one\nsources:\n- {topic: one, ts: {field: at, format: epoch_ms}}\n")
    lines = [{"time": NOON, "value": {"at": NOON + ahead}} for ahead in (0, 86_400_000, 86_400_001)]
    (files / "one.ndjson").write_text("".join(f"{json.dumps(one)}\n" for one in lines), "utf-8")
    done = saffron("check", "one.yaml", "one=one.ndjson", "--json")
    (one,) = json.loads(done.stdout)
    assert (one["events"], one["refused"]["future-ts"]["first"]) == (2, "one/0/2")


def test_a_type_that_no_stream_takes_is_refused(files: Path) -> None:
    (files / "one.yaml").write_text("stream: one\nsources:\n- {topic: one, type: {field: event}}\n")
    lines = [{"time": NOON, "value": {"event": event}} for event in ("$pageview", "", "order")]
    (files / "one.ndjson").write_text("".join(f"{json.dumps(one)}\n" for one in lines), "utf-8")
    (one,) = json.loads(saffron("check", "one.yaml", "one=one.ndjson", "--json").stdout)
    assert (one["types"], one["refused"]["no-type"]["count"]) == ({"order": 1}, 2)
    assert one["refused"]["no-type"]["detail"].startswith("type '$pageview' is empty or begins with $: `map`")


def test_a_key_that_no_event_has_and_fields_that_are_displaced_are_said(files: Path) -> None:
    (files / "one.yaml").write_text("stream: one\nkey: order_id\nsources: [{topic: one}]\n")
    (files / "one.ndjson").write_text('{"time": 1, "value": {"order": {"id": 5}, "order.id": 6}}\n', "utf-8")
    done = saffron("check", "one.yaml", "one=one.ndjson")
    assert done.exit_code == 0
    assert "one: no event has the stream's key 'order_id'; `order_id: PATH` under `attributes`" in done.output
    assert "one: 1 value of 'order.id' beside another field of that name, and left out; the first" in (done.output)
    (files / "one.yaml").write_text("stream: one\nkey: order.id\nsources: [{topic: one}]\n")
    assert "no event has" not in saffron("check", "one.yaml", "one=one.ndjson").output


@pytest.mark.parametrize(
    ("source", "value", "said"),
    [
        ("{topic: one, format: csv}", "1,x", "hold no event: each first line is read as names; without names say"),
        ("{topic: one, format: {csv: {columns: [a, b]}}}", "", "hold no event"),
        ("{topic: one, explode: items}", {"items": []}, "hold no event"),
    ],
)
def test_messages_without_any_event_are_said(files: Path, source: str, value: Any, said: str) -> None:
    (files / "one.yaml").write_text(f"stream: one\nsources: [{source}]\n")
    (files / "one.ndjson").write_text(json.dumps({"time": 1, "value": value}) + "\n", "utf-8")
    assert said in saffron("check", "one.yaml", "one=one.ndjson").output


LOOKED_UP = """stream: s
sources: [{topic: orders}]
tables: [{name: buyers, topic: crm, key: id}, {name: blocked, file: blocked.csv, key: order}]
add: {tier: {table: buyers, key: order_id, take: tier}, is_blocked: {table: blocked, key: order_id}}
"""


def test_events_are_shown_with_what_is_looked_up(files: Path) -> None:
    (files / "s.yaml").write_text(LOOKED_UP, "utf-8")
    (files / "blocked.csv").write_text("order\nO-0\n", "utf-8")
    rows = "".join(f'{{"id": "O-{n}", "tier": "gold"}}\n' for n in range(4))
    (files / "crm.ndjson").write_text(rows + "no row\n", "utf-8")
    done = saffron("check", "s.yaml", BOTH[0], "crm=crm.ndjson")
    assert done.exit_code == 0, done.output
    told = done.output.splitlines()
    assert "orders: tier: 1 event has a key that no row of the table has; the attribute is null there" in told
    assert "table buyers: 4 rows" in told
    assert "table blocked: 1 row" in told
    assert [one for one in told if one.startswith("table buyers: rows that were left out: 1; the first is crm/0/4")]
    (example,) = [one for one in told if one.startswith("orders: for example ")]
    assert example.endswith('"tier":"gold","is_blocked":true}')
    (orders,) = json.loads(saffron("check", "s.yaml", BOTH[0], "crm=crm.ndjson", "--json").stdout)
    assert [(one["tier"], one["is_blocked"]) for one in orders["examples"]] == [("gold", True)] + 2 * [("gold", False)]


def test_a_table_whose_file_is_missing_ends_the_check(files: Path) -> None:
    (files / "s.yaml").write_text(LOOKED_UP, "utf-8")
    with pytest.raises(InputError, match=r"table blocked: .*blocked.csv cannot be read \(No such file"):
        raised(saffron("check", "s.yaml", BOTH[0], "crm=orders.ndjson"))
    (files / "blocked.csv").write_text("order\nO-0\n", "utf-8")
    with pytest.raises(InputError, match=r"gone\.ndjson: no such file"):
        raised(saffron("check", "s.yaml", BOTH[0], "crm=gone.ndjson"))


def test_a_definition_that_is_not_there_is_named_once(files: Path) -> None:
    with pytest.raises(InputError, match=r"^cannot read gone\.yaml: No such file or directory$"):
        raised(saffron("check", "gone.yaml"))


def raised(done: Result) -> None:
    assert done.exception is not None
    raise done.exception


def test_a_table_is_read_from_its_topic_whole() -> None:
    log = MemoryLog(MemoryBroker(lambda: NOON))
    log.create_topics([TopicSpec("crm", 2, {})])
    client = Client(Settings(), log)
    producer = log.producer()
    for number in range(1_200):
        producer.send("crm", number % 2, b"{}", key=b"%d" % number)
    producer.flush(1)
    assert {one.key for one in whole_topic(client, "crm")} == {b"%d" % number for number in range(1_200)}
    with pytest.raises(LogError, match="does not exist"):
        list(whole_topic(client, "nothing"))


def test_applying_says_what_check_says_of_keys_and_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = MemoryLog(MemoryBroker(lambda: NOON))
    log.create_topics([*topic_specs("saffron.", 1), TopicSpec("orders", 1, {})])
    log.producer().send("orders", 0, b'{"order_id": "O-1"}')

    @contextmanager
    def connection(settings: Settings) -> Iterator[Client]:
        yield Client(settings, log)

    monkeypatch.setattr(applied, "connection", connection)
    monkeypatch.setattr(System, "connected", lambda system: Settings(tables=tmp_path / "tables"))
    missing = tmp_path / "tables" / "blocked.csv"
    table = "tables: [{name: blocked, file: blocked.csv, key: order}]"
    (tmp_path / "s.yaml").write_text(
        "stream: s\nkey: ordr_id\nsources: [{topic: orders, ts: message}]\n"
        f"{table}\nadd: {{is_blocked: {{table: blocked, key: order}}}}\n"
    )
    done = saffron("apply", str(tmp_path / "s.yaml"))
    assert done.exit_code == 0, done.output
    told = [one.removeprefix("warning: ") for one in done.output.splitlines() if one.startswith("warning: ")]
    assert told == [
        "orders: no event has the stream's key 'ordr_id'; `ordr_id: PATH` under `attributes` says where it is",
        "orders: no event has 'order', by which is_blocked is looked up: it is null",
        f"table blocked: {missing} is not on this machine; each machine of windowing needs it",
    ]
