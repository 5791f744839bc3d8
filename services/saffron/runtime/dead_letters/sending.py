"""Sends a dead letter's message to its stream again.

Nothing is deleted, and no message is sent twice by mistake. A copy of the dead letter with the header `sent-again`
records the attempt, before and after sending. The message's header `dead-letter` names its origin. If the process dies
between the copies, the first one stops a second attempt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.errors import InputError
from saffron.records.stream import StreamRecord
from saffron.runtime.dead_letters.correction import Correction, correct, event_of
from saffron.runtime.dead_letters.dry_run import DryRun, dry_run, newest_watermark
from saffron.runtime.dead_letters.elements import read_element, source_watermark
from saffron.runtime.dead_letters.letters import BEGUN, DONE, SENT_AGAIN, Letter
from saffron.runtime.dead_letters.reading import DeadLetters
from saffron.runtime.dead_letters.showing import encoded
from saffron.runtime.hops.tags import Headers
from saffron.runtime.log import Record, TopicPartition
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.process.background import at_once
from saffron.runtime.streams.event_keys import keys_of
from saffron.runtime.streams.stream_formats import Formats

ORIGIN = "dead-letter"
"""Header of a message that was sent again: the id of its dead letter."""
_FLUSH_SECONDS = 10.0
_AHEAD_MS = 60_000
"""Lead over its partition above which an event gets a note: the watermark follows it."""
_LATE = (
    "Results up to there stand. To see what it would have changed, run the query over the history: `saffron tail "
    "{topic} --from earliest --end > events.ndjson`, then `saffron replay -q QUERY events.ndjson --disorder 10000d`; "
    "for events to come, let the stream wait longer: `saffron stream set {stream} --disorder 5s`"
)
_OF_MESSAGE = frozenset(
    {
        "not-json",
        "not-csv",
        "too-deep",
        "no-frame",
        "unknown-schema",
        "bad-payload",
        "not-an-array",
        "not-an-object",
        "no-cloudevent",
        "too-large",
        "fault",
    }
)
"""Reasons for which a whole message may be one dead letter; those of others are of one element."""
_NO_MESSAGE = (
    "is a result, and no message of a stream: it cannot be sent again. Change query {query} as the letter says, for "
    "results to come; `saffron replay` finds those of the past, of any size"
)
_Why = Literal["sent", "late", "refused", "stream", "result"]


class ResendRefusedError(InputError):
    """A letter that should not be sent again. `kind`: the reason."""

    def __init__(self, kind: _Why, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Sources:
    """The streams that dead letters may be of."""

    def __init__(self, streams: Iterable[StreamRecord]) -> None:
        self._streams = tuple(streams)

    def of(self, letter: Letter) -> StreamRecord | None:
        """The stream that a letter's message would be sent to; a merged stream's letters name it.

        That of a stream made from another one is sent to the other one.
        """
        named = next((one for one in self._streams if letter.stream and one.name == letter.stream), None)
        if named is not None and named.definition is not None:
            return named
        is_gone = bool(letter.stream) and named is None
        return None if is_gone else next((one for one in self._streams if one.topic == letter.topic), None)


@dataclass(frozen=True)
class Sending:
    """A message ready to be sent. `notes`: sentences for the user."""

    letter: Letter
    partition: int
    key: bytes | None
    value: bytes
    headers: Headers
    notes: tuple[str, ...]


class Sender:
    """Sender of letters. `group`: consumer group for reading. `credentials`: for schema registries.

    `max_future_ms`: how far an event's time may be ahead of its message's.
    """

    def __init__(self, letters: DeadLetters, group: str, max_future_ms: int, credentials: str = "") -> None:
        self._letters = letters
        # Requests run at once, on this thread: a failure is raised here.
        self._formats = Formats(credentials, lambda: 0, at_once)
        self._group = group
        self._max_future_ms = max_future_ms

    def prepare(self, letter: Letter, known: Sources, correction: Correction, now_ms: int, *, again: bool) -> Sending:
        """The message to send.

        ResendRefusedError: sent already (unless `again`), would be a dead letter again, or is no message of a stream.
        UnavailableError: the broker, or the stream's schema registry, does not answer.
        """
        require_message(letter)
        source = known.of(letter)
        if source is None:
            raise ResendRefusedError(
                "stream", f"no stream reads {letter.topic} any more; `saffron stream add` makes one"
            )
        if letter.attempts and not again:
            raise ResendRefusedError("sent", f"{letter.id} {earlier_attempts(letter)}")
        value = correct(letter.value, correction)
        made = bool(letter.stream) and source.definition is None
        if made and value == letter.value:  # its source may have taken it, and would take it twice
            raise ResendRefusedError("late", _late(letter, source, letter.detail))
        original = self._letters.original(letter)
        if source.definition is None:
            read = self._read(value, source, now_ms)
            key, partition = self._destination(letter, value, source, original, now_ms)
            watermark = newest_watermark(self._letters.log, self._letters.topics, self._group, source.stem, partition)
            outcome, event = dry_run(read, source, watermark, self._max_future_ms), read.value(0)
        else:
            key, partition = None if original is None else original.key, letter.partition
            outcome, event = self._as_element(letter, value, source, original, now_ms), value
            _require_alone(letter, outcome, self._as_it_came(letter, source, original, now_ms))
        raised = _require_accepted(letter, outcome, source, corrected=value != letter.value)
        kept = () if original is None else tuple(one for one in original.headers if one[0] != ORIGIN)
        headers = (*kept, (ORIGIN, letter.id.encode()))
        notes = _notes(letter, event, key, original, merged=source.definition is not None)
        if made:
            notes.append(f"it is sent to {letter.topic}: stream {source.name} may have taken it before")
        if raised > _AHEAD_MS:
            notes.append(f"it is {raised} ms ahead of its partition: what comes later with an earlier ts will be late")
        return Sending(letter, partition, key, value, headers, tuple(notes))

    def send(self, sending: Sending) -> None:
        """Sends the message and both copies of its letter; returns once the broker has all of them."""
        letter = sending.letter
        notes = self._letters.topics.dead_letters, letter.partition % max(1, self._letters.partitions), letter.body
        producer = self._letters.log.producer(client_id="dead-letters")
        try:
            producer.send(*notes, key=letter.id.encode(), headers=((SENT_AGAIN, BEGUN),))
            producer.flush(_FLUSH_SECONDS)
            producer.send(letter.topic, sending.partition, sending.value, key=sending.key, headers=sending.headers)
            producer.flush(_FLUSH_SECONDS)
            producer.send(*notes, key=letter.id.encode(), headers=((SENT_AGAIN, DONE),))
            producer.flush(_FLUSH_SECONDS)
        finally:
            producer.close()

    def _read(self, value: bytes, source: StreamRecord, now_ms: int) -> RawBatch:
        """The message as windowing would read it, stamped with the present time."""
        batch = batch_of_values([value], times=np.array([now_ms], dtype=np.int64))
        return self._formats.translated_now(source, batch)

    def _destination(
        self, letter: Letter, value: bytes, source: StreamRecord, original: Record | None, now_ms: int
    ) -> tuple[bytes | None, int]:
        """The original key and partition, or those of the event if the correction changed its key attribute."""

        def own(given: bytes) -> bytes | None:
            return None if source.key is None else _key(self._read(given, source, now_ms).value(0), source.key)

        key = own(letter.value or b"") if original is None else original.key
        corrected = None if value == letter.value else own(value)
        if corrected is None or corrected == key:
            return key, letter.partition
        return corrected, partition_of(corrected, self._letters.log.partitions(letter.topic) or 1)

    def _as_it_came(self, letter: Letter, stream: StreamRecord, original: Record | None, now_ms: int) -> DryRun | None:
        """What the original message is by the present definition; None: it is gone."""
        if original is None or original.value is None:
            return None
        return self._as_element(letter, original.value, stream, original, now_ms)

    def _as_element(
        self, letter: Letter, value: bytes, stream: StreamRecord, original: Record | None, now_ms: int
    ) -> DryRun:
        """The outcome for a message of a merged stream's source."""
        where = TopicPartition(letter.topic, letter.partition)
        headers = () if original is None else original.headers
        key = None if original is None else original.key
        record = Record(letter.topic, letter.partition, letter.offset, now_ms, key, value, headers)
        watermark = source_watermark(self._letters.log, self._letters.topics.prefix, stream.stem, where)
        return read_element(record, stream, watermark, self._max_future_ms, self._formats.translated_now)


