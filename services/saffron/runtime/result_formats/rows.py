"""Results as rows (PUBLISH ... AS): JSON with its schema, as Kafka Connect's JsonConverter reads it, and Avro records.

A row is flat: a field for each value, named and typed by the query's plan. `runtime.results.published` writes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import orjson

from saffron.distribution import install
from saffron.engine.events.formats.framed import frame_head
from saffron.engine.operators.result_values import read_result
from saffron.errors import LogError, RefusedError, RowsError, SchemaError, SettingsError
from saffron.language.plan.row import Row, RowField, RowType
from saffron.runtime.process.config import Settings
from saffron.runtime.streams.registry import WriterSchema, posting, register
from saffron.schema.numbers import digits

AVRO = "AVRO"
_CONTENT_TYPES = {AVRO: b"application/avro", "JSON SCHEMA": b"application/json"}
_LARGEST = 2**63
_PATIENCE = 0.5
"""Time that the first row of a query waits for the registry (s); it answers at once, unless something is wrong."""
_WINDOW = {"window_start": 0, "window_end": 1}
_CONNECT: Mapping[RowType, Mapping[str, Any]] = {
    RowType.STRING: {"type": "string"},
    RowType.LONG: {"type": "int64"},
    RowType.DOUBLE: {"type": "double"},
    RowType.BOOLEAN: {"type": "boolean"},
    RowType.TIMESTAMP: {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1},
}
_AVRO: Mapping[RowType, Any] = {
    RowType.STRING: "string",
    RowType.LONG: "long",
    RowType.DOUBLE: "double",
    RowType.BOOLEAN: "boolean",
    RowType.TIMESTAMP: {"type": "long", "logicalType": "timestamp-millis"},
}

Encode = Callable[[bytes], bytes]


def values_of(row: Row, text: bytes) -> dict[str, Any]:
    """The values of a result (JSON) by field. A value that its field cannot hold is null."""
    result = read_result(text)
    return {field.name: _fitting(_value(field, result), field.type) for field in row.fields}


def connect_schema(row: Row) -> dict[str, Any]:
    """The schema in a message, as Kafka Connect's JsonConverter reads it."""
    fields = [{"field": one.name, "optional": not one.required, **_CONNECT[one.type]} for one in row.fields]
    return {"type": "struct", "name": f"saffron.rows.{_name(row)}", "optional": False, "fields": fields}


def avro_schema(row: Row) -> str:
    """The text of the schema that is registered."""
    fields = [
        {"name": one.name, "type": _AVRO[one.type]}
        if one.required
        else {"name": one.name, "type": ["null", _AVRO[one.type]], "default": None}
        for one in row.fields
    ]
    return json.dumps({"type": "record", "name": _name(row), "namespace": "saffron.rows", "fields": fields})


class RowFormats:
    """The encoders of one service's rows. An Avro schema is registered when its first row is written."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._encoders: dict[tuple[str, Row], Encode] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._requests: dict[tuple[str, Row], Future[int]] = {}
        self._waiting = ""

    def refusal(self, row: Row) -> str:
        """The reason why such rows cannot be written as things are set; "" if they can."""
        if row.form != AVRO:
            return ""
        if not self._settings.results_registry:
            return (
                "AS AVRO needs a schema registry: set results_registry (SAFFRON_RESULTS_REGISTRY, saffron up "
                "--registry URL)"
            )
        try:
            posting(self._settings.results_registry, self._settings.registry_auth)
            _avro(row)
        except SettingsError as error:
            return str(error)
        except ImportError as error:
            return f"AS AVRO needs {error.name}: {install('registry')}"
        return ""

    def encode(self, topic: str, row: Row, text: bytes) -> bytes:
        """A result (JSON) as a row. SchemaError: the registry refuses the schema of the rows. RowsError: it does not
        answer.
        """
        encoder = self._encoders.get((topic, row))
        if encoder is None:
            encoder = self._encoders[topic, row] = self._encoder(topic, row)
        return encoder(text)

    @staticmethod
    def content_type(row: Row) -> bytes:
        return _CONTENT_TYPES[row.form]

    def _encoder(self, topic: str, row: Row) -> Encode:
        """The function from a result (JSON) to the bytes of a row. AVRO needs the id of its schema first.

        SchemaError, RowsError: see `encode`.
        """
        if row.form != AVRO:
            opening = b'{"schema":' + orjson.dumps(connect_schema(row)) + b',"payload":'
            return lambda text: opening + orjson.dumps(values_of(row, text)) + b"}"
        write = _avro(row)
        try:
            head = frame_head(self._registered(topic, row))
        except RefusedError as error:
            raise SchemaError(f"rows cannot be written without their schema, {topic}-value: {error}") from error
        except LogError as error:  # told in the same words while the next request is under way
            self._waiting = str(error)
            raise RowsError(f"the rows of query {row.name} wait for their schema, {topic}-value: {error}") from error
        return lambda text: head + write(values_of(row, text))

    def _registered(self, topic: str, row: Row) -> int:
        """The id of the schema of rows. A registry that takes long holds up these rows, and not the service."""
        wait = 0.0
        if (topic, row) not in self._requests:
            post = posting(self._settings.results_registry, self._settings.registry_auth)
            schema = WriterSchema(AVRO, avro_schema(row))
            self._threads = self._threads or ThreadPoolExecutor(1, "rows")
            self._requests[topic, row] = self._threads.submit(register, post, f"{topic}-value", schema)
            wait = _PATIENCE
        request = self._requests[topic, row]
        try:
            request.exception(wait)
        except TimeoutError:
            yet = f"the schema registry at {self._settings.results_registry} has not answered yet"
            raise LogError(self._waiting or yet) from None
        self._waiting = ""
        return self._requests.pop((topic, row)).result()


def _avro(row: Row) -> Callable[[dict[str, Any]], bytes]:
    from saffron.runtime.result_formats.avro import AvroRecords

    return AvroRecords(avro_schema(row)).write


def _name(row: Row) -> str:
    """The query's name as Avro has names."""
    return re.sub(r"\W", "_", row.name, flags=re.ASCII)


def _value(field: RowField, result: Mapping[str, Any]) -> Any:
    if field.part:
        return result[field.part].get(field.name)
    if field.name in _WINDOW:
        return result["window"][_WINDOW[field.name]]
    return result.get(field.name)


def _fitting(value: Any, kind: RowType) -> Any:
    """A value as a field of this type holds it, else None."""
    match kind:
        case RowType.STRING:
            return value if value is None or isinstance(value, str) else _text(value)
        case RowType.BOOLEAN:
            return value if isinstance(value, bool) else None
        case RowType.DOUBLE:
            return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    whole = isinstance(value, int) and not isinstance(value, bool) and -_LARGEST <= value < _LARGEST
    return value if whole else None


def _text(value: Any) -> str:
    """The text of a value as results have it; integers of any size."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return digits(value) if whole else orjson.dumps(value).decode()
