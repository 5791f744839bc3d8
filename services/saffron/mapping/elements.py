"""Messages that hold one element of another message, so that sending one again sends nothing twice."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from saffron.engine.events.formats.csv_records import Record
from saffron.mapping.csv_rows import records_of, row_alone
from saffron.mapping.definition import Envelope, SourceDefinition
from saffron.mapping.envelopes import WHOLE, Element, Eventless, elements, lines_of, opened_of
from saffron.mapping.mapper import Mapped, Refused, events_of, outcome_of
from saffron.mapping.message import Message, MessageError, written


def messages_of_elements(
    message: Message, source: SourceDefinition, numbers: Collection[int]
) -> Mapping[int, bytes | None]:
    """The values of messages with one element alone: a line, a row with its header, an array of one. By its number.

    Reading one by the same source gives that element's event or refusal as number 0, and nothing else. None: there is
    no such element, or no such message (its condition asks for what stands beside the element). The message is read
    once, whatever the number of elements.
    """
    values: dict[int, bytes | None] = dict.fromkeys(numbers)
    if message.value is None or not values:
        return values
    cutter = _Cutter(message.value, message, source)
    found = ((one, one.content) for one in elements(message, source) if not isinstance(one.content, Eventless))
    for number, (element, content) in enumerate(islice(found, max(values) + 1)):
        if number in values:
            meant = outcome_of(number, content, message, source)
            values[number] = cutter.checked(element, meant)
    return values


class _Cutter:
    """The elements of a message, each cut out of its value, which is split into parts once for all of them."""

    def __init__(self, value: bytes, message: Message, source: SourceDefinition) -> None:
        self._value = value
        self._message = message
        self._source = source

    def checked(self, element: Element, meant: Mapped | Refused) -> bytes | None:
        """The value with the element alone; None: it is not read as `meant`, what is read of it, and nothing else."""
        try:
            value = self._alone(element)
        except RecursionError:  # an unread part is too deep to be written
            return None
        return value if _is_alone(value, meant, self._message, self._source) else None

    @cached_property
    def _lines(self) -> Sequence[bytes]:
        return lines_of(self._value)

    @cached_property
    def _records(self) -> Sequence[Record]:
        return [] if self._source.csv is None else records_of(self._value, self._source.csv)

    def _alone(self, element: Element) -> bytes:
        """The message's value reduced to one element: a line, a row with its header, or an array of it.

        A line keeps its bytes, unless an array in it is cut. Rows and JSON are written anew, with numbers as they were.
        """
        source = self._source
        if element.value == WHOLE:
            return self._value
        if source.csv is not None:
            return row_alone(self._records, source.csv, element.value)
        if source.envelope is Envelope.ARRAY:
            return b"[" + written(_cut(element, self._message, source)) + b"]"
        if element.item is not None:
            return written(_cut(element, self._message, source))
        return self._lines[element.value] if source.envelope is Envelope.LINES else self._value


def _cut(element: Element, message: Message, source: SourceDefinition) -> Any:
    """The element's value of the message with one item left in the array that is exploded."""
    value = element.parsed
    opened = None if element.item is None else opened_of(value, message, source)
    if opened is None or isinstance(opened, MessageError) or element.item is None or source.explode is None:
        return value
    items = source.explode.of(opened)
    return _replaced(value, items, [items[element.item]])


def _replaced(value: Any, old: Any, new: Any) -> Any:
    """The value with another object in place of one that is in it."""
    if value is old:
        return new
    if isinstance(value, dict):
        return {name: _replaced(inner, old, new) for name, inner in value.items()}
    return [_replaced(inner, old, new) for inner in value] if isinstance(value, list) else value


def _is_alone(value: bytes, meant: Mapped | Refused, message: Message, source: SourceDefinition) -> bool:
    """True if a message of this value is read as `meant`, an element of `message`, and nothing else."""
    alone = Message(value, message.key, message.time, message.headers, message.topic, message.partition, message.offset)
    found = list(islice(events_of(alone, source), 2))
    return len(found) == 1 and _is_same(found[0], meant)


def _is_same(one: Mapped | Refused, other: Mapped | Refused) -> bool:
    """True if both are the same event, or are refused for the same reason."""
    if isinstance(one, Refused) or isinstance(other, Refused):
        return isinstance(one, Refused) and isinstance(other, Refused) and one.reason == other.reason
    return (one.type, one.ts, one.values, one.misfits) == (other.type, other.ts, other.values, other.misfits)