def _require_accepted(letter: Letter, outcome: DryRun, source: StreamRecord, *, corrected: bool) -> int:
    """The advance of the watermark in ms. ResendRefusedError: it would be a dead letter."""
    if (dead := outcome.dead) is None:
        return outcome.raised
    if dead.reason == "late":
        raise ResendRefusedError("late", _late(letter, source, dead.detail))
    fix = "it is not correct yet" if corrected else "correct it before it is sent"
    raise ResendRefusedError("refused", f"{letter.id} would be a dead letter again: {dead.detail}; {fix}")


def _require_alone(letter: Letter, outcome: DryRun, before: DryRun | None) -> None:
    """ResendRefusedError: the letter is of one element, and the message has others, which were taken before.

    `before`: what the original message is. If it is none that could not be read for this reason, the definition has
    changed since, and nothing of it was taken.
    """
    whole = not letter.number and letter.reason in _OF_MESSAGE
    if before is not None:
        is_so_still = before.dead is not None and before.dead.reason == letter.reason
        whole = before.elements == 1 or (whole and not is_so_still)
    if outcome.elements > 1 and not whole:
        raise ResendRefusedError(
            "refused",
            f"{letter.id} is one element, and the message has {outcome.elements}: the others would come twice. Give a "
            "message with this element alone (`--file`), or let its producer send the event again",
        )


