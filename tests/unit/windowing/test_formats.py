"""Messages by schemas of a registry, through the service: it is asked once, and waited for while it is down."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pytest

from saffron.engine.events.codec import decode_block
from saffron.engine.events.column_operations import column_values
from saffron.errors import LogError, SettingsError
from saffron.runtime.hops.tags import BlockTag, read_tag
from saffron.runtime.log import TopicPartition
from saffron.runtime.log.topics import Topics, stream_topics, topic_files, topic_specs
from saffron.runtime.process.background import at_once
from saffron.runtime.process.config import Settings
from saffron.runtime.streams.registry import Registry, over_http
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metrics import Metrics
from saffron.windowing.service import WindowingService
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.engine.events.test_framed import FIRST, MS, SECOND, WHEN, avro, framed
from tests.unit.windowing.fake_registry import FakeRegistry, running

TOPICS = Topics("t.")


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with running() as one:
        one.add(1, json.dumps(FIRST))
        one.add(2, json.dumps(SECOND))
        yield one


class Bench:
    """The service over a stream of Avro messages on an in-memory log."""

    def __init__(self, directory: Path, url: str) -> None:
        self.now = MS
        self.broker = MemoryBroker(lambda: self.now)
        for spec in [
            *topic_specs("t.", 1),
            topic_files()["events"].spec("quotes", 1),
            *stream_topics("t.", "quotes", 1),
        ]:
            self.broker.create(spec)
        self.producer = MemoryLog(self.broker).producer()
        row = {"name": "quotes", "topic": "quotes", "key": None, "schema": None, "disorder": 0, "idle": None}
        row |= {"format": "avro", "registry": url}
        self.producer.send(TOPICS.streams, 0, orjson.dumps(row), key=b"quotes")
        self.health = Health("windowing")
        settings = replace(Settings(), data=directory, prefix="t.", flush_ms=5, registry_auth="me:secret")
        self.service = WindowingService(MemoryLog(self.broker), settings, Metrics(), self.health, background=at_once)

    def send(self, *values: bytes) -> None:
        for value in values:
            self.producer.send("quotes", 0, value, timestamp=MS)

    def drive(self, milliseconds: int, step: int = 20) -> None:
        for _ in range(milliseconds // step):
            self.now += step
            self.service.step(self.now)

    def values(self, name: str) -> list[Any]:
        """An attribute of all events; None where a block does not know it."""
        records = self.broker.partition(TopicPartition(TOPICS.windows_of("quotes"), 0)).read(0, 1000, False)[0]
        blocks = [decode_block(record.value or b"") for record in records if isinstance(read_tag(record), BlockTag)]
        columns = [(block.columns.attributes.get(name), len(block.columns)) for block in blocks]
        return [one for column, n in columns for one in ([None] * n if column is None else column_values(column))]

    def symbols(self) -> list[Any]:
        return self.values("symbol")

    def letters(self) -> list[dict[str, Any]]:
        records = self.broker.partition(TopicPartition(TOPICS.dead_letters, 0)).read(0, 1000, False)[0]
        return [orjson.loads(record.value or b"") for record in records]


def quote(schema: int, symbol: str) -> bytes:
    written = FIRST if schema == 1 else SECOND
    price = Decimal("1.00") if schema == 1 else 1.0
    return avro(schema, written, {"ts": WHEN, "symbol": symbol, "price": price})


def test_a_registry_that_is_down_is_waited_for_and_nothing_is_lost(registry: FakeRegistry, tmp_path: Path) -> None:
    registry.down = True
    bench = Bench(tmp_path, registry.url)
    bench.send(quote(1, "IBM"), quote(2, "KO"))
    bench.drive(3_000)
    assert (bench.symbols(), bench.letters()) == ([], [])
    status = bench.health.status()
    why = f"the schema registry at {registry.url} answers 500 Internal Server Error"
    assert [one.partition(": is it up")[0] for one in status["streams"]] == [f"stream quotes: {why}"]
    assert status["ready"], "a start or a rollout that waits for one stream holds up all"
    assert len(registry.asked) <= 2 * 4, "once a second for each schema"
    registry.down = False
    bench.drive(4_000)
    assert bench.symbols() == ["IBM", "KO"]
    assert bench.health.status()["streams"] == []
    assert registry.authorization == "Basic bWU6c2VjcmV0"
    asked = len(registry.asked)
    bench.send(quote(2, "XOM"), quote(1, "GE"))
    bench.drive(200)
    assert bench.symbols() == ["IBM", "KO", "XOM", "GE"]
    assert len(registry.asked) == asked, "what an id means never changes"
    bench.service.close(bench.now)


def test_a_stream_that_is_removed_waits_for_no_registry(registry: FakeRegistry, tmp_path: Path) -> None:
    registry.down = True
    bench = Bench(tmp_path, registry.url)
    bench.send(quote(1, "IBM"))
    bench.drive(3_000)
    assert bench.health.status()["streams"] != []
    bench.producer.send(TOPICS.streams, 0, None, key=b"quotes")
    bench.drive(3_000)
    assert bench.health.status()["streams"] == []
    bench.service.close(bench.now)


def test_a_schema_that_nobody_knows_is_a_dead_letter_until_somebody_does(
    registry: FakeRegistry, tmp_path: Path
) -> None:
    bench = Bench(tmp_path, registry.url)
    unknown = framed(7, quote(1, "GE")[5:])
    bench.send(quote(1, "IBM"), unknown)
    bench.drive(2_000)
    assert bench.symbols() == ["IBM"]
    (letter,) = bench.letters()
    assert (letter["reason"], letter["detail"]) == ("unknown-schema", "the registry knows no schema 7")
    registry.add(7, json.dumps(FIRST))
    bench.drive(10_000)
    bench.send(unknown)
    bench.drive(500)
    assert bench.symbols() == ["IBM", "GE"]
    bench.service.close(bench.now)


THIRD = {**FIRST, "fields": [*SECOND["fields"], {"name": "venue", "type": "string"}]}


def test_a_new_schema_of_the_registry_grows_a_running_stream(registry: FakeRegistry, tmp_path: Path) -> None:
    """Attributes and kinds that it brings are one version more, told once, whichever id a message has from then on."""
    bench = Bench(tmp_path, registry.url)
    bench.send(quote(1, "IBM"))
    bench.drive(2_000)
    registry.add(3, json.dumps(THIRD))
    grown = {"ts": WHEN, "symbol": "KO", "price": 1.5, "size": 2**53 + 1, "venue": "X"}
    bench.send(avro(3, THIRD, grown), quote(1, "GE"), quote(2, "XOM"))
    bench.drive(2_000)
    assert bench.letters() == []
    assert bench.values("symbol") == ["IBM", "KO", "GE", "XOM"]
    assert bench.values("price") == [1, 1.5, 1, 1]
    assert bench.values("size") == [None, 2**53 + 1, None, None]
    assert bench.values("venue") == [None, "X", None, None]
    records = bench.broker.partition(TopicPartition(TOPICS.streams, 0)).read(0, 1000, False)[0]
    versions = [orjson.loads(one.value or b"") for one in records if one.key == b"quotes/schema"]
    kinds = [list(one["schema"]["kinds"]) for one in versions]
    assert kinds == [["symbol", "price"], ["symbol", "price", "size", "venue"]]
    bench.service.close(bench.now)


def test_references_come_before_what_names_them() -> None:
    body = {"schema": "top", "references": [{"name": "a", "subject": "s/a", "version": 3}]}
    answers = {
        "/schemas/ids/5": body,
        "/subjects/s%2Fa/versions/3": {"schema": "A", "references": [{"name": "b", "subject": "sb", "version": 1}]},
        "/subjects/sb/versions/1": {"schema": "B"},
    }
    asked = Registry(answers.__getitem__, at_once)
    assert asked.schemas([5], 0) is None
    found = asked.schemas([5], 1)
    assert found is not None
    assert found[5] is not None
    assert (found[5].kind, found[5].text, found[5].references) == ("AVRO", "top", (("b", "B"), ("a", "A")))


def test_a_registry_of_too_many_bytes_is_waited_for(registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("saffron.runtime.streams.registry._MOST_BYTES", 100)
    registry.add(1, "x" * 100)
    with pytest.raises(LogError, match="its answer has more than 100 bytes"):
        over_http(registry.url, "")("/schemas/ids/1")


@pytest.mark.parametrize(
    ("auth", "sent"),
    [
        ("me:secret", True),
        ("me:secret@{url}", True),
        ("me:secret@http://a:1,{url}/", True),
        ("me:secret@http://a:1", False),
        ("me:secret@https://{place}", False),
        ("me:secret@http://", False),
        ("me:secret@http://a:1,you:other@{url}", False),
    ],
)
def test_credentials_are_sent_where_they_hold(registry: FakeRegistry, auth: str, sent: bool) -> None:
    registry.add(1, "x")
    over_http(registry.url, auth.format(url=registry.url, place=registry.url.removeprefix("http://")))("/schemas/ids/1")
    assert registry.authorization == ("Basic bWU6c2VjcmV0" if sent else None)


def test_a_redirection_takes_no_credentials_along(registry: FakeRegistry) -> None:
    with running() as other:
        other.redirect = registry.url
        registry.add(1, "x")
        assert over_http(other.url, "me:secret")("/schemas/ids/1") == {"schema": "x"}
    assert (other.authorization, registry.authorization) == ("Basic bWU6c2VjcmV0", None)


@pytest.mark.parametrize("url", ["registry:8081", "ftp://registry", "http://me:secret@registry:8081", "http://"])
def test_a_registry_needs_a_url_without_a_password(url: str) -> None:
    with pytest.raises(SettingsError, match="registry_auth"):
        over_http(url, "")
