"""The record of a stream on `streams` (schemas/streams.yaml)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from saffron.records.codec import RecordError, decode, encode, optional, others, require

JSON = "json"
FORMATS = (JSON, "json-schema", "avro", "protobuf")
WITH_REGISTRY = ("avro", "protobuf")
_NAME = re.compile(r"[A-Za-z0-9_-]+", flags=re.ASCII)
_FIELDS = frozenset(
    {"name", "topic", "key", "schema", "disorder", "idle", "from", "format", "registry", "generation"},
)


@dataclass(frozen=True)
class StreamRecord:
    """A stream: where its events are, and how they are read. Times in ms.

    `topic`: full name. `key`: the attribute that messages are keyed by. `schema`: JSON Schema of an event; None: it is
    inferred. `disorder`: how late an event may be; `idle`: after how long a silent partition follows the others.
    None is 0 and never; of the default stream, what windowing's settings say. `source`: the stream that this one is
    made from. `generation`: how often a stream of this name has been made; each has inner topics of its own.
    `unknown`: fields of a later version, which stay as they are.
    """

    name: str
    topic: str
    key: str | None = None
    schema: Mapping[str, Any] | None = None
    disorder: int | None = None
    idle: int | None = None
    source: str | None = None
    format: str = JSON
    registry: str | None = None
    generation: int = 1
    unknown: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stem(self) -> str:
        """What the names of its inner topics begin with, and what tells generations apart."""
        return stem_of(self.name, self.generation)

    @classmethod
    def read(cls, key: str, value: bytes) -> StreamRecord:
        """The record under this key. RecordError: it cannot be read."""
        body = decode(value)
        if not is_name(key):
            raise RecordError(f"its key {key!r} is no name of a stream: letters, digits, _ and -")
        if body.get("name", key) != key:
            raise RecordError(f"its name {body['name']!r} is not its key")
        form, generation = optional(body, "format", str) or JSON, optional(body, "generation", int)
        if form not in FORMATS:
            raise RecordError(f'"format" should be one of {", ".join(FORMATS)}, and is {form!r}')
        if form in WITH_REGISTRY and body.get("registry") is None:
            raise RecordError(f'"registry" is missing: messages of format {form} need one')
        return cls(
            name=key,
            topic=require(body, "topic", str),
            key=optional(body, "key", str),
            schema=optional(body, "schema", dict),
            disorder=_not_below(body, "disorder", 0),
            idle=_not_below(body, "idle", 1),
            source=optional(body, "from", str),
            format=form,
            registry=optional(body, "registry", str),
            generation=1 if generation is None else generation,
            unknown=others(body, _FIELDS),
        )

    def body(self) -> dict[str, Any]:
        """The fields, as the API shows them; what few streams have is left out of the others."""
        few = {
            "from": self.source,
            "format": None if self.format == JSON else self.format,
            "registry": self.registry,
            "generation": None if self.generation == 1 else self.generation,
        }
        return {
            "name": self.name,
            "topic": self.topic,
            "key": self.key,
            "schema": self.schema,
            "disorder": self.disorder,
            "idle": self.idle,
            **{name: value for name, value in few.items() if value is not None},
            **self.unknown,
        }

    def encode(self) -> bytes:
        """The value of the message."""
        return encode(self.body())

    def of_next_generation(self) -> StreamRecord:
        """The same stream, made anew."""
        return replace(self, generation=self.generation + 1)


def is_name(text: str) -> bool:
    """Whether a stream can have this name."""
    return _NAME.fullmatch(text) is not None


def stem_of(name: str, generation: int) -> str:
    """See `StreamRecord.stem`: NAME, then NAME.2, NAME.3, ... (a stream's name has no dot)."""
    return name if generation == 1 else f"{name}.{generation}"


def _not_below(body: Mapping[str, Any], field: str, least: int) -> int | None:
    value = optional(body, field, int)
    if value is not None and value < least:
        raise RecordError(f'"{field}" should be {least} or more, and is {value}')
    return value
