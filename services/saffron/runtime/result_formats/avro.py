"""Results as Avro records. Equal records give equal bytes: maps are written in their order."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import orjson

from saffron.engine.events.formats.avro import avro_values
from saffron.runtime.result_formats.shapes import Fields

_EVENT = "saffron.complex_events.Event"


class AvroRecords:
    """A codec for records of one schema. `text`: JSON of an .avsc."""

    def __init__(self, text: str) -> None:
        named: dict[str, Any] = {}
        self._schema: Any = fastavro.parse_schema(orjson.loads(text), named_schemas=named)
        self._read = avro_values(self._schema, named)
        self._has_events = _EVENT in named

    def write(self, record: Fields) -> bytes:
        """The bytes of a record. Missing fields get the schema's defaults."""
        if self._has_events and "events" in record:
            record["events"] = {name: _named(bound) for name, bound in record["events"].items()}
        out = io.BytesIO()
        fastavro.schemaless_writer(out, self._schema, record)
        return out.getvalue()

    def read(self, payload: bytes) -> Fields:
        """The record in `payload`. ValueError: it is none of this schema."""
        try:
            return dict(self._read(payload))
        except ValueError as error:
            raise ValueError(f"no Avro record of its schema: {error}") from error


def _named(bound: Any) -> Any:
    """The value with the name of its type.

    Without it fastavro would check all alternatives, which takes longer than writing.
    """
    if bound is None:
        return None
    return ("array" if isinstance(bound, list) else _EVENT, bound)
