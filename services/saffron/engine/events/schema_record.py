"""A schema as it travels in the log ("schema" and "checkpoint" control records): all of it, column order included."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import orjson

from saffron.errors import LogError
from saffron.schema.schema import Distribution, Kind, Schema


def schema_to_record(schema: Schema) -> dict[str, Any]:
    """The schema as JSON-able data; "times" only where time is imprecise."""
    times = {name: law if isinstance(law, str) else list(law) for name, law in schema.times.items()}
    return {
        "kinds": {name: kind.value for name, kind in schema.kinds.items()},
        "types": {name: list(attributes) for name, attributes in schema.types.items()},
        "required": {name: sorted(attributes) for name, attributes in schema.required.items()},
        "closed": schema.closed,
        "given": schema.given,
        **({"times": times} if times else {}),
    }


def fingerprint(record: Mapping[str, Any]) -> str:
    """16 hex digits that tell one record from another: the name under which kernels for this schema are spoken of."""
    return blake2b(orjson.dumps(dict(record)), digest_size=8).hexdigest()


def schema_from_record(record: Mapping[str, Any]) -> Schema:
    """The schema of a record made by `schema_to_record`; LogError where it is none."""
    try:
        schema = Schema(
            kinds={name: Kind(kind) for name, kind in record["kinds"].items()},
            types={name: tuple(attributes) for name, attributes in record["types"].items()},
            required={name: frozenset(attributes) for name, attributes in record["required"].items()},
            closed=bool(record["closed"]),
            given=bool(record["given"]),
            times={name: _distribution(law) for name, law in record.get("times", {}).items()},
        )
        for name in itertools.chain(*schema.types.values(), *schema.required.values()):
            schema.kinds[name]
        return schema
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        raise LogError(f"the log holds a schema that cannot be read ({error!r}): {dict(record)!r}") from error


def _distribution(law: str | list[float]) -> Distribution:
    return law if isinstance(law, str) else tuple(float(weight) for weight in law)
