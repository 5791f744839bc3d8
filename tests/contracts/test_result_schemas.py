"""The fixed schemas of results in Avro and Protobuf say what the JSON contracts say; confluent-kafka reads by them."""

from __future__ import annotations

import base64
import importlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import orjson
import pytest
import yaml
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict
from google.protobuf.message_factory import GetMessageClass

from saffron.runtime.process.background import at_once
from saffron.runtime.process.config import Settings
from saffron.runtime.result_formats.proto_file import read_proto
from saffron.runtime.result_formats.shapes import SHAPES
from saffron.runtime.result_formats.writing import ResultOutput
from saffron.runtime.streams.registry import over_http
from saffron.runtime.telemetry.health import Health
from tests.unit.windowing.fake_registry import FakeRegistry, running

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
TOPICS = sorted(SHAPES)
EVENT = {"seq", "ts", "type"}
MORE = {"ts_latest", "attributes"}
"""Fields of an event in the fixed schemas: where JSON has another form of `ts`, and the attributes beside it."""
_PROTO = {
    "string": {FieldDescriptorProto.TYPE_STRING},
    "boolean": {FieldDescriptorProto.TYPE_BOOL},
    "number": {FieldDescriptorProto.TYPE_DOUBLE},
    "integer": {FieldDescriptorProto.TYPE_INT32, FieldDescriptorProto.TYPE_INT64},
}
_AVRO = {"string": {"string"}, "boolean": {"boolean"}, "number": {"double"}, "integer": {"int", "long"}}


def contract(topic: str) -> dict[str, Any]:
    raw: dict[str, Any] = yaml.safe_load((SCHEMAS / f"{topic}.yaml").read_text("utf-8"))
    assert raw["schema"]["additionalProperties"] is False
    return raw["schema"]  # type: ignore[no-any-return]


