"""Envelopes: the parts of Debezium, CloudEvents and arrays around an event's own object."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from saffron.mapping.csv_rows import rows_of
from saffron.mapping.definition import Envelope, SourceDefinition
from saffron.mapping.message import Message, MessageError, object_of, parse
from saffron.mapping.paths import MISSING, Path, Step, flat_name
from saffron.mapping.where import condition

_LOG = logging.getLogger(__name__)
_CLOUDEVENT = "ce_"
"""The prefix of a context attribute's name, in the header of a binary CloudEvent and in the event."""
_OF_ROW = {"op": "__op", "ts_ms": "__ts_ms"}
_OF_SOURCE = {"db": "__db", "schema": "__schema", "table": "__table", "ts_ms": "__source_ts_ms"}
"""Names as in Debezium's own flattened form (ExtractNewRecordState)."""


class Eventless(Enum):
    """Why a value of a message is no event, without being wrong."""

    FILTERED = "its source's condition does not pass it"
    NO_ARRAY = "it has no array of the name that is exploded"


WHOLE = -1
MOST_REPEATED = 128 * 1024 * 1024
"""The most characters, over all elements of a message, of what stands around an exploded array, or of CSV's header."""


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a message: the object of an event, an error where there is none, or why it is no event.

    `value`: number of the message's value that it is of (a line, a row, an array's element); WHOLE: it is about the
    message. `item`: its number in the array that is exploded; None where none is. `parsed`: the value itself, as it
    stands before its envelope is opened.
    """

    content: Mapping[str, Any] | MessageError | Eventless
    value: int
    item: int | None = None
    parsed: Any = None


def elements(message: Message, source: SourceDefinition) -> Iterator[Element]:
    """The elements of a message behind a source's filter and envelope, in order."""
    if message.value is None:
        return
    passes = None if source.where is None else condition(source.where, texts=source.csv is not None)
    room = MOST_REPEATED
    try:
        for number, value in enumerate(_values(message.value, source)):
            try:
                filtered = passes is not None and isinstance(value, dict) and not passes(value)
            except Exception as error:
                yield Element(fault(error, message), number, None, value)
                continue
            if filtered:
                yield Element(Eventless.FILTERED, number)
                continue
            opened = value if isinstance(value, MessageError) else opened_of(value, message, source)
            size = _repeated(opened, source.explode)
            if size <= room:
                room -= size
            else:
                opened = MessageError("too-large", f"what stands around {source.explode} is too long for its elements")
            yield from _exploded(opened, source.explode, number, value)
    except MessageError as error:
        yield Element(error, WHOLE)
    except Exception as error:
        yield Element(fault(error, message), WHOLE)


def fault(error: Exception, message: Message) -> MessageError:
    """The reason of a dead letter for a fault of ours: one message must not end the stream, and all others with it."""
    _LOG.error("%s/%d/%d cannot be read", message.topic, message.partition, message.offset, exc_info=error)
    return MessageError("fault", f"Saffron failed at it: {type(error).__name__}: {error}")


def _values(value: bytes, source: SourceDefinition) -> Iterator[Any]:
    """The values of a message: one, or those of its lines, of its array, or of its rows; an error for each bad one."""
    if source.csv is not None:
        yield from rows_of(value, source.csv, MOST_REPEATED)
    elif source.envelope is Envelope.LINES:
        for line in lines_of(value):
            try:
                yield parse(line)
            except MessageError as error:
                yield error
    elif source.envelope is Envelope.ARRAY:
        yield from _array_of(value)
    else:
        yield parse(value)


def lines_of(value: bytes) -> list[bytes]:
    """The lines of a message that hold anything."""
    return [line for line in value.splitlines() if line.strip()]


def _array_of(value: bytes) -> list[Any]:
    """The array in a message. MessageError: the message is none."""
    found = parse(value)
    if not isinstance(found, list):
        raise MessageError("not-an-array", "the message is no JSON array, as its envelope says")
    return found


def opened_of(value: Any, message: Message, source: SourceDefinition) -> Mapping[str, Any] | MessageError | None:
    """An event's object out of its envelope; None: the message is of a kind that carries none."""
    try:
        whole = object_of(value)
        if source.envelope is Envelope.DEBEZIUM:
            return _of_debezium(whole)
        if source.envelope is Envelope.CLOUDEVENTS:
            return _of_cloudevent(whole, message)
    except MessageError as error:
        return error
    return whole


