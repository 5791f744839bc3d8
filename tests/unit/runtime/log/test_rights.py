"""What others' clients need of Kafka, asked beforehand: what is missing is named."""

from __future__ import annotations

import pytest

from saffron.errors import DeniedError, LogError
from saffron.runtime.log import TopicSpec
from saffron.runtime.log.rights import require_joinable, require_readable
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog


@pytest.fixture
def log() -> MemoryLog:
    log = MemoryLog(MemoryBroker(lambda: 0))
    log.create_topics([TopicSpec("models", 2, {})])
    log.producer().send("models", 1, b"x")
    return log


def test_what_may_be_read_and_joined_is_passed_over(log: MemoryLog) -> None:
    require_readable(log, "rights", ["models"])
    require_joinable(log, "rights", "models")


def test_a_topic_that_is_missing_or_may_not_be_read_is_named(log: MemoryLog) -> None:
    with pytest.raises(LogError, match="topic queries does not exist"):
        require_readable(log, "rights", ["models", "queries"])
    log.inject("poll", DeniedError("models: no"), after=False)
    with pytest.raises(DeniedError, match="models: no"):
        require_readable(log, "rights", ["models"])
    log.inject("poll", DeniedError("group: no"), after=False)
    with pytest.raises(DeniedError, match="group: no"):
        require_joinable(log, "rights", "models")
