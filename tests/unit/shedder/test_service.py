"""The shedder service: models first, orders from `load`, and nonsense there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.events.codec import decode_block, encode_block
from saffron.runtime.hops.tags import BlockTag, ClaimTag, read_tag
from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.log.topics import Topics, topic_specs
from saffron.runtime.process.config import Settings
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metrics import Metrics
from saffron.shedder.service import ShedderService
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.engine.shed.blocks import transition_model
from tests.unit.runtime.fakes import columns

TOPICS = Topics("t.")


def test_an_order_on_load_reaches_the_stream_and_nonsense_is_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now = 1_000
    broker = MemoryBroker(lambda: now)
    for spec in topic_specs("t.", 1):
        broker.create(TopicSpec(spec.name, spec.partitions, {}))
    producer = MemoryLog(broker).producer()
    health = Health("shedder")
    service = ShedderService(MemoryLog(broker), replace(Settings(), data=tmp_path, prefix="t."), Metrics(), health)

    def block(counter: int, seq: int, *controls: Control) -> None:
        nonlocal now
        content = Block(columns([seq], [0], [0]), seq, seq + 1, 0, counter=counter, controls=controls)
        producer.send(TOPICS.windows, 0, encode_block(content), headers=BlockTag(0, 0, -1, False).headers())
        for _ in range(10):
            now += 1
            service.step(now)

    producer.send(TOPICS.windows, 0, b"", headers=ClaimTag("0" * 32).headers())
    body = {"op": "add", "name": "q", "version": 1, "text": "", "slot": 0, "from": "now"}
    block(0, 0, Control(0, "query", body))
    assert health.status()["ready"]
    order = {"kind": "force", "stream": "events", "partition": 0, "query": "q", "n": 4}
    for value in (b"{not json", b"[]", b'{"stream": 3}', orjson.dumps(order)):
        producer.send(TOPICS.load, 0, value)
    service.step(now)
    block(2, 1)
    records = broker.partition(TopicPartition(TOPICS.admitted, 0)).read(0, 100, False)[0]
    blocks = [decode_block(record.value or b"") for record in records if isinstance(read_tag(record), BlockTag)]
    kinds = [[control.kind for control in one.controls] for one in blocks]
    assert kinds == [["query"], ["keep"]]
    assert blocks[1].controls[0].body["n"] == 4
    assert sum("passed over" in message for message in caplog.messages) == 3


def test_a_service_that_starts_again_passes_over_a_torn_model(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    broker = MemoryBroker(lambda: 1_000)
    for spec in topic_specs("t.", 1):
        broker.create(TopicSpec(spec.name, spec.partitions, {}))
    producer, model = MemoryLog(broker).producer(), transition_model("q", (1, 1))
    for value in (model.encode(), b"torn"):
        producer.send(TOPICS.models, 0, value, key=model.key)
    settings = replace(Settings(), data=tmp_path, prefix="t.")
    service = ShedderService(MemoryLog(broker), settings, Metrics(), Health("shedder"))
    for now in range(1_001, 1_020):
        service.step(now)
    for _ in range(2):
        operator = service.chain(TopicPartition(TOPICS.windows, 0)).operator
        assert [*operator._offered.transitions] == ["q"]
    assert sum("the last good one stays in force" in message for message in caplog.messages) == 1
