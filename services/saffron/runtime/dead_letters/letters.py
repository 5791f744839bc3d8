"""A dead letter, from the messages that stand under its key on `dead-letters`."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from saffron.runtime.log import Record

SENT_AGAIN = "sent-again"
"""Header of a copy of a dead letter, which notes that the letter is being sent again, or has been."""
BEGUN, DONE = b"begun", b"done"


@dataclass(frozen=True)
class Attempt:
    """It was sent again. `at`: ms, by the broker. `done`: the broker has it; else nobody lived to say so."""

    at: int
    done: bool


@dataclass(frozen=True)
class Letter:
    """A message that was no event of its stream. `at`: when it was put aside, `timestamp`: its own time (ms both).

    `value`: its original bytes, None where it had none. `body`: the dead letter's own message.
    `result`: of a result that was too large to be sent what is known of it; the place is that of its block then.
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
    attempts: tuple[Attempt, ...] = ()
    body: bytes = field(default=b"", repr=False)

    @property
    def id(self) -> str:
        """TOPIC/PARTITION/OFFSET of the original message, of a result with .INDEX: the key of its dead letter."""
        index = "" if self.result is None else f".{self.result['index']}"
        return f"{self.topic}/{self.partition}/{self.offset}{index}"


def gather(records: Iterable[Record]) -> dict[str, Letter]:
    """The letters by id, in the order in which they were put aside; copies only add what they say.

    Whatever else somebody has put onto the topic is passed over.
    """
    found: dict[str, Letter] = {}
    for record in records:
        try:
            letter = _read(record)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        known = found.get(letter.id, letter)
        found[letter.id] = replace(known, attempts=_with(known.attempts, record))
    return found


def _read(record: Record) -> Letter:
    """One message of the topic, whatever came before it; an error of the kinds above where it is no letter."""
    body = record.value or b""
    row = orjson.loads(body)
    value = row["value"]
    if value is not None:
        value = base64.b64decode(value) if row["encoding"] == "base64" else value.encode()
    parts = {name: row[name] for name in ("topic", "partition", "offset", "timestamp", "reason", "detail")}
    return Letter(**parts, value=value, at=record.timestamp, result=row.get("result"), body=body)


def _with(attempts: tuple[Attempt, ...], record: Record) -> tuple[Attempt, ...]:
    mark = dict(record.headers).get(SENT_AGAIN)
    if mark is None:
        return attempts
    if mark == DONE and attempts and not attempts[-1].done:
        attempts = attempts[:-1]
    return (*attempts, Attempt(record.timestamp, mark == DONE))
