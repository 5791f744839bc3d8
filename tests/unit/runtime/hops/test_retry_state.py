"""What a chain does when one of its transactions fails or has no known outcome."""

from __future__ import annotations

import logging

import pytest

from saffron.errors import DeniedError, FencedError, LogError, RowsError, SearchError
from saffron.runtime.hops.retry_state import RetryState
from saffron.runtime.log import TopicPartition

RETRY_MS = 700


class Chain:
    def __init__(self, error: Exception | None) -> None:
        self.error, self.dropped = error, 0
        self.retry = RetryState(TopicPartition("events", 3), RETRY_MS, self._drop, lambda error: self.blames)
        self.blames = False

    def _drop(self) -> None:
        self.dropped += 1

    def act(self, now_ms: int) -> bool:
        if self.error is not None:
            raise self.error
        return now_ms > 10


def test_what_goes_well_changes_nothing() -> None:
    chain = Chain(None)
    assert [chain.retry.run(now, chain.act) for now in (5, 15)] == [False, True]
    assert (chain.dropped, chain.retry.retry_at) == (0, 0)


def test_a_fenced_chain_waits_for_its_group_to_say_whose_the_partition_is() -> None:
    chain = Chain(FencedError("fenced"))
    assert chain.retry.run(100, chain.act)
    assert (chain.dropped, chain.retry.retry_at) == (1, 100 + RETRY_MS)


def test_any_other_doubt_is_told_and_soon_over(caplog: pytest.LogCaptureFixture) -> None:
    chain = Chain(LogError("timed out"))
    with caplog.at_level(logging.WARNING):
        assert chain.retry.run(100, chain.act)
    assert chain.dropped == 1
    assert 100 < chain.retry.retry_at < 100 + RETRY_MS
    assert caplog.messages == ["events/3: timed out; taking over again"]


def test_rows_without_their_schema_are_told_once_and_until_they_are_written(caplog: pytest.LogCaptureFixture) -> None:
    chain = Chain(None)
    for now in range(0, 5000, 1000):
        assert not chain.retry.run(now, lambda now_ms: False), "it takes over again"
        chain.error = RowsError("the rows wait")
        assert chain.retry.run(now + 1, chain.act)
        assert chain.retry.trouble == "the rows wait"
    assert caplog.messages == ["events/3: the rows wait"]
    chain.retry.obstacle.written()
    assert chain.retry.trouble is None


def test_what_taking_over_again_would_not_mend_is_raised() -> None:
    chain = Chain(DeniedError("not allowed"))
    with pytest.raises(DeniedError):
        chain.retry.run(100, chain.act)
    assert chain.dropped == 0
    chain.blames = True
    assert chain.retry.run(100, chain.act)
    assert chain.dropped == 1


def test_a_search_that_takes_long_is_looked_at_again_soon_and_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    chain = Chain(SearchError("the last result is looked for"))
    with caplog.at_level(logging.INFO):
        for now in (100, 600):
            assert chain.retry.run(now, chain.act)
            assert now < chain.retry.retry_at < now + 500
    assert [(one.levelname, one.message) for one in caplog.records] == [
        ("INFO", "events/3: the last result is looked for")
    ]
    assert chain.retry.trouble == "the last result is looked for"
    chain.error = None
    chain.retry.run(1_100, chain.act)
    assert chain.retry.trouble is None
