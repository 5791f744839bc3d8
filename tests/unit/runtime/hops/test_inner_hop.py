"""What an inner hop cannot write is told with its topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from saffron.errors import DeniedError
from saffron.runtime.hops.inner_hop import InnerHop
from saffron.runtime.log import Consumer, TopicPartition, TopicSpec
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog, MemoryProducer


class Unassigned:
    """The wiring of a member that the group has given no partition yet."""

    def topics(self) -> Sequence[str]:
        return "t.events", "t.other"

    def output(self, where: TopicPartition) -> TopicPartition:
        return TopicPartition(f"{where.topic}.windows", where.partition)

    def chain(self, where: TopicPartition) -> Any:
        raise AssertionError(where)

    def poll(self, consumer: Consumer, wait: float) -> Sequence[tuple[TopicPartition, Any]]:
        return []

    def sent(self, where: TopicPartition, block: Any, now_ms: float) -> None:
        raise AssertionError(where)


def test_who_may_write_to_no_topic_is_told_which_before_there_is_a_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer without any right fails while the group is still joined."""
    log = MemoryLog(MemoryBroker(lambda: 0))
    log.create_topics([TopicSpec(name, 1, {}) for name in ("t.events", "t.other")])

    def denied(self: MemoryProducer, doing: str) -> None:
        raise DeniedError(doing)

    monkeypatch.setattr(MemoryProducer, "check", denied)
    hop = InnerHop(log, "group", Unassigned(), lambda *_: None, nonce=lambda: "0" * 32)
    with pytest.raises(DeniedError, match=r"writing blocks to t\.events\.windows, t\.other\.windows"):
        hop.step(0)
