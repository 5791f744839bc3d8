"""Columns in a message, which become columns when one of them is first asked for.

A service that passes most blocks on as they came never asks: the message's part with the events is written again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from saffron.engine.events.columns import Columns

_DECODED = frozenset(("seq", "ts", "time", "type", "attributes"))
"""The columns of every block. The others are None here, as the class has them: a block with any is decoded at once."""


class PackedColumns(Columns):
    """Columns of `events` events that are still in `message`. It is of this class until it is decoded."""

    message: bytes
    _events: int
    _decode: Callable[[], Columns]

    @classmethod
    def of(cls, message: bytes, events: int, decode: Callable[[], Columns]) -> Self:
        """The columns of a message. `decode`: makes them; what it raises comes where the first one is asked for."""
        packed = object.__new__(cls)
        vars(packed).update(message=message, _events=events, _decode=decode)
        return packed

    def __len__(self) -> int:
        return self._events

    def __getattr__(self, name: str) -> Any:
        """A column that is not there yet."""
        if name not in _DECODED:
            raise AttributeError(name)
        columns = vars(self._decode())
        vars(self).clear()
        vars(self).update(columns)
        object.__setattr__(self, "__class__", Columns)
        return columns[name]
