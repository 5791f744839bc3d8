"""Avro records as JSON events, each read by the schema that it was written with; nested ones stay nested."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import fastavro
import orjson
from fastavro import _read_py

from saffron.engine.events.decoding.as_json import event_as_json
from saffron.engine.events.formats.framed import Reader
from saffron.errors import SchemaError

_LONG_BITS = 70
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _decimal(data: bytes, written: Mapping[str, Any], *_: Any) -> Decimal:
    """A decimal with all its digits. fastavro rounds it to the `precision` of its schema, without a word."""
    whole = Decimal(int.from_bytes(data, "big", signed=True)).as_tuple()
    return Decimal((whole.sign, whole.digits, -int(written.get("scale", 0))))


fastavro.read.LOGICAL_READERS |= {"bytes-decimal": _decimal, "fixed-decimal": _decimal}


def avro_reader(text: str, referenced: Sequence[str] = ()) -> Reader:
    """The reader of one schema (JSON); `referenced`: those that it names, in an order in which each knows its own.

    The schema is of a record, or a union of records. An event's `type` is the record's name, unless it has a field of
    that name. SchemaError: the schema is none of these.
    """
    named: dict[str, Any] = {}
    try:
        for one in referenced:
            fastavro.parse_schema(orjson.loads(one), named_schemas=named)
        schema = orjson.loads(text)
        parsed = fastavro.parse_schema(schema, named_schemas=named)
    except (ValueError, KeyError, TypeError, RecursionError, fastavro.schema.SchemaParseException) as error:
        raise SchemaError(f"no Avro schema: {error!r}") from error
    names = [_record_name(one, named) for one in (parsed if isinstance(schema, list) else [parsed])]
    # A record nested without end overflows the stack of fastavro's compiled reader, which kills the process. A few
    # thousand bytes are enough. The reader in Python raises RecursionError.
    reader = _read_py.schemaless_reader if _holds_itself(parsed, named, set(), set()) else fastavro.schemaless_reader
    branches = [fastavro.parse_schema(_around(name), named_schemas=dict(named)) for name in names]

    def read(payload: bytes) -> bytes:
        stream = io.BytesIO(payload)
        try:
            branch = _long(stream) if isinstance(schema, list) else 0
            record: Any = reader(stream, branches[branch], None)
        except Exception as error:  # fastavro raises the errors of its parts, such as IndexError and struct.error
            raise ValueError(f"{type(error).__name__} {error}".strip()) from error
        if left := len(payload) - stream.tell():
            raise ValueError(f"{left} bytes are left over")
        return _json(names[branch].rpartition(".")[2], record["event"])

    return read


def _holds_itself(schema: Any, named: Mapping[str, Any], within: set[str], done: set[str]) -> bool:
    """True if a named type has itself among its parts. `within`: names that this part stands in; `done`: looked at."""
    if isinstance(schema, list):
        return any(_holds_itself(one, named, within, done) for one in schema)
    if isinstance(schema, str):
        if schema in within or schema not in named or schema in done:
            return schema in within
        schema = named[schema]
    name, kind = schema.get("name"), schema["type"]
    parts = [field["type"] for field in schema["fields"]] if kind in ("record", "error") else [kind]
    parts += [schema[part] for part in ("items", "values") if part in schema]
    found = any(_holds_itself(part, named, within | {name}, done) for part in parts)
    done.add(name)
    return found


def _record_name(schema: Any, named: Mapping[str, Any]) -> str:
    """The full name of a record by its parsed schema, or that name itself. SchemaError: it is of no record."""
    found = named.get(schema) if isinstance(schema, str) else schema
    if not isinstance(found, dict) or found.get("type") != "record":
        raise SchemaError("an Avro schema of no record, and an event is a record")
    return str(found["name"])


def _around(name: str) -> dict[str, Any]:
    """A record with the named one as its only field: it is written as that, and knows all names that it needs."""
    return {"type": "record", "name": "SaffronAround", "fields": [{"name": "event", "type": name}]}


def _long(stream: io.BytesIO) -> int:
    """A number of Avro, such as that of a union's branch: zigzag, 7 bits a byte. IndexError: it is torn or negative."""
    number = shift = 0
    while True:
        byte = stream.read(1)[0]
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80 or shift > _LONG_BITS:
            break
    if number & 1 or shift > _LONG_BITS:
        raise IndexError("it is of no branch of the union")
    return number >> 1


def _json(kind: str, record: Mapping[str, Any]) -> bytes:
    event = {"type": kind, **record}
    when = event.get("ts")
    if isinstance(when, datetime):
        event["ts"] = (when.replace(tzinfo=when.tzinfo or UTC) - _EPOCH) // timedelta(milliseconds=1)
    return event_as_json(event)
