"""Where results go that do not stand in the topic of all results: topics of PUBLISH."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson


@dataclass(frozen=True)
class Address:
    """A topic of PUBLISH, and the message's key there. `keyed`: there is a KEY, which may be null."""

    topic: str
    key: bytes | None = None
    keyed: bool = False


def addresses(topic: str, values: Sequence[bytes]) -> list[Address]:
    """An address for each value of KEY. A value is JSON: text is a key as it is, others as JSON writes them."""
    return [Address(topic, _key(value), keyed=True) for value in values]


def _key(value: bytes) -> bytes | None:
    if value == b"null":
        return None
    if value.startswith(b'"'):
        text: str = orjson.loads(value)
        return text.encode()
    return value
