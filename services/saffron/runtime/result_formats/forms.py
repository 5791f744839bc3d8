"""What results may be written as beside JSON, and how: a schema registry's frame around a record of the fixed schema.

A topic has one schema, whatever its queries return: schemas/TOPIC.avsc or TOPIC.proto. It is in the package, so that
what Saffron has written it also reads without asking a registry. A message says which version it is by `ce_dataschema`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import orjson

from saffron.distribution import install
from saffron.errors import SettingsError
from saffron.runtime.log.topics import schema_folder
from saffron.runtime.process.config import AVRO, PROTOBUF
from saffron.runtime.result_formats.shapes import SHAPES, Fields

VERSION = 1
"""Of the fixed schemas. A change of one is a new version, and readers must still know the old one."""
DATASCHEMA = "ce_dataschema"


@dataclass(frozen=True)
class Form:
    """`kind`: as registries call it. `suffix`: of the schemas' files."""

    kind: str
    content_type: bytes
    suffix: str


FORMS: Mapping[str, Form] = {
    AVRO: Form("AVRO", b"application/avro", ".avsc"),
    PROTOBUF: Form("PROTOBUF", b"application/protobuf", ".proto"),
}
"""By what the setting results_format says."""


@dataclass(frozen=True)
class Codec:
    """`payload`: of a result's JSON; `json`: back again, ValueError where it is no such payload."""

    payload: Callable[[bytes], bytes]
    json: Callable[[bytes], bytes]


def dataschema(topic: str) -> bytes:
    """What names the schema that a topic's results are written by."""
    return f"urn:saffron:{topic}:{VERSION}".encode()


def schema_text(form: str, topic: str) -> str:
    """The schema as registries are told it."""
    return (schema_folder() / f"{topic}{FORMS[form].suffix}").read_text("utf-8")


@cache
def codec(form: str, topic: str) -> Codec:
    """How results of a topic are written and read. SettingsError: what it takes is not installed."""
    shape = SHAPES[topic]
    records = _records(form)(schema_text(form, topic))

    def payload(text: bytes) -> bytes:
        return records.write(shape.record(shape.loads(text)))

    def json(payload: bytes) -> bytes:
        return orjson.dumps(shape.result(records.read(payload)))

    return Codec(payload, json)


class _Records(Protocol):
    def write(self, record: Fields) -> bytes: ...

    def read(self, payload: bytes) -> Fields: ...


def _records(form: str) -> Callable[[str], _Records]:
    try:
        if form == AVRO:
            from saffron.runtime.result_formats.avro import AvroRecords

            return AvroRecords
        from saffron.runtime.result_formats.protobuf import ProtobufMessages

        return ProtobufMessages
    except ImportError as error:
        raise SettingsError(f"results are {form}, and {error.name} is missing: {install('registry')}") from error
