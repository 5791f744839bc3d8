"""Sends a dead letter's message to its stream again.

Nothing is deleted, and nothing is sent twice by mistake: before and after, a copy of the dead letter with the header
`sent-again` notes it beside the letter, and the message's own header `dead-letter` says where it came from. Whoever
dies between the two leaves the first note, which also stops the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.errors import InputError
from saffron.records.stream import StreamRecord
from saffron.runtime.dead_letters.foresight import foresee, newest_watermark
from saffron.runtime.dead_letters.letters import BEGUN, DONE, SENT_AGAIN, Letter
from saffron.runtime.dead_letters.mending import Mending, event_of, mend
from saffron.runtime.dead_letters.reading import DeadLetters
from saffron.runtime.dead_letters.showing import encoded
from saffron.runtime.hops.tags import Headers
from saffron.runtime.log import Record
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.process.background import at_once
from saffron.runtime.streams.event_keys import keys_of
from saffron.runtime.streams.stream_formats import Formats
from saffron.runtime.telemetry.health import Health

ORIGIN = "dead-letter"
"""Header of a message that was sent again: the id of its dead letter."""
_FLUSH_SECONDS = 10.0
_AHEAD_MS = 60_000
"""An event further ahead of its partition than this is worth a word: the watermark follows it."""
_LATE = (
    "Results up to there stand. To see what it would have changed, run the query over the history: `saffron tail "
    "{topic} --from earliest --end > events.ndjson`, then `saffron replay -q QUERY events.ndjson --disorder 10000d`; "
    "for events to come, let the stream wait longer: `saffron stream set {stream} --disorder 5s`"
)
_NO_MESSAGE = (
    "is a result, and no message of a stream: it cannot be sent again. Change query {query} as the letter says, for "
    "results to come; `saffron replay` finds those of the past, of any size"
)
_Why = Literal["sent", "late", "refused", "stream", "result"]


class NotAgain(InputError):
    """It is better not sent: `kind` says why (sent already, late, refused by the stream, of no stream, a result)."""

    def __init__(self, kind: _Why, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def sources(streams: Iterable[StreamRecord]) -> dict[str, StreamRecord]:
    """The streams by the full names of their topics."""
    return {one.topic: one for one in streams}


@dataclass(frozen=True)
class Sending:
    """What goes to the stream. `notes`: sentences for whoever sends it."""

    letter: Letter
    partition: int
    key: bytes | None
    value: bytes
    headers: Headers
    notes: tuple[str, ...]


class Sender:
    """`group`: a consumer group for looking; `max_future_ms`: how far ahead of its message an event's ts may be.

    `credentials`: for the schema registries of streams whose messages are no JSON.
    """

    def __init__(self, desk: DeadLetters, group: str, max_future_ms: int, credentials: str = "") -> None:
        self._desk = desk
        # Asked once and at once: what a registry says is not asked for again, and a failure is told to who asked.
        self._formats = Formats(credentials, Health("dead-letters"), lambda: 0, at_once)
        self._group = group
        self._max_future_ms = max_future_ms

    def prepare(
        self, letter: Letter, known: Mapping[str, StreamRecord], mending: Mending, now_ms: int, *, again: bool
    ) -> Sending:
        """What would be sent. `known`: the streams by their topics. NotAgain: it was sent already (unless `again`),
        would be a dead letter once more, or is no message of a stream. UnavailableError: the broker, or the stream's
        schema registry, does not answer.
        """
        require_message(letter)
        source = known.get(letter.topic)
        if source is None:
            raise NotAgain("stream", f"no stream reads {letter.topic} any more; `saffron stream add` makes one")
        if letter.attempts and not again:
            raise NotAgain("sent", f"{letter.id} {already(letter)}")
        value = mend(letter.value, mending)
        original = self._desk.original(letter)
        read = self._read(value, source, now_ms)
        key, partition = self._destination(letter, value, source, original, now_ms)
        raised = self._require_welcome(letter, read, source, partition, mended=value != letter.value)
        kept = () if original is None else tuple(one for one in original.headers if one[0] != ORIGIN)
        headers = (*kept, (ORIGIN, letter.id.encode()))
        notes = _notes(letter, read.value(0), key, original)
        if raised > _AHEAD_MS:
            notes.append(f"it is {raised} ms ahead of its partition: what comes later with an earlier ts will be late")
        return Sending(letter, partition, key, value, headers, tuple(notes))

    def send(self, sending: Sending) -> None:
        """Send it, with a note before and one after; returns when the broker has all of them."""
        letter = sending.letter
        notes = self._desk.topics.dead_letters, letter.partition % max(1, self._desk.partitions), letter.body
        producer = self._desk.log.producer(client_id="dead-letters")
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
        """The message as windowing would have it, stamped now."""
        batch = batch_of_values([value], times=np.array([now_ms], dtype=np.int64))
        return self._formats.translated_now(source, batch)

    def _destination(
        self, letter: Letter, value: bytes, source: StreamRecord, original: Record | None, now_ms: int
    ) -> tuple[bytes | None, int]:
        """The original key and partition; those of the event where it was given another key attribute."""

        def own(given: bytes) -> bytes | None:
            return None if source.key is None else _key(self._read(given, source, now_ms).value(0), source.key)

        key = own(letter.value or b"") if original is None else original.key
        mended = None if value == letter.value else own(value)
        if mended is None or mended == key:
            return key, letter.partition
        return mended, partition_of(mended, self._desk.log.partitions(letter.topic) or 1)

    def _require_welcome(
        self, letter: Letter, read: RawBatch, source: StreamRecord, partition: int, *, mended: bool
    ) -> int:
        """NotAgain: it would be a dead letter; else by how many ms it pushes the watermark ahead."""
        watermark = newest_watermark(self._desk.log, self._desk.topics, self._group, source.stem, partition)
        verdict = foresee(read, source, watermark, self._max_future_ms)
        if (dead := verdict.dead) is None:
            return verdict.raised
        if dead.reason == "late":
            way_out = _LATE.format(topic=letter.topic, stream=source.name)
            raise NotAgain("late", f"{letter.id} would be late: {dead.detail}. {way_out}")
        mend_it = "it is not mended yet" if mended else "mend it before it is sent"
        raise NotAgain("refused", f"{letter.id} would be a dead letter again: {dead.detail}; {mend_it}")


def require_message(letter: Letter) -> None:
    """NotAgain: it is no message."""
    if letter.result is not None:
        raise NotAgain("result", f"{letter.id} {_NO_MESSAGE.format(query=letter.result['query'])}")


def described(sending: Sending) -> dict[str, Any]:
    """What goes where, for people and as JSON."""
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


def already(letter: Letter) -> str:
    """What is known of earlier attempts, and what to do."""
    last = letter.attempts[-1]
    moment = datetime.fromtimestamp(last.at / 1000, UTC).isoformat(sep=" ", timespec="seconds")
    if last.done:
        return f"was sent again at {moment}; say --again (again: true) to send it once more"
    return (
        f"was being sent at {moment} by somebody who did not live to say whether it arrived: look in {letter.topic} "
        f"for a message with the header {ORIGIN}={letter.id}, and say --again (again: true) if there is none"
    )


def _key(value: bytes, attribute: str) -> bytes | None:
    """The message key of an event by the stream's attribute; None where it has none."""
    return keys_of([value], attribute)[0]


def _notes(letter: Letter, value: bytes, key: bytes | None, original: Record | None) -> list[str]:
    notes = []
    if original is None:
        chosen = "none" if key is None else repr(key.decode("utf-8", "replace"))
        notes.append(f"the message is no longer in {letter.topic}: its key is taken from the event ({chosen})")
    event = event_of(value)
    if event is not None and event.get("ts") is None:
        notes.append(f"it has no ts: its time is that of sending; put ts={letter.timestamp} to keep the original one")
    return notes
