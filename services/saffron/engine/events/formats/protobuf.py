"""Protobuf messages as JSON events, each read by the schema that it was written with; nested ones stay nested."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.message import DecodeError

from saffron.engine.events.formats.as_json import event_as_json, name_as_text
from saffron.engine.events.formats.framed import Reader
from saffron.engine.events.formats.times_as_json import Moment, milliseconds
from saffron.errors import SchemaError

_KNOWN = {
    one.DESCRIPTOR.name: one.DESCRIPTOR.serialized_pb
    for one in (any_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
}
"""Files that schemas import without a registry's having them."""
_TIMESTAMP, _DURATION = timestamp_pb2.Timestamp.DESCRIPTOR.full_name, duration_pb2.Duration.DESCRIPTOR.full_name
_WRAPPERS = frozenset(one.full_name for one in wrappers_pb2.DESCRIPTOR.message_types_by_name.values())
_NANOSECONDS = 1_000_000_000


def protobuf_reader(text: str, referenced: Sequence[tuple[str, str]] = ()) -> Reader:
    """The reader of one schema, a serialised FileDescriptorProto in base64 as registries give with format=serialized.

    `referenced`: (name, schema) of the files that it imports, in an order in which each knows its own. An event's
    `type` is the message's name, unless it has a field of that name. SchemaError: it is no such schema.
    """
    pool = descriptor_pool.DescriptorPool()
    for known in _KNOWN.values():
        pool.AddSerializedFile(known)
    file = _file(text, "events.proto")
    try:
        for name, one in referenced:
            if name not in _KNOWN:
                pool.Add(_file(one, name))
        pool.Add(file)
        pool.FindFileByName(file.name)
    except (TypeError, KeyError) as error:
        raise SchemaError(f"a Protobuf schema that does not hold together: {error}") from error
    classes: dict[tuple[int, ...], tuple[str, Any]] = {}

    def read(payload: bytes) -> bytes:
        """The JSON event in a payload, which begins with the indexes of its message type.

        ValueError: the payload is no such message, or a value in it has no JSON.
        """
        path, start = _path(payload)
        if path not in classes:
            kind = _full_name(file, path)
            classes[path] = (kind.rpartition(".")[2], message_factory.GetMessageClass(pool.FindMessageTypeByName(kind)))
        kind, made = classes[path]
        message = made()
        try:
            message.ParseFromString(payload[start:])
            return event_as_json({"type": kind, **_fields(message)})
        except Exception as error:  # a field's value may be beyond Python's range
            raise ValueError(f"{type(error).__name__} {error}".strip()) from error

    return read


def _file(text: str, name: str) -> descriptor_pb2.FileDescriptorProto:
    """A schema's file descriptor from its serialised text. SchemaError: the text is not serialised."""
    found = descriptor_pb2.FileDescriptorProto()
    try:
        found.ParseFromString(base64.b64decode(text, validate=True))
    except (binascii.Error, DecodeError, ValueError) as error:
        raise SchemaError(
            "a Protobuf schema that is not serialised: the registry does not know format=serialized"
        ) from error
    found.name = name
    return found


def _path(payload: bytes) -> tuple[tuple[int, ...], int]:
    """The index path of the message's type in its file, outermost first; and the offset where the message begins."""
    count, at = _zigzag(payload, 0)
    if count == 0:  # short for the first message
        return (0,), at
    path = []
    for _ in range(count):
        index, at = _zigzag(payload, at)
        path.append(index)
    return tuple(path), at


def _zigzag(payload: bytes, at: int) -> tuple[int, int]:
    """(number, next position): a zigzag varint at a position. ValueError: it is cut off, or negative."""
    number = shift = 0
    while True:
        if at >= len(payload) or shift > 28:
            raise ValueError("the indexes of its message are torn")
        byte = payload[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    if number & 1:
        raise ValueError("an index of its message is negative")
    return number >> 1, at


def _full_name(file: descriptor_pb2.FileDescriptorProto, path: tuple[int, ...]) -> str:
    """The full name of the message at an index path. ValueError: there is none."""
    names = [file.package] if file.package else []
    messages = file.message_type
    for index in path:
        if index >= len(messages):
            raise ValueError(f"the schema has no message {list(path)}")
        names.append(messages[index].name)
        messages = messages[index].nested_type
    return ".".join(names)


def _fields(message: Any) -> dict[str, Any]:
    """The fields of a message by name: those that are set, and those that are as good as set by their default."""
    return {
        field.name: _value(field, getattr(message, field.name))
        for field in message.DESCRIPTOR.fields
        if not field.has_presence or message.HasField(field.name)
    }


def _value(field: Any, value: Any) -> Any:
    """A field's value: an array where it is repeated, an object where it is a map or a message."""
    if not field.is_repeated:
        return _single(field, value)
    if field.message_type is None or not field.message_type.GetOptions().map_entry:
        return [_single(field, one) for one in value]
    of_values = field.message_type.fields_by_name["value"]
    return {name_as_text(key): _single(of_values, value[key]) for key in value}


def _single(field: Any, value: Any) -> Any:
    """The JSON value of one element of a field. An unknown number of an enum stays a number.

    Messages of google.protobuf with a meaning of their own become values: times, durations, wrappers, JSON.
    """
    if field.enum_type is not None:
        name = field.enum_type.values_by_number.get(value)
        return value if name is None else name.name
    if field.message_type is None:
        return value
    kind = field.message_type.full_name
    if kind == _TIMESTAMP:
        return Moment(_nanoseconds(value), "+00:00")
    if kind == _DURATION:
        return milliseconds(_nanoseconds(value))
    if kind in _WRAPPERS:
        return value.value
    return _OF_JSON[kind](value) if kind in _OF_JSON else _fields(value)


def _nanoseconds(value: Any) -> int:
    """The nanoseconds of a Timestamp or Duration."""
    return int(value.seconds) * _NANOSECONDS + int(value.nanos)


def _of_struct(value: Any) -> dict[str, Any]:
    return {name: _of_any_json(one) for name, one in value.fields.items()}


def _of_list(value: Any) -> list[Any]:
    return [_of_any_json(one) for one in value.values]


def _of_any_json(value: Any) -> Any:
    """The value in a google.protobuf.Value. A whole number becomes an int, since all of its numbers are floats."""
    kind = value.WhichOneof("kind")
    if kind is None or kind == "null_value":
        return None
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    found = getattr(value, kind)
    return _of_struct(found) if kind == "struct_value" else _of_list(found) if kind == "list_value" else found


_OF_JSON = {
    struct_pb2.Struct.DESCRIPTOR.full_name: _of_struct,
    struct_pb2.ListValue.DESCRIPTOR.full_name: _of_list,
    struct_pb2.Value.DESCRIPTOR.full_name: _of_any_json,
}
"""Messages that are any JSON -> their contents."""
