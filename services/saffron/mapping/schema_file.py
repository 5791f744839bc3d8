"""The schema of a stream in a file."""

from __future__ import annotations

import os
from pathlib import Path

import orjson

from saffron.engine.events.json_schema import from_json_schema
from saffron.errors import SchemaError
from saffron.given_files import bytes_of
from saffron.schema.schema import Schema


def schema_at(path: str | os.PathLike[str]) -> Schema:
    """The schema in a file with a stream's JSON Schema.

    InputError: the file cannot be read. SchemaError: it is no such schema; the message names the file.
    """
    try:
        document = orjson.loads(bytes_of(Path(path)))
    except orjson.JSONDecodeError as error:
        raise SchemaError(f"{path} is not JSON: {error}") from error
    try:
        return from_json_schema(document)
    except SchemaError as error:
        raise SchemaError(f"{path}: {error}") from None
