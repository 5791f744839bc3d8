"""Errors of librdkafka are told apart by their flags; calls that never return are given up on."""

from __future__ import annotations

import threading

import pytest
from confluent_kafka import KafkaError, KafkaException

from saffron.errors import AbortableError, DeniedError, FencedError, LogError, TooLargeError, UnavailableError
from saffron.runtime.log.kafka.errors import is_transient, translate
from saffron.runtime.log.kafka.producer import _not_queued
from saffron.runtime.log.timed_calls import TimedCalls


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (KafkaError(KafkaError._FENCED, "x", True, False, False), FencedError),
        (KafkaError(KafkaError.INVALID_PRODUCER_EPOCH, "x", True, False, False), FencedError),
        (KafkaError(KafkaError.ILLEGAL_GENERATION, "x", False, False, True), AbortableError),
        (KafkaError(KafkaError._ALL_BROKERS_DOWN), UnavailableError),
        (KafkaError(KafkaError._TIMED_OUT, "x", False, True, False), UnavailableError),
        (KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), DeniedError),
        (KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED, "x", False, False, True), DeniedError),
        (KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "x", True, False, False), DeniedError),
        (KafkaError(KafkaError._AUTHENTICATION), DeniedError),
        (KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), TooLargeError),
        (KafkaError(KafkaError.RECORD_LIST_TOO_LARGE, "x", False, False, True), TooLargeError),
        (KafkaError(KafkaError.INVALID_MSG), LogError),
    ],
)
def test_errors_are_told_apart_by_their_flags(error: KafkaError, kind: type[LogError]) -> None:
    found = translate(KafkaException(error), "committing")
    assert type(found) is kind
    assert str(found).startswith("committing: ")
    assert error.name() in str(found)


def test_a_missing_right_names_the_topic_that_alone_is_closed() -> None:
    named = translate(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), "reading", read="alerts")
    other = translate(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED), "reading", read="alerts")
    assert isinstance(named, DeniedError)
    assert isinstance(other, DeniedError)
    assert (named.topic, other.topic) == ("alerts", "")


def test_only_fatal_errors_and_missing_rights_end_a_consumer() -> None:
    assert not is_transient(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    assert is_transient(KafkaError(KafkaError._TRANSPORT))
    assert not is_transient(KafkaError(KafkaError._FATAL, "x", True, False, False))


def test_patience_passes_on_what_a_call_does() -> None:
    calls, done = TimedCalls("test"), list[int]()
    calls.call(lambda: done.append(1), 5, "working")
    assert done == [1]

    def fail() -> None:
        raise LogError("no")

    with pytest.raises(LogError, match="no"):
        calls.call(fail, 5, "working")
    calls.close()


def test_patience_gives_up_and_serves_the_next_call() -> None:
    calls, never, done = TimedCalls("test"), threading.Event(), list[int]()
    with pytest.raises(UnavailableError, match=r"^waiting: no answer within 0\.01 s$"):
        calls.call(lambda: never.wait(30), 0.01, "waiting")
    calls.call(lambda: done.append(1), 5, "working")
    assert done == [1]
    never.set()
    calls.close()


def test_only_what_found_the_queue_full_is_sent_again() -> None:
    full, large = KafkaError(KafkaError._QUEUE_FULL), KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
    assert _not_queued([{"value": b"a"}, {"value": b"b", "_error": full}], "t") == [{"value": b"b"}]
    with pytest.raises(LogError, match=r"^sending to t: .*MSG_SIZE_TOO_LARGE"):
        _not_queued([{"value": b"a", "_error": full}, {"value": b"b", "_error": large}], "t")
