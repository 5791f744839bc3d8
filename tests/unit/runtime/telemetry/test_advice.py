"""Load reports and digests that cannot be written: they are left out, but a right that is lacking is told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from saffron.errors import DeniedError, LogError, TooLargeError, UnavailableError, WriteDeniedError
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.telemetry.advice import Advice
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog, MemoryProducer


@pytest.fixture
def log() -> Iterator[MemoryLog]:
    made = MemoryLog(MemoryBroker(lambda: 1_000))
    made.create_topics(topic_specs("t.", 1))
    yield made
    made.close()


def failing(error: LogError, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(producer: MemoryProducer, doing: str) -> None:
        raise error

    monkeypatch.setattr(MemoryProducer, "check", check)


@pytest.mark.parametrize("error", [TooLargeError("too large"), UnavailableError("timed out"), LogError("lost")])
def test_what_cannot_be_written_is_left_out_and_logged_once(
    log: MemoryLog, error: LogError, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failing(error, monkeypatch)
    advice = Advice(log, "matcher")
    for _ in range(3):
        advice.send("t.load", b"{}", "matcher")
    assert [one.getMessage() for one in caplog.records] == [f"what tells others of this service is left out: {error}"]


@pytest.mark.parametrize("error", [DeniedError("no rights"), WriteDeniedError("grant WRITE on it")])
def test_a_right_that_is_lacking_is_told(log: MemoryLog, error: LogError, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(error, monkeypatch)
    advice = Advice(log, "matcher")
    with pytest.raises(type(error)):
        advice.send("t.load", b"{}", "matcher")
