"""`produce --topic`: lines become messages with their own keys, times and headers."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from saffron.cli.client import Client
from saffron.cli.streams import produce
from saffron.cli.streams.lines import LeftOut
from saffron.cli.streams.messages import produce_messages
from saffron.cli.streams.pace import Latest
from saffron.cli.streams.produce import require_own_key, require_users_topic
from saffron.errors import InputError
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.log import TopicPartition
from saffron.runtime.process.config import Settings
from saffron.runtime.streams.event_producer import EventProducer
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog


@pytest.mark.parametrize("topic", ["t.windows", "t.s.admitted", "t.queries", "t.complex-events", "t.events"])
def test_a_topic_of_saffrons_own_is_refused_unless_it_is_a_streams(topic: str) -> None:
    client = Client(Settings(prefix="t.", bootstrap="memory"), MemoryLog(MemoryBroker(lambda: 5)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "streams", lambda _: {"events": StreamRecord("events", topic="t.events")})
        if topic == "t.events":
            require_users_topic(client, topic)
        else:
            with pytest.raises(InputError, match=f"topic '{topic}' is Saffron's own, as all that begin with 't.'"):
                require_users_topic(client, topic)
        require_users_topic(client, "orders")
    client.log.close()


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        (
            StreamRecord("s", "t.s", definition=AppliedDefinition("", {"orders": 0}, 1)),
            "stream s is merged from orders",
        ),
        (StreamRecord("s", "t.s", source="events"), "stream 's' is made from events"),
    ],
)
def test_a_topic_that_windowing_writes_is_refused(stream: StreamRecord, why: str) -> None:
    client = Client(Settings(prefix="t.", bootstrap="memory"), MemoryLog(MemoryBroker(lambda: 5)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "streams", lambda _: {"s": stream})
        with pytest.raises(InputError, match=why):
            require_users_topic(client, stream.topic)
    client.log.close()


def test_lines_are_values_or_whole_records(tmp_path: Path) -> None:
    path = tmp_path / "orders.ndjson"
    lines = [
        b'{"order_id":1}',
        b'{"key":"k","time":17,"headers":{"h":"v"},"value":{"a":1.50}}',
        b'{"key":{"id":1},"value":null}',
        b"{broken",
    ]
    path.write_bytes(b"\n".join(lines))
    broker = MemoryBroker(lambda: 5)
    client = Client(Settings(prefix="t.", bootstrap="memory"), MemoryLog(broker))
    assert produce_messages(client, "orders", [str(path)], None, LeftOut()) == 4
    found = broker.partition(TopicPartition("orders", 0))
    consumer = client.log.consumer("test", committed_only=True)
    consumer.assign({TopicPartition("orders", 0): found.low})
    records = consumer.poll(10, 0.0)
    assert [record.value for record in records] == [lines[0], b'{"a":1.50}', None, lines[3]]
    assert [record.key for record in records] == [None, b"k", b'{"id":1}', None]
    assert (records[1].timestamp, records[1].headers) == (17, (("h", b"v"),))
    client.log.close()


@pytest.mark.parametrize(
    ("own", "given", "partitions"),
    [
        ("symbol", None, 4),
        ("symbol", "symbol", 4),
        ("symbol", "sector", 1),
        (None, "sector", 4),
        (None, None, 4),
        ("", "sector", 4),
        ("symbol", "", 4),
    ],
)
def test_a_key_that_spreads_events_as_the_streams_own_is_taken(
    own: str | None, given: str | None, partitions: int
) -> None:
    require_own_key(StreamRecord("trades", "t.trades", own), given, partitions)


def test_another_key_than_the_streams_own_is_refused() -> None:
    with pytest.raises(InputError, match=r"'trades' is keyed by symbol, .* lie in 4 partitions: by sector they would"):
        require_own_key(StreamRecord("trades", "t.trades", "symbol"), "sector", 4)


def test_lines_that_did_not_count_for_the_end_are_told_by_the_commands_own_setting(
    capsys: pytest.CaptureFixture[str],
) -> None:
    latest = Latest(86_400_000)
    list(latest.watch(iter([[b'{"type":"A","ts":9e15}']])))
    produce._close(cast("EventProducer", None), "t.events", 4, latest)
    told = " ".join(capsys.readouterr().err.split())
    assert "1 line did not count for the end:" in told
    assert "SAFFRON_MAX_FUTURE_MS (86400000) of this command" in told
    assert "t.events was not closed" in told
