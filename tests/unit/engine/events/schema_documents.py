"""The JSON Schema of a stream's schema: the way back from what `from_json_schema` reads."""

from __future__ import annotations

from typing import Any

from saffron.schema.schema import Schema

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_INTERVAL = {"items": {"type": "integer"}, "minItems": 2, "maxItems": 2}


def to_json_schema(schema: Schema) -> dict[str, Any]:
    """The JSON Schema of a schema: one object where there is one event type, `oneOf` otherwise."""
    branches = [_branch(schema, name) for name in schema.types]
    if len(branches) == 1:
        return {"$schema": _DIALECT, **branches[0]}
    return {"$schema": _DIALECT, "oneOf": branches}


def _branch(schema: Schema, type_name: str) -> dict[str, Any]:
    required = schema.required.get(type_name, frozenset())
    properties: dict[str, Any] = {"type": {"const": type_name}, "ts": {"type": ["integer", "string"]}}
    law = schema.times.get(type_name)
    if law is not None:
        given = law if isinstance(law, str) else list(law)
        properties["ts"] = {"type": ["integer", "string", "array"], **_INTERVAL, "x-time": {"distribution": given}}
    for name in schema.types[type_name]:
        kind = schema.kinds[name].json_type
        properties[name] = {"type": kind if name in required else [kind, "null"]}
    return {
        "type": "object",
        "properties": properties,
        "required": ["type", *(name for name in schema.types[type_name] if name in required)],
        "additionalProperties": not schema.closed,
    }
