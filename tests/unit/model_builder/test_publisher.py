"""Publishing on the in-memory log: keys, partitions, epochs found again, a failed producer replaced."""

from __future__ import annotations

import pytest

from saffron.engine.models.transitions.model import TransitionModel, decode
from saffron.engine.models.transitions.trainer import TransitionCounts, train_transitions
from saffron.errors import LogError
from saffron.model_builder import publisher as publisher_module
from saffron.model_builder.publisher import Publisher, newest_epoch
from saffron.runtime.log import Log, Record, TopicPartition, TopicSpec
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog


def model(query: str, version: tuple[int, int]) -> TransitionModel:
    counts = TransitionCounts(query, 1, 3, 10, True)
    counts.cells = {(0, 1): 1, (1, 2): 1}
    return train_transitions(counts, version, {})


def read(log: Log, partitions: int) -> list[Record]:
    consumer = log.consumer("test", committed_only=True)
    consumer.assign({TopicPartition("models", number): 0 for number in range(partitions)})
    return consumer.poll(100, 0.0)


@pytest.fixture
def log() -> MemoryLog:
    log = MemoryLog(MemoryBroker(lambda: 0))
    log.create_topics([TopicSpec("models", 3, {})])
    return log


def test_models_go_out_under_their_keys_each_always_to_the_same_partition(log: MemoryLog) -> None:
    publisher = Publisher(log, "models")
    publisher.publish([model("a", (1, 0)), model("b", (1, 0))])
    publisher.publish([])
    publisher.publish([model("a", (1, 1))])
    publisher.close()
    records = read(log, 3)
    assert sorted((record.key or b"") for record in records) == [b"a/transitions", b"a/transitions", b"b/transitions"]
    assert len({record.partition for record in records if record.key == b"a/transitions"}) == 1
    for record in records:
        assert decode(record.value or b"", key=record.key).version[0] == 1


def test_a_missing_topic_is_an_error_that_says_what_to_do(log: MemoryLog) -> None:
    with pytest.raises(LogError, match="saffron up"):
        Publisher(log, "elsewhere").publish([model("a", (1, 0))])


def test_the_newest_epoch_is_found_among_good_and_bad_records(log: MemoryLog) -> None:
    assert newest_epoch(log, "models") == -1
    publisher = Publisher(log, "models")
    publisher.publish([model("a", (7, 3)), model("b", (12, 0))])
    producer = log.producer()
    producer.send("models", 0, b"no model", key=b"a/transitions")
    producer.send("models", 1, None, key=b"b/transitions")
    producer.flush(1.0)
    assert newest_epoch(log, "models") == 12


def test_a_model_too_large_for_the_topic_holds_up_no_other(
    log: MemoryLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    large = model("large", (1, 0))
    monkeypatch.setattr(publisher_module, "_MOST_BYTES", len(model("a", (1, 0)).encode()))
    publisher = Publisher(log, "models")
    publisher.publish([large, model("a", (1, 0))])
    assert [record.key for record in read(log, 3)] == [b"a/transitions"]
    assert "large/transitions" in caplog.text
