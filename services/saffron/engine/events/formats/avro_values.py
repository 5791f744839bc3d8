"""Readers of Avro values by their schema.

A reader gives the value that was written, or raises ValueError. It never gives another value, and takes a time in
proportion to the message. Readers of general libraries do not promise that for wrong bytes. To them a negative index
is one from the end, and six bytes can claim an array of millions of nulls.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from struct import Struct
from typing import Any

from saffron.counted import counted
from saffron.engine.events.formats.times_as_json import Moment
from saffron.errors import SchemaError
from saffron.schema.iso_times import NS_OF_DAY, iso_date, iso_duration, iso_of_day

MOST_WITHOUT_BYTES = 10_000
"""Values of a message that take none of its bytes: nulls, fixed values of size 0, and records of such fields."""

MOST_SCALE = 1_000
"""Digits of a decimal behind its point."""
_BITS_OF_FLOATS, _BITS_OF_A_DIGIT = 1024, 4
"""Bits of the largest float64; no fewer bits than a decimal digit has."""

_FLOAT, _DOUBLE, _THREE = Struct("<f"), Struct("<d"), Struct("<3I")


class Message(bytes):
    """The bytes of a message. `without_bytes`: values that arrays in it have claimed so far, and that take no bytes."""

    without_bytes = 0


Read = Callable[[Message, int], tuple[Any, int]]
"""The value that begins at a position, and the position behind it. ValueError, IndexError: there is none."""


class Values:
    """Readers of the types of a parsed schema. `named`: its named types, by full name."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._made: dict[str, Read] = {}
        self._weights: dict[str, int] = {}

    def reader(self, schema: Any) -> Read:
        """The reader of a type. SchemaError: its values are too many to be read."""
        if isinstance(schema, list):
            return _union([self.reader(one) for one in schema])
        if isinstance(schema, str):
            return self._of_name(schema) if schema in self._named else _PRIMITIVE[schema]
        match schema["type"]:
            case "record" | "error":
                self._without_bytes(schema)
                return _record([(field["name"], self.reader(field["type"])) for field in schema["fields"]])
            case "array":
                return _array(self.reader(schema["items"]), self._without_bytes(schema["items"]))
            case "map":
                return _map(self.reader(schema["values"]))
            case "enum":
                return _enum(schema["name"], schema["symbols"])
            case "fixed":
                read = _fixed(schema["size"])
            case kind:
                read = self.reader(kind)
        return _logical(read, schema)

    def _of_name(self, name: str) -> Read:
        """The reader of a named type, which may have itself among its parts."""
        if name not in self._made:

            def later(data: Message, at: int) -> tuple[Any, int]:
                return self._made[name](data, at)

            self._made[name] = later
            self._made[name] = self.reader(self._named[name])
        return self._made[name]

    def _without_bytes(self, schema: Any) -> int:
        """The values in a value of a type that takes no bytes; 0: it takes some."""
        if isinstance(schema, str) and schema in self._named:
            if schema not in self._weights:
                self._weights[schema] = 0  # of a type within itself
                self._weights[schema] = self._without_bytes(self._named[schema])
            return self._weights[schema]
        kind = schema["type"] if isinstance(schema, dict) else schema
        if kind == "null" or (kind == "fixed" and not schema["size"]):
            return 1
        if kind not in ("record", "error"):
            return 0
        parts = [self._without_bytes(field["type"]) for field in schema["fields"]]
        if not all(parts):
            return 0
        if (weight := 1 + sum(parts)) > MOST_WITHOUT_BYTES:
            raise SchemaError(f"record {schema['name']} has {counted(weight, 'value')} that take no bytes")
        return weight


def whole(data: bytes, at: int) -> tuple[int, int]:
    """An integer: zigzag, 7 bits a byte, lowest first."""
    byte = data[at]
    at += 1
    number = byte & 0x7F
    shift = 7
    while byte >= 0x80:
        if shift > 63:
            raise ValueError("an integer of more than 64 bits")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
    if number >> 64:
        raise ValueError("an integer of more than 64 bits")
    return (number >> 1) ^ -(number & 1), at


def _int(data: Message, at: int) -> tuple[int, int]:
    number, at = whole(data, at)
    if not -(1 << 31) <= number < 1 << 31:
        raise ValueError(f"an int is {number}, which is none of 32 bits")
    return number, at


def _null(_: Message, at: int) -> tuple[None, int]:
    return None, at


def _boolean(data: Message, at: int) -> tuple[bool, int]:
    if (byte := data[at]) > 1:
        raise ValueError(f"a boolean is {byte}, neither 0 nor 1")
    return byte == 1, at + 1


def _float(data: Message, at: int) -> tuple[float, int]:
    _end(data, at, 4)
    return _FLOAT.unpack_from(data, at)[0], at + 4


def _double(data: Message, at: int) -> tuple[float, int]:
    _end(data, at, 8)
    return _DOUBLE.unpack_from(data, at)[0], at + 8


def _bytes(data: Message, at: int) -> tuple[bytes, int]:
    size, at = whole(data, at)
    end = _end(data, at, size)
    return data[at:end], end


def _string(data: Message, at: int) -> tuple[str, int]:
    size, at = whole(data, at)
    end = _end(data, at, size)
    return data[at:end].decode(), end


def _end(data: Message, at: int, size: int) -> int:
    """The position behind so many bytes."""
    if not 0 <= size <= len(data) - at:
        raise ValueError(f"a value of {size} bytes, where {len(data) - at} are left")
    return at + size