def _of_debezium(whole: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The row after a change, or before it if it was deleted, with `__op`, `__table` and the like.

    None: the message has no row, as after a truncation. A message that the connector has flattened is returned as it
    is.
    """
    change = whole["payload"] if "payload" in whole and "schema" in whole else whole
    if change is None:
        return None
    change = object_of(change, "its payload")
    if "op" not in change or not ("after" in change or "before" in change):
        return change  # flattened by the connector
    row = change.get("after")
    row = change.get("before") if row is None else row
    if row is None:
        return None  # a truncation, or a message of the connector's own
    found = dict(object_of(row, "the changed row"))
    origin = change.get("source")
    names = [(change, _OF_ROW), (origin if isinstance(origin, dict) else {}, _OF_SOURCE)]
    for fields, renamed in names:
        found |= {new: fields[old] for old, new in renamed.items() if fields.get(old) is not None}
    return found | ({"__deleted": True} if change["op"] == "d" else {})


def _of_cloudevent(whole: Mapping[str, Any], message: Message) -> Mapping[str, Any]:
    """The data with the context attributes beside it, as `ce_type`, `ce_source`, `ce_id`, `ce_time`, ..."""
    if "specversion" not in whole:
        context = {name: text(value) for name, value in message.headers.items() if name.startswith(_CLOUDEVENT)}
        if not context:
            raise MessageError("no-cloudevent", "it has neither a specversion nor headers that begin with ce_")
        return {**whole, **context}
    if "data_base64" in whole:
        raise MessageError("no-cloudevent", "its data is bytes (data_base64), and should be JSON")
    data = whole.get("data")
    fields = data if isinstance(data, dict) else {} if data is None else {"data": data}
    context = {f"{_CLOUDEVENT}{name}": value for name, value in whole.items() if name != "data"}
    return {**fields, **context}


def text(value: bytes) -> str:
    """The text of a header or a key; bytes that are no UTF-8 are replaced."""
    return value.decode("utf-8", "replace")


def _repeated(opened: Mapping[str, Any] | MessageError | None, array: Path | None) -> int:
    """The characters, over all items of an exploded array, of the fields around it."""
    items = MISSING if array is None or opened is None or isinstance(opened, MessageError) else array.of(opened)
    if array is None or not isinstance(items, list):
        return 0
    size, left = 0, [_without(opened, array.steps)]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            size += sum(map(len, one))
            left.extend(one.values())
        elif isinstance(one, list):
            left.extend(one)
        size += len(one) if isinstance(one, str) else 1
    return size * len(items)


def _exploded(
    opened: Mapping[str, Any] | MessageError | None, array: Path | None, number: int, parsed: Any
) -> Iterator[Element]:
    """The object itself, or one for each item of its array: the other fields, overlaid by those of the item.

    `number`, `parsed`: of the value that the object is of.
    """
    if opened is None:
        return
    if array is None or isinstance(opened, MessageError):
        yield Element(opened, number, None, parsed)
        return
    items = array.of(opened)
    if items is MISSING or items is None:
        yield Element(Eventless.NO_ARRAY, number)
        return
    if not isinstance(items, list):
        yield Element(MessageError("not-an-array", f"{array} is no array, as `explode` says"), number, None, parsed)
        return
    rest = _without(opened, array.steps)
    for at, item in enumerate(items):
        whole = {**rest, **item} if isinstance(item, dict) else {**rest, str(array): item}
        yield Element(whole, number, at, parsed)


def _without(whole: Any, steps: tuple[Step, ...]) -> Any:
    """The value without that at the end of a path, which is there (see `Path.of`): it may have a flat name.

    An element of an array is null, so that those behind it keep their numbers.
    """
    first, rest = steps[0], steps[1:]
    if isinstance(first, int):
        inner = _without(whole[first - 1], rest) if rest else None
        return [*whole[: first - 1], inner, *whole[first:]]
    flat = flat_name(steps)
    if rest and (flat is None or whole.get(flat) is None):
        return {**whole, first: _without(whole[first], rest)}
    return {name: value for name, value in whole.items() if name != (flat or first)}
