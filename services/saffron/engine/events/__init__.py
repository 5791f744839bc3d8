"""Events: their schema, their decoding, and the columns and blocks in which they travel."""

from __future__ import annotations

from saffron.engine.events.block import Block, Control
from saffron.engine.events.codec import decode_block, encode_block, peek_header
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.decode import Decoded, Decoder
from saffron.engine.events.infer import infer_schema
from saffron.engine.events.json_schema import from_json_schema, to_json_schema
from saffron.engine.events.ndjson import decode_ndjson
from saffron.engine.events.raw import RawBatch, batch_of_lines, batch_of_values
from saffron.engine.events.schema import Kind, Schema
from saffron.engine.events.schema_record import schema_from_record, schema_to_record
from saffron.engine.events.tables import column_values, concat_columns, slice_columns

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
    "schema_from_record",
    "schema_to_record",
    "slice_columns",
    "to_json_schema",
]