_PRIMITIVE: Mapping[str, Read] = {
    "null": _null,
    "boolean": _boolean,
    "int": _int,
    "long": whole,
    "float": _float,
    "double": _double,
    "bytes": _bytes,
    "string": _string,
}


def _fixed(size: int) -> Read:
    def read(data: Message, at: int) -> tuple[bytes, int]:
        end = _end(data, at, size)
        return data[at:end], end

    return read


def _enum(name: str, symbols: list[str]) -> Read:
    def read(data: Message, at: int) -> tuple[str, int]:
        index, at = whole(data, at)
        if not 0 <= index < len(symbols):
            raise ValueError(f"enum {name} has no symbol {index}, only 0 to {len(symbols) - 1}")
        return symbols[index], at

    return read


def _union(branches: list[Read]) -> Read:
    def read(data: Message, at: int) -> tuple[Any, int]:
        index, at = whole(data, at)
        if not 0 <= index < len(branches):
            raise ValueError(f"a union has no branch {index}, only 0 to {len(branches) - 1}")
        return branches[index](data, at)

    return read


def _record(fields: list[tuple[str, Read]]) -> Read:
    def read(data: Message, at: int) -> tuple[dict[str, Any], int]:
        found = {}
        for name, value in fields:
            found[name], at = value(data, at)
        return found, at

    return read


def _array(item: Read, without_bytes: int) -> Read:
    """`without_bytes`: the values in an item that takes no bytes; 0: it takes some."""

    def read(data: Message, at: int) -> tuple[list[Any], int]:
        """The items of all blocks, up to the empty block that ends the array. ValueError: too many take no bytes."""
        found: list[Any] = []
        while True:
            count, at = _count(data, at, 0 if without_bytes else 1)
            if not count:
                return found, at
            if without_bytes:
                data.without_bytes += count * without_bytes
                if data.without_bytes > MOST_WITHOUT_BYTES:
                    raise ValueError(
                        f"arrays have {counted(data.without_bytes, 'value')} that take no bytes; a message may have"
                        f" {MOST_WITHOUT_BYTES:,}"
                    )
            for _ in range(count):
                value, at = item(data, at)
                found.append(value)

    return read


def _map(item: Read) -> Read:
    """The reader of a map with string keys. Of entries with equal keys the last one stays."""

    def read(data: Message, at: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        while True:
            count, at = _count(data, at, 1)
            if not count:
                return found, at
            for _ in range(count):
                name, at = _string(data, at)
                found[name], at = item(data, at)

    return read


def _count(data: Message, at: int, least: int) -> tuple[int, int]:
    """The number of items in a block of an array or map. `least`: bytes of an item."""
    count, at = whole(data, at)
    if count < 0:  # the bytes of the block follow, for readers that skip it
        count = -count
        size, at = whole(data, at)
        _end(data, at, size)
    if count * least > len(data) - at:
        raise ValueError(f"a block of {count} items, where {len(data) - at} bytes are left")
    return count, at


def _logical(read: Read, schema: Mapping[str, Any]) -> Read:
    """The reader of a type's logical values; of the plain ones where it has none that is known."""
    meaning = _MEANINGS.get(f"{schema['type']}-{schema.get('logicalType')}")
    if meaning is None:
        return read
    scale = int(schema.get("scale") or 0)
    if scale > MOST_SCALE:
        raise SchemaError(f"a decimal of scale {scale:,}; the largest is {MOST_SCALE:,}")

    def mean(data: Message, at: int) -> tuple[Any, int]:
        value, at = read(data, at)
        return meaning(value, scale), at

    return mean


def _decimal(data: bytes, scale: int) -> Decimal | float:
    """A decimal with all its digits, also those that the precision of its schema has no room for.

    An infinity where it is beyond every float, since the digits of a million bytes take minutes to compute.
    """
    whole_number = int.from_bytes(data, "big", signed=True)
    if whole_number.bit_length() > _BITS_OF_FLOATS + scale * _BITS_OF_A_DIGIT:
        return math.inf if whole_number > 0 else -math.inf
    number = Decimal(whole_number).as_tuple()
    return Decimal((number.sign, number.digits, -scale))


def _uuid(value: str | bytes, _: int) -> str:
    return str(uuid.UUID(value) if isinstance(value, str) else uuid.UUID(bytes=value))


def _moments(unit: int, zone: str) -> Callable[[Any, int], Moment]:
    return lambda value, _: Moment(value * unit, zone)


def _of_day(unit: int) -> Callable[[Any, int], Any]:
    def time(value: int, _: int) -> str:
        if not 0 <= value * unit < NS_OF_DAY:
            raise ValueError(f"a time of day is {value}, which is none")
        return iso_of_day(value * unit)

    return time


def _duration(value: bytes, _: int) -> str | bytes:
    if len(value) != _THREE.size:  # the format has such a name ignored
        return value
    months, days, milliseconds = _THREE.unpack(value)
    return iso_duration(months, days, milliseconds * 1_000_000)


_MEANINGS: Mapping[str, Callable[[Any, int], Any]] = {
    "bytes-decimal": _decimal,
    "fixed-decimal": _decimal,
    "string-uuid": _uuid,
    "fixed-uuid": _uuid,
    "fixed-duration": _duration,
    "int-date": lambda value, _: iso_date(value),
    "int-time-millis": _of_day(1_000_000),
    "long-time-micros": _of_day(1000),
    **{
        f"long-{local}timestamp-{unit}": _moments(size, "" if local else "+00:00")
        for local in ("", "local-")
        for unit, size in (("millis", 1_000_000), ("micros", 1000), ("nanos", 1))
    },
}
"""What values mean, by `type-logicalType`: a function of the plain value and the `scale` of its schema."""