def avsc(topic: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads((SCHEMAS / f"{topic}.avsc").read_bytes())
    return found


def proto(topic: str) -> Any:
    return read_proto(f"{topic}.proto", (SCHEMAS / f"{topic}.proto").read_text("utf-8"))


@pytest.mark.parametrize("topic", TOPICS)
def test_avro_has_the_fields_of_the_contract(topic: str) -> None:
    properties, required = contract(topic)["properties"], set(contract(topic)["required"])
    fields = {field["name"]: field for field in avsc(topic)["fields"]}
    assert list(fields) == list(properties)
    assert {name for name, field in fields.items() if "default" not in field} == required
    for name, said in properties.items():
        if said.get("type") in _AVRO:
            kind = fields[name]["type"]
            kinds = set(kind) - {"null"} if isinstance(kind, list) else {kind}
            assert kinds <= _AVRO[said["type"]], name
            assert ("null" in kind) == (name not in required and said["type"] != "boolean"), name


@pytest.mark.parametrize("topic", TOPICS)
def test_protobuf_has_the_fields_of_the_contract(topic: str) -> None:
    properties, required = contract(topic)["properties"], set(contract(topic)["required"])
    (message, *_) = proto(topic).message_type
    assert message.name == avsc(topic)["name"]
    assert [field.name for field in message.field] == list(properties)
    assert [field.number for field in message.field] == list(range(1, len(properties) + 1))
    for field in message.field:
        said = properties[field.name]
        if said.get("type") in _PROTO:
            assert field.type in _PROTO[said["type"]], field.name
            assert field.proto3_optional == (field.name not in required and said["type"] != "boolean"), field.name


def test_events_have_the_fields_of_the_contract() -> None:
    said = contract("complex-events")["$defs"]["event"]["properties"]
    assert set(said) == EVENT
    (events,) = [field for field in avsc("complex-events")["fields"] if field["name"] == "events"]
    (event,) = [one for one in events["type"]["values"] if isinstance(one, dict) and one["type"] == "record"]
    assert {field["name"] for field in event["fields"]} == EVENT | MORE
    (message,) = [one for one in proto("complex-events").message_type if one.name == "Event"]
    assert [field.name for field in message.field] == [field["name"] for field in event["fields"]]


# ---------------------------------------------------------------- confluent-kafka's own deserializers


class _Client:
    """What the deserializers ask of a registry, over HTTP. A registry turns the text of a .proto into its descriptor
    where it is asked for that; here the test does it."""

    def __init__(self, confluent: Any, registry: FakeRegistry) -> None:
        self._confluent = confluent
        self._get = over_http(registry.url, "")

    def config(self) -> dict[str, Any]:
        return {}

    def get_schema(self, number: int, subject: str | None = None, fmt: str | None = None) -> Any:
        body = self._get(f"/schemas/ids/{number}")
        text = body["schema"]
        if fmt == "serialized":
            text = base64.b64encode(read_proto("result.proto", text).SerializeToString()).decode()
        return self._confluent.Schema(text, body["schemaType"])


class _Absent(ModuleType):
    """A module of which only names are needed: what the registry client speaks HTTP by, and files of `google.type`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        file = FileDescriptorProto(name=f"{name}.proto", syntax="proto3")
        parts = {
            "__init__": lambda self, *_, **__: None,
            "DESCRIPTOR": SimpleNamespace(serialized_pb=file.SerializeToString()),
        }
        return type(name, (dict,), parts)


_CLIENT = (
    "authlib",
    "authlib.integrations",
    "authlib.integrations.httpx_client",
    "cachetools",
    "httpx2",
    "google.type",
)


@pytest.fixture(scope="module")
def confluent() -> Iterator[Any]:
    """The module, where the client's packages are not installed with names in their place: deserializers need none."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        for name in _CLIENT:
            if not _there(name):
                patch.setitem(sys.modules, name, _Absent(name))
        module = importlib.import_module("confluent_kafka.schema_registry")
        parts = {name: importlib.import_module(f"{module.__name__}.{name}") for name in ("avro", "protobuf")}
        serialization = importlib.import_module("confluent_kafka.serialization")
        yield SimpleNamespace(
            Schema=module.Schema,
            Avro=parts["avro"].AvroDeserializer,
            Protobuf=parts["protobuf"].ProtobufDeserializer,
            strategy={"subject.name.strategy": module.topic_subject_name_strategy},
            context=serialization.SerializationContext("t.results", serialization.MessageField.VALUE),
        )
        for name in set(sys.modules) - before:
            if name.startswith("confluent_kafka.schema_registry"):
                patch.delitem(sys.modules, name)


def _there(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


@dataclass(frozen=True)
class _Example:
    topic: str
    result: dict[str, Any]


EXAMPLES = [
    pytest.param(_Example(path.parts[-3], orjson.loads(path.read_bytes())), id=f"{path.parts[-3]}/{path.stem}")
    for path in sorted(SCHEMAS.glob("examples/*/valid/*.json"))
    if path.parts[-3] in TOPICS
]


@pytest.fixture(scope="module")
def registry() -> Iterator[FakeRegistry]:
    with running() as one:
        yield one


def written(example: _Example, form: str, registry: FakeRegistry) -> bytes:
    """As the services write it: the schema registered, then the frame."""
    settings = replace(Settings(), results_format=form, results_registry=registry.url)
    made = ResultOutput(settings, example.topic, f"{form}.{example.topic}", Health("test"), at_once)
    made.step(0)
    made.step(1)
    assert made.written is not None
    assert made.written.encode is not None
    return made.written.encode(orjson.dumps(example.result))


@pytest.mark.parametrize("example", EXAMPLES)
def test_confluents_avro_deserializer_reads_results(confluent: Any, registry: FakeRegistry, example: _Example) -> None:
    read = confluent.Avro(_Client(confluent, registry), conf=confluent.strategy)
    record = read(written(example, "avro", registry), confluent.context)
    assert SHAPES[example.topic].result(record) == example.result


@pytest.mark.parametrize("example", EXAMPLES)
def test_confluents_protobuf_deserializer_reads_results(
    confluent: Any, registry: FakeRegistry, example: _Example
) -> None:
    pool, file = DescriptorPool(), proto(example.topic)
    pool.Add(file)
    kind = GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.{file.message_type[0].name}"))
    read = confluent.Protobuf(kind, confluent.strategy, _Client(confluent, registry))
    message = read(written(example, "protobuf", registry), confluent.context)
    assert (message.id, message.query) == (example.result["id"], example.result["query"])
    assert message.detected_at == example.result["detected_at"]
    said = MessageToDict(message, preserving_proto_field_name=True)
    assert _plain(said.get("return", {})) == example.result.get("return", {})


def _plain(values: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Values as JSON has them: Protobuf's JSON writes 64 bits as text."""
    read = {"long_value": int, "double_value": float, "string_value": str, "bool_value": bool}
    return {name: next((read[kind](one) for kind, one in value.items()), None) for name, value in values.items()}
