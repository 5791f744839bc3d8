"""librdkafka's errors as ours, told apart by their flags and never by their text."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from saffron.errors import AbortableError, DeniedError, FencedError, LogError, TooLargeError, UnavailableError

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
_MOVING = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_PARTITION,
    }
)


def translate(error: KafkaException | KafkaError, doing: str) -> LogError:
    """The error to raise for `error`, which came while `doing`."""
    cause = error.args[0] if isinstance(error, KafkaException) else error
    if not isinstance(cause, KafkaError):
        return LogError(f"{doing}: {cause}")
    text = f"{doing}: {cause.str()} ({cause.name()})"
    if cause.code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED:  # all that a producer is told before it sends
        text = f"{doing}: the user may write to no topic at all ({cause.name()})"
    if denies(cause):
        return DeniedError(text)
    if cause.code() in _TOO_LARGE:
        return TooLargeError(f"{text}; `saffron doctor` names topics whose max.message.bytes is too small")
    if cause.code() in _FENCED:
        return FencedError(text)
    if cause.txn_requires_abort():
        return AbortableError(text)
    if cause.code() in _UNAVAILABLE:
        return UnavailableError(text)
    return LogError(text)


def moving(error: KafkaException) -> bool:
    """Whether a topic that was just made, or has a new leader, is not known everywhere yet: to be asked again."""
    cause = error.args[0]
    return isinstance(cause, KafkaError) and cause.code() in _MOVING


def unseen(error: KafkaException) -> bool:
    """Whether there is no such topic, or none that may be seen."""
    cause = error.args[0]
    return isinstance(cause, KafkaError) and (cause.code() == KafkaError.UNKNOWN_TOPIC_OR_PART or denies(cause))


def denies(error: KafkaError) -> bool:
    """Whether a right is missing, or who it is that speaks is not believed."""
    return error.code() in _DENIED


def passing(error: KafkaError) -> bool:
    """Whether a consumer's error mends itself: librdkafka goes on trying."""
    return not (error.fatal() or denies(error))
