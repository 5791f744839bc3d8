"""A dead letter, assembled from the messages under its key on `dead-letters`."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from saffron.runtime.log import Record

SENT_AGAIN = "sent-again"
"""Header of a copy of a dead letter, which records that sending it again has begun or is done."""
BEGUN, DONE = b"begun", b"done"


@dataclass(frozen=True)
class Attempt:
    """An attempt to send a dead letter again.

    `at`: broker's time in ms. `done`: the broker has it; else the outcome is unknown.
    """

    at: int
    done: bool


@dataclass(frozen=True)
class Letter:
    """A message that was no event of its stream, or a result that was too large.

    `at`: time of the dead letter; `timestamp`: time of the message (ms). `value`: its bytes, or None. `body`: the dead
    letter's own message. `result`: details of a result; the place is then that of its block. `number`: of the element
    in the message, whose bytes `value` then are. `stream`: the name of one that is made from the topic, or from
    several; "" where the topic says it.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    reason: str
    detail: str
    value: bytes | None
    at: int
    result: Mapping[str, Any] | None = None
    number: int = 0
    stream: str = ""
    attempts: tuple[Attempt, ...] = ()
    body: bytes = field(default=b"", repr=False)

    @property
    def id(self) -> str:
        """The key of the dead letter: TOPIC/PARTITION/OFFSET of the original message.

        It is followed by .INDEX for a result, and by .NUMBER for an element behind the first of its message.
        """
        index = f".{self.number}" if self.number else ""
        if self.result is not None:
            index = f".{self.result['index']}"
        return f"{self.topic}/{self.partition}/{self.offset}{index}"


def gather(records: Iterable[Record], takes: Callable[[Letter], bool] = lambda letter: True) -> list[Letter]:
    """The letters, oldest first: one of an id, a time and a stream, as several streams may read a topic.

    The time tells apart messages of a topic that was deleted and made anew. Copies only add their attempts, which are
    those of all streams: a message that is sent again comes to each of them.
    Messages of other kinds are skipped, and letters that `takes` is false of.
    """
    found: dict[tuple[str, int, str], Letter] = {}
    attempts: dict[tuple[str, int], tuple[Attempt, ...]] = {}
    for record in records:
        try:
            letter = _read(record)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        message = letter.id, letter.timestamp
        if takes(letter):
            found.setdefault((*message, letter.stream), letter)
        if attempt := _attempt(record):
            attempts[message] = _with(attempts.get(message, ()), attempt)
    return [replace(one, attempts=attempts.get((one.id, one.timestamp), ())) for one in found.values()]


def _read(record: Record) -> Letter:
    """The letter in one message. ValueError, KeyError, TypeError, AttributeError: there is none."""
    body = record.value or b""
    row = orjson.loads(body)
    value = row["value"]
    if value is not None:
        value = base64.b64decode(value) if row["encoding"] == "base64" else value.encode()
    parts = {name: row[name] for name in ("topic", "partition", "offset", "timestamp", "reason", "detail")}
    number, stream = int(row.get("number", 0)), str(row.get("stream", ""))
    return Letter(
        **parts, value=value, at=record.timestamp, result=row.get("result"), number=number, stream=stream, body=body
    )


def _attempt(record: Record) -> Attempt | None:
    """The attempt that a copy of a letter tells of; None: it is the letter itself."""
    mark = dict(record.headers).get(SENT_AGAIN)
    return None if mark is None else Attempt(record.timestamp, mark == DONE)


def _with(attempts: tuple[Attempt, ...], last: Attempt) -> tuple[Attempt, ...]:
    """The attempts with one more, or with the end of the last one."""
    if last.done and attempts and not attempts[-1].done:
        attempts = attempts[:-1]
    return (*attempts, last)
