"""Results in a registry's frame: the schema's id is waited for, bytes never change, our readers need no registry."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from saffron.errors import SettingsError
from saffron.runtime.log import Record
from saffron.runtime.process.background import at_once
from saffron.runtime.process.config import Settings
from saffron.runtime.result_formats.avro import AvroRecords
from saffron.runtime.result_formats.forms import codec, schema_text
from saffron.runtime.result_formats.proto_file import read_proto
from saffron.runtime.result_formats.protobuf import ProtobufMessages
from saffron.runtime.result_formats.reading import result_id, result_json
from saffron.runtime.result_formats.writing import OutputFormat, ResultOutput, require_writable
from saffron.runtime.telemetry.health import Health
from tests.unit.windowing.fake_registry import FakeRegistry, running

TREND: dict[str, Any] = {
    "id": "0123456789abcdef0123456789abcdef",
    "query": "downs",
    "partition": 1,
    "window": [0, 10],
    "group": {"sector": "tech", "a": None},
    "return": {"COUNT(*)": 3, "AVG(A.x)": 2.5},
    "exact": True,
    "detected_at": 7,
}
SUBJECT = "t.trends-value"
EXAMPLES = Path(__file__).parents[4] / "schemas" / "examples" / "complex-events" / "valid"


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with running() as one:
        yield one


def settings(form: str, url: str) -> Settings:
    return replace(Settings(), results_format=form, results_registry=url, registry_auth="me:secret")


class Bench:
    """The form of the topic `trends`, and what is said of it meanwhile."""

    def __init__(self, form: str, url: str) -> None:
        self.health = Health("greta")
        self.health.done("start")
        self.form = ResultOutput(settings(form, url), "trends", "t.trends", self.health, at_once)

    @property
    def waiting(self) -> str | None:
        reasons: dict[str, str] = self.health.status()["waiting"]
        return reasons.get("registry")

    def written(self, *times: int) -> OutputFormat | None:
        for now in times:
            self.form.step(now)
        return self.form.written

    def value(self) -> bytes:
        written = self.written(0, 1)
        assert written is not None
        assert written.encode is not None
        return written.encode(orjson.dumps(TREND))


@pytest.mark.parametrize("form", ["avro", "protobuf"])
def test_a_registry_that_is_down_is_waited_for_and_says_so(registry: FakeRegistry, form: str) -> None:
    registry.down = True
    bench = Bench(form, registry.url)
    assert bench.waiting == f"registering {SUBJECT} at {registry.url}"
    assert bench.written(*range(0, 3_000, 20)) is None
    assert bench.waiting == f"the schema registry at {registry.url} answers 500 Internal Server Error: down"
    assert len(registry.asked) == 3, "once a second"
    registry.down = False
    written = bench.written(4_000, 4_020)
    assert written is not None
    assert bench.waiting is None
    assert written.headers == (
        ("content-type", f"application/{form}".encode()),
        ("ce_dataschema", b"urn:saffron:trends:1"),
    )
    assert registry.authorization == "Basic bWU6c2VjcmV0"
    asked = len(registry.asked)
    assert Bench(form, registry.url).written(0, 20) is not None
    assert registry.asked[asked:] == [f"/subjects/{SUBJECT}"], "it is there already"
    assert len(registry.schemas) == 1


def test_a_registry_that_refuses_is_quoted(registry: FakeRegistry) -> None:
    registry.closed = True
    bench = Bench("avro", registry.url)
    assert bench.written(0, 1) is None
    assert bench.waiting is not None
    assert bench.waiting.endswith("answers 403 Forbidden: read only; is registry_auth right?")
    registry.closed = False
    assert bench.written(2_000, 2_001) is not None
    other = Bench("protobuf", registry.url)
    assert other.written(0, 1) is None
    assert other.waiting is not None
    assert other.waiting.endswith("answers 409 Conflict: incompatible with an earlier schema")


def test_what_is_no_registry_is_told(registry: FakeRegistry) -> None:
    registry.answer = lambda path, told=None: (404, {})  # type: ignore[method-assign]
    bench = Bench("avro", registry.url)
    assert bench.written(0, 1) is None
    assert bench.waiting is not None
    assert bench.waiting.startswith(f"no schema registry: /subjects/{SUBJECT}/versions has no answer with an id")


def test_json_asks_nobody_and_stays_as_it_is() -> None:
    bench = Bench("json", "")
    assert (bench.waiting, bench.form.written) == (None, OutputFormat())


GOLDEN = {
    "avro": "40 3031323334353637383961626364656630313233343536373839616263646566 0a 646f776e73 02 0014"
    "04 0c 736563746f72 08 0874656368 02 61 00 00"
    "04 10 434f554e54282a29 04 06 10 41564728412e7829 06 0000000000000440 00 01 00 0e",
    "protobuf": "00 0a20 3031323334353637383961626364656630313233343536373839616263646566 1205 646f776e73 1801 2202100a"
    "2a05 0a0161 1200 2a10 0a06 736563746f72 1206 2204 74656368"
    "3215 0a08 41564728412e7829 1209 19 0000000000000440 320e 0a08 434f554e54282a29 1202 1003 3801 4807",
}


@pytest.mark.parametrize("form", ["avro", "protobuf"])
def test_bytes_are_always_the_same(registry: FakeRegistry, form: str) -> None:
    """These stand for those of any other run: a result that is written again is the same message."""
    value = Bench(form, registry.url).value()
    assert value[:5] == b"\0\0\0\0\1"
    assert value[5:] == bytes.fromhex(GOLDEN[form])


@pytest.mark.parametrize("form", ["avro", "protobuf"])
def test_integers_beyond_63_bits_are_decimal_strings(form: str) -> None:
    """EXACT has integers of any size."""
    of = codec(form, "trends")
    values = {"a": 10**30 + 1, "b": 2**63, "c": -(2**63), "d": 2**63 - 1, "e": 1e300, "f": True, "g": "1e300"}
    found = json.loads(of.json(of.payload(json.dumps(TREND | {"return": values}).encode())))["return"]
    assert found == values | {"a": str(10**30 + 1), "b": str(2**63)}
    assert {name: type(value) for name, value in found.items() if name in "cdef"} == {
        "c": int,
        "d": int,
        "e": float,
        "f": bool,
    }


@pytest.mark.parametrize("form", ["avro", "protobuf"])
def test_an_attribute_called_seq_is_kept_beside_the_events_own(form: str) -> None:
    """JSON has the name twice."""
    own = b'{"seq":4,"ts":[1,2],"type":"A","seq":"x","y":1}'
    text = b'{"id":"0","query":"q","partition":0,"key":{},"start":1,"end":2,"window":null,"events":{"a":%b,"b":[%b]},'
    text = text % (own, own.replace(b'"seq":"x",', b"")) + b'"return":{"seq":"x"},"detected_at":1}'
    records = ProtobufMessages if form == "protobuf" else AvroRecords
    found = records(schema_text(form, "complex-events")).read(codec(form, "complex-events").payload(text))
    event = {"seq": 4, "ts": 1, "ts_latest": 2, "type": "A", "attributes": {"seq": "x", "y": 1}}
    assert found["events"] == {"a": event, "b": [event | {"attributes": {"y": 1}}]}
    assert found["return"] == {"seq": "x"}


# ---------------------------------------------------------------- our own readers


def record(value: bytes | None, **headers: bytes) -> Record:
    named = {name.replace("_type", "-type") if name == "content_type" else name: one for name, one in headers.items()}
    return Record("t.trends", 0, 0, 0, b"downs", value, tuple(named.items()))


@pytest.mark.parametrize("form", ["avro", "protobuf"])
def test_a_framed_result_is_read_as_json_without_a_registry(registry: FakeRegistry, form: str) -> None:
    value = Bench(form, registry.url).value()
    kind, schema = f"application/{form}".encode(), b"urn:saffron:trends:1"
    framed = record(value, content_type=kind, ce_dataschema=schema, ce_id=b"0123")
    assert orjson.loads(result_json(framed) or b"") == TREND
    assert result_id(framed) == b"0123"
    for other in (
        record(value),
        record(value, content_type=kind),
        record(value, content_type=kind, ce_dataschema=b"urn:saffron:trends:2"),
        record(value[:-1], content_type=kind, ce_dataschema=schema),
        record(value[:7], content_type=kind, ce_dataschema=schema),
        record(value[:5], content_type=kind, ce_dataschema=schema),
    ):
        assert result_json(other) is None


def test_json_is_read_as_it_is() -> None:
    text = orjson.dumps(TREND)
    assert result_json(record(text)) == text
    assert result_id(record(text)) == TREND["id"].encode()
    assert (result_json(record(None)), result_id(record(None))) == (None, b"")


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("form", "url", "why"),
    [
        ("avro", "", "results_format is 'avro', but no registry is named"),
        ("protobuf", "registry:8081", "is not http://HOST:PORT"),
    ],
)
def test_settings_that_cannot_be_are_refused(form: str, url: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        require_writable(settings(form, url))


@pytest.mark.parametrize(
    ("form", "module", "package"), [("avro", "avro", "fastavro"), ("protobuf", "protobuf", "google")]
)
def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, form: str, module: str, package: str) -> None:
    codec.cache_clear()
    monkeypatch.delitem(sys.modules, f"saffron.runtime.result_formats.{module}", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == package] or [package]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SettingsError, match=rf"results are {form}, and {package}.* is missing: pip install"):
        require_writable(settings(form, "http://r"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import 'other.proto';", "'import' is not understood"),
        ("message A { int64 a = 1", "ends too early"),
        ("message A { map<int32, A> a = 1; }", "'string' is expected, not 'int32'"),
    ],
)
def test_a_proto_file_that_says_more_than_ours_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_proto("a.proto", text)


def test_schemas_are_given_to_registries_as_text() -> None:
    assert schema_text("protobuf", "trends").startswith("// A result of an aggregate query")
    assert orjson.loads(schema_text("avro", "complex-events"))["name"] == "ComplexEvent"


@pytest.mark.parametrize("form", ["avro", "protobuf"])
def test_results_without_events_come_back_without_them(form: str) -> None:
    result = (EXAMPLES / "emit_values.json").read_bytes()
    records = codec(form, "complex-events")
    assert orjson.loads(records.json(records.payload(result))) == orjson.loads(result)