def _late(letter: Letter, source: StreamRecord, detail: str) -> str:
    """The sentence on a letter whose event would be late again."""
    return (
        f"{letter.id} would be late: {detail}. {_LATE.format(topic=letter.topic, stream=letter.stream or source.name)}"
    )


def require_message(letter: Letter) -> None:
    """ResendRefusedError: the letter is about a result."""
    if letter.result is not None:
        raise ResendRefusedError("result", f"{letter.id} {_NO_MESSAGE.format(query=letter.result['query'])}")


def described(sending: Sending) -> dict[str, Any]:
    """The message and its destination, as text and JSON values."""
    text, encoding = encoded(sending.value)
    return {
        "id": sending.letter.id,
        "topic": sending.letter.topic,
        "partition": sending.partition,
        "key": None if sending.key is None else sending.key.decode("utf-8", "replace"),
        "value": text,
        "encoding": encoding,
        "notes": list(sending.notes),
    }


def earlier_attempts(letter: Letter) -> str:
    """A sentence on the last attempt, and what to do."""
    last = letter.attempts[-1]
    moment = datetime.fromtimestamp(last.at / 1000, UTC).isoformat(sep=" ", timespec="seconds")
    if last.done:
        return f"was sent again at {moment}; say --again (again: true) to send it once more"
    return (
        f"was being sent at {moment} by somebody who did not live to say whether it arrived: look in {letter.topic} "
        f"for a message with the header {ORIGIN}={letter.id}, and say --again (again: true) if there is none"
    )


def _key(value: bytes, attribute: str) -> bytes | None:
    """The message key of an event by the stream's attribute; None without the attribute."""
    return keys_of([value], attribute)[0]


def _notes(letter: Letter, value: bytes, key: bytes | None, original: Record | None, *, merged: bool) -> list[str]:
    notes = []
    if original is None:
        chosen = "none" if key is None else repr(key.decode("utf-8", "replace"))
        notes.append(f"the message is no longer in {letter.topic}: its key is taken from the event ({chosen})")
    event = event_of(value)
    if not merged and event is not None and event.get("ts") is None:
        notes.append(f"it has no ts: its time is that of sending; put ts={letter.timestamp} to keep the original one")
    return notes
