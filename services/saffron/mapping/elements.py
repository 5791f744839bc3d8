"""Messages that hold one element of another message, so that sending one again sends nothing twice."""

from __future__ import annotations

from itertools import islice
from typing import Any

from saffron.mapping.csv_rows import row_alone
from saffron.mapping.definition import Envelope, SourceDefinition
from saffron.mapping.envelopes import WHOLE, Element, Eventless, array_of, elements, lines_of, opened_of
from saffron.mapping.mapper import Mapped, Refused, events_of
from saffron.mapping.message import Message, MessageError, parse, written


def message_of_element(message: Message, source: SourceDefinition, number: int) -> bytes | None:
    """The value of a message with element `number` alone: a line, a row with its header, an array of one.

    Reading it by the same source gives that element's event or refusal as number 0, and nothing else. None: there is no
    such element, or no such message (its condition asks for what stands beside the element).
    """
    found = (one for one in elements(message, source) if not isinstance(one.content, Eventless))
    element = next(islice(found, number, None), None)
    if element is None or message.value is None:
        return None
    try:
        value = _alone(message.value, message, source, element)
    except RecursionError:  # an unread part is too deep to be written
        return None
    return value if _is_alone(value, message, source, number) else None


def _alone(value: bytes, message: Message, source: SourceDefinition, element: Element) -> bytes:
    """The message's value reduced to one element: a line, a row with its header, or an array of it.

    A line keeps its bytes, unless an array in it is cut. Rows and JSON are written anew, with numbers as they were.
    """
    if element.value == WHOLE:
        return value
    if source.csv is not None:
        return row_alone(value, source.csv, element.value)
    if source.envelope is Envelope.ARRAY:
        return b"[" + written(_cut(array_of(value)[element.value], message, source, element)) + b"]"
    part = lines_of(value)[element.value] if source.envelope is Envelope.LINES else value
    return part if element.item is None else written(_cut(parse(part), message, source, element))


def _cut(value: Any, message: Message, source: SourceDefinition, element: Element) -> Any:
    """A value of the message with one item left in the array that is exploded."""
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


def _is_alone(value: bytes, message: Message, source: SourceDefinition, number: int) -> bool:
    """True if a message of this value is read as the element and nothing else."""
    alone = Message(value, message.key, message.time, message.headers, message.topic, message.partition, message.offset)
    found = list(islice(events_of(alone, source), 2))
    meant = next(islice(events_of(message, source), number, None))
    return len(found) == 1 and _is_same(found[0], meant)


def _is_same(one: Mapped | Refused, other: Mapped | Refused) -> bool:
    """True if both are the same event, or are refused for the same reason."""
    if isinstance(one, Refused) or isinstance(other, Refused):
        return isinstance(one, Refused) and isinstance(other, Refused) and one.reason == other.reason
    return (one.type, one.ts, one.values, one.misfits) == (other.type, other.ts, other.values, other.misfits)
