"""Avro records as JSON events, each read by the schema that it was written with."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import fastavro
import orjson

from saffron.engine.events.decoding.as_json import event_as_json
from saffron.engine.events.formats.framed import Reader
from saffron.errors import SchemaError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def avro_reader(text: str, referenced: Sequence[str] = ()) -> Reader:
    """The reader of one schema (JSON); `referenced`: those that it names, in an order in which each knows its own.

    An event's `type` is the record's name, unless it has a field of that name. SchemaError: the schema is no record's.
    """
    named: dict[str, Any] = {}
    try:
        for one in referenced:
            fastavro.parse_schema(orjson.loads(one), named_schemas=named)
        schema = orjson.loads(text)
        parsed = fastavro.parse_schema(schema, named_schemas=named)
    except (ValueError, KeyError, TypeError, fastavro.schema.SchemaParseException) as error:
        raise SchemaError(f"no Avro schema: {error!r}") from error
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise SchemaError("an Avro schema of no record, and an event is a record")
    kind = str(schema["name"]).rpartition(".")[2]

    def read(payload: bytes) -> bytes:
        stream = io.BytesIO(payload)
        try:
            record: Any = fastavro.schemaless_reader(stream, parsed, None)
        except Exception as error:  # fastavro raises what its parts do, IndexError and struct.error among it
            raise ValueError(f"{type(error).__name__} {error}".strip()) from error
        if left := len(payload) - stream.tell():
            raise ValueError(f"{left} bytes are left over")
        return _json(kind, record)

    return read


def _json(kind: str, record: Mapping[str, Any]) -> bytes:
    event = {"type": kind, **record}
    when = event.get("ts")
    if isinstance(when, datetime):
        event["ts"] = (when.replace(tzinfo=when.tzinfo or UTC) - _EPOCH) // timedelta(milliseconds=1)
    return event_as_json(event)
