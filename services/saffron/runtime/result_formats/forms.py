"""Output formats of results besides JSON: a schema registry's frame around a record of a fixed schema.

Each topic has one schema for all queries: schemas/TOPIC.avsc or TOPIC.proto. It is part of the package, so that Saffron
reads its own results without a registry. The header `ce_dataschema` names the schema's version.
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
"""Version of the fixed schemas. A changed schema is a new version; readers must keep the old one."""
DATASCHEMA = "ce_dataschema"


@dataclass(frozen=True)
class Form:
    """An output format. `kind`: its name in registries. `suffix`: of its schema files."""

    kind: str
    content_type: bytes
    suffix: str


FORMS: Mapping[str, Form] = {
    AVRO: Form("AVRO", b"application/avro", ".avsc"),
    PROTOBUF: Form("PROTOBUF", b"application/protobuf", ".proto"),
}
"""Output formats by the value of the setting results_format."""


@dataclass(frozen=True)
class Codec:
    """A pair of conversions. `payload`: from a result's JSON; `json`: back, ValueError for an invalid payload."""

    payload: Callable[[bytes], bytes]
    json: Callable[[bytes], bytes]


def dataschema(topic: str) -> bytes:
    """The name of the schema of a topic's results."""
    return f"urn:saffron:{topic}:{VERSION}".encode()


def schema_text(form: str, topic: str) -> str:
    """The schema's text, as registered."""
    return (schema_folder() / f"{topic}{FORMS[form].suffix}").read_text("utf-8")


@cache
def codec(form: str, topic: str) -> Codec:
    """The codec of a topic's results. SettingsError: a package is missing."""
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
    """The codec class of a format. SettingsError: its package is missing."""
    try:
        if form == AVRO:
            from saffron.runtime.result_formats.avro import AvroRecords

            return AvroRecords
        from saffron.runtime.result_formats.protobuf import ProtobufMessages

        return ProtobufMessages
    except ImportError as error:
        raise SettingsError(f"results are {form}, and {error.name} is missing: {install('registry')}") from error
