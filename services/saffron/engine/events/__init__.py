"""Events: their schema, their decoding, and the columns and blocks in which they travel.

The names below are loaded when they are first used: the language needs schemas alone, and should not have to wait for
Numba and Arrow to be imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saffron.engine.events.block import Block, Control
    from saffron.engine.events.codec import decode_block, encode_block, peek_header
    from saffron.engine.events.columns import Column, Columns
    from saffron.engine.events.decode import Decoded, Decoder
    from saffron.engine.events.files import read_events
    from saffron.engine.events.infer import infer_schema
    from saffron.engine.events.json_schema import from_json_schema, to_json_schema
    from saffron.engine.events.ndjson import decode_ndjson
    from saffron.engine.events.raw import RawBatch, batch_of_lines, batch_of_values
    from saffron.engine.events.schema import Kind, Schema
    from saffron.engine.events.schema_record import schema_from_record, schema_to_record
    from saffron.engine.events.tables import column_values, concat_columns, slice_columns

_HOMES = {
    "Block": "block",
    "Column": "columns",
    "Columns": "columns",
    "Control": "block",
    "Decoded": "decode",
    "Decoder": "decode",
    "Kind": "schema",
    "RawBatch": "raw",
    "Schema": "schema",
    "batch_of_lines": "raw",
    "batch_of_values": "raw",
    "column_values": "tables",
    "concat_columns": "tables",
    "decode_block": "codec",
    "decode_ndjson": "ndjson",
    "encode_block": "codec",
    "from_json_schema": "json_schema",
    "infer_schema": "infer",
    "peek_header": "codec",
    "read_events": "files",
    "schema_from_record": "schema_record",
    "schema_to_record": "schema_record",
    "slice_columns": "tables",
    "to_json_schema": "json_schema",
}

__all__ = [
    "Block",
    "Column",
    "Columns",
    "Control",
    "Decoded",
    "Decoder",
    "Kind",
    "RawBatch",
    "Schema",
    "batch_of_lines",
    "batch_of_values",
    "column_values",
    "concat_columns",
    "decode_block",
    "decode_ndjson",
    "encode_block",
    "from_json_schema",
    "infer_schema",
    "peek_header",
    "read_events",
    "schema_from_record",
    "schema_to_record",
    "slice_columns",
    "to_json_schema",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
