"""Results as Protobuf messages. Equal records give equal bytes: maps are written in key order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from saffron.runtime.result_formats.proto_file import read_proto
from saffron.runtime.result_formats.shapes import Fields

_FIRST = b"\0"
"""Encoded index of a message in its file, before its bytes; short for the first message."""


class ProtobufMessages:
    """A codec for messages of one type, the first in a .proto file. `text`: of the file."""

    def __init__(self, text: str) -> None:
        pool, file = DescriptorPool(), read_proto("results.proto", text)
        pool.Add(file)
        self._class: Any = GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.{file.message_type[0].name}"))

    def write(self, record: Fields) -> bytes:
        """The index of the message and the bytes of a record."""
        message = self._class()
        _fill(message, record)
        return _FIRST + message.SerializeToString(deterministic=True)  # type: ignore[no-any-return]

    def read(self, payload: bytes) -> Fields:
        """The record in `payload`, with maps in key order. ValueError: it is none of this type."""
        if payload[:1] != _FIRST:
            raise ValueError("no message of its schema: it is not the first of its file")
        message = self._class()
        try:
            message.ParseFromString(payload[1:])
        except DecodeError as error:
            raise ValueError(f"no message of its schema: {error}") from error
        return _record(message)


def _fill(message: Any, record: Fields) -> None:
    """Sets the fields of a message from a record. A value of None leaves its field unset."""
    for name, value in record.items():
        if value is None:
            continue
        if name in _PARTS:
            _PARTS[name](getattr(message, name), value)
        elif isinstance(value, list):
            getattr(message, name).extend(value)
        else:
            setattr(message, name, value)


def _values(part: Any, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        _scalar(part[name], value)


def _bound_events(part: Any, events: Mapping[str, Any]) -> None:
    """Write the events that each variable has bound: one, or a list, which may be empty; an empty entry for none."""
    for name, bound in events.items():
        slot = part[name]
        if isinstance(bound, list):
            slot.events.SetInParent()  # an empty list is not nothing
            for event in bound:
                _fill(slot.events.events.add(), event)
        elif bound is not None:
            _fill(slot.event, bound)


def _nodes(part: Any, nodes: list[Fields]) -> None:
    for node in nodes:
        _fill(part.add(), node)


def _scalar(slot: Any, value: Any) -> None:
    """Sets the member of a Value message that fits the type of `value`; none for None."""
    match value:
        case None:
            pass
        case bool():
            slot.bool_value = value
        case str():
            slot.string_value = value
        case int():
            slot.long_value = value
        case _:
            slot.double_value = value


_PARTS: Mapping[str, Callable[[Any, Any], None]] = {
    **dict.fromkeys(("key", "group", "return", "attributes"), _values),
    "events": _bound_events,
    "window": _fill,
    "count": _scalar,
    "nodes": _nodes,
}
"""Functions that fill fields other than plain values, by name."""


def _record(message: Any) -> Fields:
    """All fields. Those without a value are None, or empty."""
    return {field.name: _field(message, field) for field in message.DESCRIPTOR.fields}


def _field(message: Any, field: Any) -> Any:
    value = getattr(message, field.name)
    if isinstance(value, Mapping):
        return {name: _read(value[name]) for name in sorted(value)}
    if field.is_repeated:
        return [_record(one) if field.message_type else one for one in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _read(value) if field.message_type else value


def _read(message: Any) -> Any:
    """The value of a message: the content of a Value or Bound, else its fields."""
    if message.DESCRIPTOR.name not in ("Value", "Bound"):
        return _record(message)
    chosen = message.WhichOneof(message.DESCRIPTOR.oneofs[0].name)
    held: Any = None if chosen is None else getattr(message, chosen)
    if chosen == "events":
        return [_record(one) for one in held.events]
    return _record(held) if chosen == "event" else held
