"""Avro records as JSON events, each read by the schema that it was written with; nested ones stay nested."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import fastavro
import orjson

from saffron.counted import counted
from saffron.engine.events.formats.as_json import event_as_json
from saffron.engine.events.formats.avro_values import Message, Read, Values, whole
from saffron.engine.events.formats.framed import Reader
from saffron.errors import SchemaError


def avro_reader(text: str, referenced: Sequence[str] = ()) -> Reader:
    """The reader of one schema (JSON); `referenced`: those that it names, in an order in which each knows its own.

    The schema is of a record, or a union of records. An event's `type` is the record's name, unless it has a field of
    that name. SchemaError: the schema is none of these.
    """
    parsed, named = _parsed(text, referenced)
    branches = parsed if isinstance(parsed, list) else [parsed]
    names = [_record_name(one, named) for one in branches]
    read = avro_values(parsed, named)

    def event(payload: bytes) -> bytes:
        record = read(payload)
        branch = whole(payload, 0)[0] if isinstance(parsed, list) else 0
        return event_as_json({"type": names[branch].rpartition(".")[2], **record})

    return event


def avro_values(parsed: Any, named: Mapping[str, Any]) -> Callable[[bytes], Any]:
    """A function from bytes to the value of a parsed schema, whose named types are `named`.

    It raises ValueError if the bytes are no such value.
    """
    read: Read = Values(named).reader(parsed)

    def value(payload: bytes) -> Any:
        """The value that the bytes hold, to the last byte. ValueError: they hold no such value, or more than it."""
        try:
            found, end = read(Message(payload), 0)
        except IndexError:
            raise ValueError("it ends within a value") from None
        except RecursionError:
            raise ValueError("it is nested too deep") from None
        if left := len(payload) - end:
            raise ValueError(counted(left, "byte is left over", "bytes are left over"))
        return found

    return value


def _parsed(text: str, referenced: Sequence[str]) -> tuple[Any, Mapping[str, Any]]:
    """A schema with all names in full, and its named types."""
    named: dict[str, Any] = {}
    try:
        for one in referenced:
            fastavro.parse_schema(orjson.loads(one), named_schemas=named)
        return fastavro.parse_schema(orjson.loads(text), named_schemas=named), named
    except (ValueError, KeyError, TypeError, RecursionError, fastavro.schema.SchemaParseException) as error:
        raise SchemaError(f"no Avro schema: {error!r}") from error


def _record_name(schema: Any, named: Mapping[str, Any]) -> str:
    """The full name of a record by its parsed schema, or that name itself. SchemaError: it is of no record."""
    found = named.get(schema) if isinstance(schema, str) else schema
    if not isinstance(found, dict) or found.get("type") != "record":
        raise SchemaError("an Avro schema of no record, and an event is a record")
    return str(found["name"])
