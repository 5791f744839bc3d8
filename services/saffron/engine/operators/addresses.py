"""The topics and keys of results that PUBLISH sends elsewhere than to the topic of all results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from saffron.language.plan.delivery import Delivery
from saffron.language.plan.expressions import Expr
from saffron.language.plan.row import Row


@dataclass(frozen=True)
class Address:
    """A topic of PUBLISH, and the message's key there. `keyed`: there is a KEY, which may be null.

    `row`: the row that the message is, None for the result as it is.
    """

    topic: str
    key: bytes | None = None
    keyed: bool = False
    row: Row | None = None


def addresses(delivery: Delivery, values: Callable[[Expr], Sequence[bytes]], count: int) -> list[Address] | None:
    """The addresses of `count` results; None: all go to the topic of all results.

    `values`: the values of an expression in each result, as JSON. Text is a key as it is, others as JSON writes them.
    """
    topic, key = delivery.topic, delivery.key
    if topic is None:
        return None
    if key is None or not count:
        return [Address(topic, row=delivery.row)] * count
    return [Address(topic, _key(value), True, delivery.row) for value in values(key)]


def _key(value: bytes) -> bytes | None:
    if value == b"null":
        return None
    if value.startswith(b'"'):
        text: str = orjson.loads(value)
        return text.encode()
    return value
