"""The `Producer` on librdkafka: idempotent, and transactional with a transactional id."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import confluent_kafka as ck
from confluent_kafka import KafkaError, KafkaException

from saffron.counted import counted
from saffron.errors import DeniedError, LogError, UnavailableError, UnwritableError
from saffron.runtime.log import Committed, TopicPartition
from saffron.runtime.log.kafka import librdkafka_settings
from saffron.runtime.log.kafka.errors import translate
from saffron.runtime.log.kafka.messages import offsets_of
from saffron.runtime.log.timed_calls import TimedCalls

_TIMEOUT = 4.0
_INIT_TIMEOUT = 15.0
_GRACE = 2.0
"""Seconds beyond its own timeout after which a transaction call is abandoned."""
_STARTING, _CONNECTING = 0.02, 0.2
"""Seconds for librdkafka's threads to start, and for the connection.

librdkafka requests a producer id once connected, else only after another half second. Connecting first spares the first
message that delay.
"""
_SERVE_EVERY = 500
_WAIT_FULL = 0.05
_TRIES = 3


class KafkaProducer:
    """Writes records. After a transaction error with unknown outcome, create a new producer.

    librdkafka uses the old transaction protocol. A late commit or abort could hit the next transaction of the same
    producer.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._failure: LogError | None = None
        self._sent = 0
        self.waited_ms = 0.0
        self._calls = TimedCalls(f"transactions of {settings.get('transactional.id')}")
        self._producer = librdkafka_settings.client(ck.Producer, {**settings, "on_delivery": self._delivered})
        self._connect()
        if "transactional.id" in settings:
            doing = f"initialising transactions of {settings['transactional.id']}"
            try:
                self._call(doing, lambda: self._producer.init_transactions(_INIT_TIMEOUT), _INIT_TIMEOUT, tries=1)
            except LogError:
                self.close()
                raise

    def _connect(self) -> None:
        """Waits a moment for the connection. Without one, sending raises the error."""
        self._producer.poll(_STARTING)
        with contextlib.suppress(KafkaException):
            self._producer.list_topics(timeout=_CONNECTING)

    def send(
        self,
        topic: str,
        partition: int,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Sequence[tuple[str, bytes]] = (),
        timestamp: int | None = None,
    ) -> None:
        """Queues one record at librdkafka, and now and then serves its delivery callbacks.

        LogError: an earlier record was not delivered, or librdkafka takes none.
        """
        self._check()
        extra: dict[str, Any] = {}
        if headers:
            extra["headers"] = list(headers)
        if timestamp is not None:
            extra["timestamp"] = timestamp
        while True:
            try:
                self._producer.produce(topic, value, key, partition, **extra)
                break
            except BufferError:
                self._wait()
                self._check()
            except KafkaException as error:
                raise translate(error, f"sending to {topic}/{partition}", topic) from error
        self._sent += 1
        if self._sent % _SERVE_EVERY == 0:
            self._producer.poll(0)

    def send_many(self, topic: str, messages: list[dict[str, Any]], partition: int | None = None) -> None:
        """Queues the records by librdkafka's batch call, and again those for which the queue had no room.

        LogError: a record was refused or not delivered. The dicts are changed by librdkafka.
        """
        rest = messages
        while rest:
            self._check()
            where = -1 if partition is None else partition
            try:
                queued = self._producer.produce_batch(topic, rest, where)
            except BufferError:
                self._wait()
                continue
            except KafkaException as error:
                raise translate(error, f"sending to {topic}") from error
            if queued < len(rest):
                self._wait()
            self._producer.poll(0)
            rest = [] if queued == len(rest) else _not_queued(rest, topic)
        self._check()

    def check(self, doing: str) -> None:
        try:
            self._producer.poll(0)
        except KafkaException as error:  # an error of the producer itself
            raise translate(error, doing) from error
        self._check()

    def flush(self, timeout: float) -> None:
        left = self._producer.flush(timeout)
        self._check()
        if left:
            waiting = counted(left, "message is", "messages are")
            raise UnavailableError(f"{waiting} not acknowledged after {timeout:g} s: is the broker there?")

    def begin(self) -> None:
        self._check()
        self._call("beginning a transaction", self._producer.begin_transaction)

    def send_offsets(self, positions: Mapping[TopicPartition, Committed], membership: Any) -> None:
        offsets = offsets_of(positions)
        self._call(
            "sending positions", lambda: self._producer.send_offsets_to_transaction(offsets, membership, _TIMEOUT)
        )

    def commit(self) -> None:
        self._call("committing", lambda: self._producer.commit_transaction(_TIMEOUT))
        self._check()

    def abort(self) -> None:
        self._call("aborting", lambda: self._producer.abort_transaction(_TIMEOUT))
        self._failure = None

    def close(self) -> None:
        self._calls.close()
        self._producer.purge()
        with contextlib.suppress(KafkaException):  # a fenced producer raises once more
            self._producer.poll(0)

    # ------------------------------------------------------------ inside

    def _delivered(self, error: KafkaError | None, message: ck.Message) -> None:
        """The delivery callback. It runs for failures only, inside calls of the producer."""
        if error is not None and self._failure is None:
            topic = message.topic() or ""
            self._failure = translate(error, f"delivering to {topic}/{message.partition()}", topic)

    def _wait(self) -> None:
        """Waits while the queue is full."""
        began = perf_counter()
        self._producer.poll(_WAIT_FULL)
        self.waited_ms += 1000 * (perf_counter() - began)

    def _check(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _call(self, doing: str, act: Callable[[], object], timeout: float = _TIMEOUT, *, tries: int = _TRIES) -> None:
        """Runs one transaction call, again while its error is retriable."""
        for attempt in range(tries):
            try:
                self._calls.call(act, timeout + _GRACE, doing)
                return
            except KafkaException as error:
                cause = error.args[0]
                if attempt + 1 == tries or not (isinstance(cause, KafkaError) and cause.retriable()):
                    with contextlib.suppress(KafkaException):
                        self._producer.poll(0)  # the delivery callback names the topic, and may not have run yet
                    if isinstance(self._failure, DeniedError | UnwritableError):  # the cause
                        self._check()
                    raise translate(error, doing) from error


def _not_queued(messages: list[dict[str, Any]], topic: str) -> list[dict[str, Any]]:
    """The messages for which the queue had no room. LogError: one was refused for another reason."""
    refused = [(message, error) for message in messages if (error := message.pop("_error", None)) is not None]
    for _, error in refused:
        if error.code() != KafkaError._QUEUE_FULL:
            raise translate(error, f"sending to {topic}")
    return [message for message, _ in refused]
