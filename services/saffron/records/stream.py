"""The record of a stream on `streams` (schemas/streams.yaml)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import orjson

from saffron.records.codec import RecordError, decode, encode, optional, require, unknown_fields

JSON = "json"
JSON_SCHEMA = "json-schema"
WITH_REGISTRY = ("avro", "protobuf")
FORMATS = (JSON, JSON_SCHEMA, *WITH_REGISTRY)
_NAME = re.compile(r"[A-Za-z0-9_-]+", flags=re.ASCII)
_NEW_NAME = re.compile(r"(?!.{201})[A-Za-z_](?:-?[A-Za-z0-9_])*-?", flags=re.ASCII)
NEW_NAMES = (
    "letters, digits, _ and -, 200 at most, beginning with a letter or _, and without --, which begins a comment"
)
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}", flags=re.ASCII)
_FIELDS = frozenset(
    {
        "name",
        "topic",
        "key",
        "schema",
        "disorder",
        "idle",
        "silence",
        "from",
        "format",
        "registry",
        "generation",
        "definition",
        "version",
        "digest",
    },
)
_DEFINITION_FIELDS = frozenset({"text", "numbers", "version", "partitions"})


@dataclass(frozen=True)
class AppliedDefinition:
    """The definition of a merged stream (`saffron.mapping`), as it was applied.

    `text`: YAML. `numbers`: topic of each source that the stream ever had -> the source's number. `version`: how many
    definitions of the stream were applied so far. `partitions`: topic -> the partitions that it had when it became a
    source; later ones were added, and are read from their first record. `unknown`: fields of a later format, kept
    unchanged.
    """

    text: str
    numbers: Mapping[str, int]
    version: int
    partitions: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> AppliedDefinition:
        """The definition in a record. RecordError: it cannot be read."""
        numbers, partitions = require(body, "numbers", dict), optional(body, "partitions", dict) or {}
        for name, counts in (("numbers", numbers), ("partitions", partitions)):
            if not all(isinstance(number, int) for number in counts.values()):
                raise RecordError(f'"{name}" of the definition should be whole numbers by topic')
        version, unknown = require(body, "version", int), unknown_fields(body, _DEFINITION_FIELDS)
        return cls(require(body, "text", str), numbers, version, partitions, unknown)

    def body(self) -> dict[str, Any]:
        """The fields, as the API shows them."""
        partitions = {"partitions": dict(self.partitions)} if self.partitions else {}
        return {"text": self.text, "numbers": dict(self.numbers), "version": self.version, **partitions, **self.unknown}


@dataclass(frozen=True)
class StreamRecord:
    """A stream: the topic of its events, and how to read them. Times are in ms.

    `topic`: full name. `key`: attribute that is the message key. `schema`: JSON Schema of an event; None: inferred.
    `disorder`: how late an event may be; None: 0. `idle`: silence after which a partition follows the others; None:
    never. `silence`: after which event time goes on without events, where all partitions are silent; None: never. For
    the default stream windowing's settings replace None. `source`: stream that this one is made from.
    `definition`: of a merged stream, whose events windowing writes to `topic`. `version`: of the record, one above that
    of the record that it was made of; 0: its writer did not count.
    `generation`: number of streams of this name so far; each has its own internal topics. `unknown`: fields of a later
    format, kept unchanged.
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
    definition: AppliedDefinition | None = None
    silence: int | None = None
    unknown: Mapping[str, Any] = field(default_factory=dict)
    version: int = field(default=0, compare=False)

    @property
    def stem(self) -> str:
        """The prefix of the names of its internal topics, different for each generation."""
        return stem_of(self.name, self.generation)

    @property
    def is_routed(self) -> bool:
        """True if windowing writes the stream's topic, from other topics."""
        return self.source is not None or self.definition is not None

    @classmethod
    def read(cls, key: str, value: bytes) -> StreamRecord:
        """The record in a message. RecordError: it cannot be read."""
        body = decode(value)
        if not is_name(key):
            raise RecordError(f"its key {key!r} is no name of a stream: letters, digits, _ and -")
        if body.get("name", key) != key:
            raise RecordError(f"its name {body['name']!r} is not its key")
        definition = optional(body, "definition", dict)
        form, generation = optional(body, "format", str) or JSON, _not_below(body, "generation", 1)
        if form not in FORMATS:
            raise RecordError(f'"format" should be one of {", ".join(FORMATS)}, and is {form!r}')
        if form in WITH_REGISTRY and body.get("registry") is None:
            raise RecordError(f'"registry" is missing: messages of format {form} need one')
        return cls(
            name=key,
            topic=_topic(require(body, "topic", str)),
            key=optional(body, "key", str),
            schema=optional(body, "schema", dict),
            disorder=_not_below(body, "disorder", 0),
            idle=_not_below(body, "idle", 1),
            silence=_not_below(body, "silence", 1),
            source=optional(body, "from", str),
            format=form,
            registry=optional(body, "registry", str),
            generation=1 if generation is None else generation,
            definition=None if definition is None else AppliedDefinition.read(definition),
            unknown=unknown_fields(body, _FIELDS),
            version=_version(body),
        )

    def body(self) -> dict[str, Any]:
        """The fields, as the API shows them. Rare fields are left out where they have their default."""
        few = {
            "silence": self.silence,
            "from": self.source,
            "format": None if self.format == JSON else self.format,
            "registry": self.registry,
            "generation": None if self.generation == 1 else self.generation,
            "definition": None if self.definition is None else self.definition.body(),
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
        body = self.body()
        return encode(body if self.version == 0 else {**body, "version": self.version, "digest": _digest(body)})

    def of_next_generation(self) -> StreamRecord:
        """This stream in its next generation."""
        return replace(self, generation=self.generation + 1)


def is_name(text: str) -> bool:
    """True if a stream that is there may have the name `text`."""
    return _NAME.fullmatch(text) is not None


def is_new_name(text: str) -> bool:
    """True if a stream that is to be made may have the name `text`: the FROM of a query can say it."""
    return _NEW_NAME.fullmatch(text) is not None


def stem_of(name: str, generation: int) -> str:
    """The stem (see `StreamRecord.stem`): NAME, then NAME.2, NAME.3, ... A stream's name has no dot."""
    return name if generation == 1 else f"{name}.{generation}"


def version_after(before: StreamRecord | None, next_offset: int) -> int:
    """The version of a record that is made of `before`.

    That of a new stream is above those of the streams that its name had: none exceeds the topic's `next_offset`.
    """
    return 1 + ((0 if before is None else before.version) or next_offset)


def _version(body: Mapping[str, Any]) -> int:
    """The version of a record; 0: it has none, or the digest is not that of its other fields.

    An older version of Saffron, or a hand, has then changed the record, and kept what it did not know.
    """
    version = _not_below(body, "version", 1)
    rest = {name: value for name, value in body.items() if name not in ("version", "digest")}
    return 0 if version is None or body.get("digest") != _digest(rest) else version


def _digest(body: Mapping[str, Any]) -> str:
    return blake2b(orjson.dumps(body, option=orjson.OPT_SORT_KEYS), digest_size=8).hexdigest()


def _topic(name: str) -> str:
    if not _TOPIC.fullmatch(name) or name in (".", ".."):
        raise RecordError(f'"topic" should be the name of a topic, and is {name!r}')
    return name


def _not_below(body: Mapping[str, Any], field: str, least: int) -> int | None:
    value = optional(body, field, int)
    if value is not None and value < least:
        raise RecordError(f'"{field}" should be {least} or more, and is {value}')
    return value
