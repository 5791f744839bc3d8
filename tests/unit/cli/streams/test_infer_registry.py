"""`stream infer --registry` on topics of Avro: the definition that it writes is one that `stream check` passes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from saffron.cli.options import System
from saffron.cli.streams.stream import app
from saffron.mapping.definition_reader import read_definition
from saffron.runtime.log import TopicSpec
from saffron.runtime.log.kafka import kafka_log
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.process.config import Settings
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.engine.events.test_framed import avro, framed
from tests.unit.windowing.fake_registry import FakeRegistry, running

NOON = 1_777_629_600_000
ORDER: dict[str, Any] = {
    "type": "record",
    "name": "com.acme.Order",
    "fields": [
        {"name": "order_id", "type": "string"},
        {"name": "created_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {
            "name": "customer",
            "type": ["null", {"type": "record", "name": "C", "fields": [{"name": "id", "type": "int"}]}],
        },
    ],
}


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRegistry]:
    """The registry of orders in Avro; payments are JSON, and the schema of what is lost is not known."""
    monkeypatch.chdir(tmp_path)
    broker = MemoryBroker(lambda: NOON)
    log = MemoryLog(broker)
    log.create_topics([*topic_specs("saffron.", 1), *(TopicSpec(one, 2, {}) for one in ("orders", "payments", "lost"))])
    producer = log.producer(client_id="test")
    for number in range(6):
        at = datetime.fromtimestamp(NOON / 1000, UTC) + timedelta(minutes=number)
        order = {"order_id": f"O-{number}", "created_at": at, "customer": {"id": number} if number % 2 else None}
        payment = json.dumps({"order": {"id": f"O-{number}"}, "paid_at": NOON // 1000 + 60 * number}).encode()
        for topic, value in (("orders", avro(7, ORDER, order)), ("payments", payment), ("lost", framed(99, b"\x02a"))):
            producer.send(topic, number % 2, value, timestamp=NOON + 60_000 * number)
    producer.send("orders", 0, None, key=b"O-0", timestamp=NOON)
    producer.flush(1.0)
    settings = replace(Settings(prefix="saffron.", bootstrap="memory"), registry_auth="me:secret")
    monkeypatch.setattr(kafka_log, "connect", lambda _: MemoryLog(broker))
    monkeypatch.setattr(System, "connected", lambda _: settings)
    with running() as one:
        one.add(7, json.dumps(ORDER))
        yield one


def saffron(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_what_is_inferred_by_a_registry_is_checked_without_a_refusal(registry: FakeRegistry) -> None:
    done = saffron("infer", "orders", "payments", "--name", "shop", "--registry", registry.url, "--out", "shop.yaml")
    assert done.exit_code == 0, done.output
    assert registry.authorization == "Basic bWU6c2VjcmV0"
    orders, payments = read_definition(Path("shop.yaml").read_text("utf-8")).sources
    assert (orders.format, orders.registry, payments.format) == ("avro", registry.url, "json")
    done = saffron("check", "shop.yaml", "--json")
    assert done.exit_code == 0, done.output
    read, paid = json.loads(done.stdout)
    assert (read["events"], read["refused"], paid["events"], paid["refused"]) == (6, {}, 6, {})
    assert read["attributes"]["order_id"] == paid["attributes"]["order_id"] == 6
    assert read["attributes"]["customer.id"] == 3
    assert read["examples"][0]["ts"] == NOON


def test_what_could_not_be_read_is_said_beside_the_definition(registry: FakeRegistry) -> None:
    done = saffron("infer", "lost", "orders", "--name", "shop", "--registry", registry.url)
    assert done.exit_code == 0, done.output
    sentence = "6 not read (unknown-schema); the first is lost/0/0: the registry knows no schema 99"
    assert f"lost: {sentence}\n" in done.stderr
    assert f"  # {sentence}\n" in done.stdout
    assert [one.format for one in read_definition(done.stdout).sources] == ["json", "avro"]


def test_without_a_registry_it_is_said_how_infer_reads_them(registry: FakeRegistry) -> None:
    done = saffron("infer", "orders", "--name", "shop", "--out", "shop.yaml")
    assert "orders: its messages have the frame of a schema registry: infer reads them with" in done.output
    assert registry.asked == []


def test_a_registry_that_is_not_needed_is_said(registry: FakeRegistry) -> None:
    done = saffron("infer", "payments", "--name", "shop", "--registry", registry.url)
    assert "the registry was not asked: no topic has messages of Avro or Protobuf" in done.stderr
    assert read_definition(done.stdout).sources[0].registry is None
    assert "was not asked" not in saffron("infer", "payments", "--name", "shop").stderr


def test_a_wrong_url_is_refused_before_anything_is_read(registry: FakeRegistry) -> None:
    done = saffron("infer", "orders", "--name", "shop", "--registry", "registry:8081")
    assert done.exit_code == 2
    assert "'registry:8081' is no registry" in done.output
