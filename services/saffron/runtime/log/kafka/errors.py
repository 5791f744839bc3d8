"""Conversion of librdkafka's errors to ours, by their flags and codes, never by their text."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from saffron.errors import (
    AbortableError,
    DeniedError,
    FencedError,
    LogError,
    TooLargeError,
    UnavailableError,
    UnwritableError,
    WriteDeniedError,
)

_FENCED = frozenset(
    {
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
    }
)
_UNAVAILABLE = frozenset(
    {KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._RESOLVE}
)
_DENIED = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError._AUTHENTICATION,
    }
)
_TOO_LARGE = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE})
_REFUSED = frozenset({KafkaError.INVALID_RECORD, KafkaError.INVALID_TIMESTAMP, KafkaError.POLICY_VIOLATION})
"""The topic's settings do not allow the message: it is compacted and the message has no key, for example."""
_MOVING = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_PARTITION,
    }
)


def translate(error: KafkaException | KafkaError, doing: str, topic: str = "", *, read: str = "") -> LogError:
    """The error to raise for `error`. `doing`: the action that failed, for the message.

    `topic`: that it wrote to; `read`: that it read, or asked for.
    """
    cause = error.args[0] if isinstance(error, KafkaException) else error
    if not isinstance(cause, KafkaError):
        return LogError(f"{doing}: {cause}")
    text = f"{doing}: {cause.str()} ({cause.name()})"
    if cause.code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED:  # the only error a producer gets before it sends
        text = f"{doing}: the user may write to no topic at all ({cause.name()})"
    if cause.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED and topic:
        return WriteDeniedError(f"{text}: grant WRITE on it", topic)
    if is_denied(cause):
        return DeniedError(text, read if cause.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED else "")
    if cause.code() in _TOO_LARGE:
        return TooLargeError(f"{text}: `saffron doctor` names topics whose max.message.bytes is too small", topic)
    if cause.code() in _REFUSED:
        return UnwritableError(f"{text}: `saffron doctor` names topics whose settings are wrong", topic)
    if cause.code() in _FENCED:
        return FencedError(text)
    if cause.txn_requires_abort():
        return AbortableError(text)
    if cause.code() in _UNAVAILABLE:
        return UnavailableError(text)
    return LogError(text)


def is_topic_unsettled(error: KafkaException) -> bool:
    """True if a new topic or leader is not known to all brokers yet, so that a retry helps."""
    cause = error.args[0]
    return isinstance(cause, KafkaError) and cause.code() in _MOVING


def is_topic_invisible(error: KafkaException) -> bool:
    """True if the topic does not exist, or the user has no right to see it."""
    cause = error.args[0]
    return isinstance(cause, KafkaError) and (cause.code() == KafkaError.UNKNOWN_TOPIC_OR_PART or is_denied(cause))


def is_denied(error: KafkaError) -> bool:
    """True if a right is missing, or authentication failed."""
    return error.code() in _DENIED


def is_transient(error: KafkaError) -> bool:
    """True if a consumer's error passes by itself: librdkafka retries."""
    return not (error.fatal() or is_denied(error))
