"""PUBLISH ... AS: what a row is, its schemas, and its bytes, by readers that are not ours."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from threading import Event
from typing import Any

import fastavro
import orjson
import pytest

import saffron
from saffron.engine.events.json_schema import from_json_schema
from saffron.errors import LogError, QueryError, StreamError
from saffron.language import compile_query
from saffron.language.plan.row import Row
from saffron.runtime.process.config import Settings
from saffron.runtime.result_formats.rows import RowFormats, avro_schema, connect_schema, values_of
from tests.unit.windowing.fake_registry import running

EVENTS = [
    {"type": "A", "ts": 1000, "s": "x", "n": 7, "f": 1.5, "b": True, "l": [1, "twö"]},
    {"type": "B", "ts": 2000, "s": "x", "n": None, "f": None, "b": None, "l": None},
    {"type": "A", "ts": 3000, "s": 'y"é', "n": 2**62, "f": 2.0, "b": False, "l": []},
    {"type": "B", "ts": 4000, "s": 'y"é', "n": -1, "f": 0.5, "b": True, "l": [None]},
]
KINDS = {"s": "string", "n": "integer", "f": "number", "b": "boolean", "l": "array"}
SCHEMA = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"type": {"const": name}, "ts": {"type": "integer"}}
            | {one: {"type": kind} for one, kind in KINDS.items()},
        }
        for name in "AB"
    ]
}
MATCH = (
    "QUERY of.it PATTERN SEQ(A a, B b) WHERE [s] WITHIN {} RETURN a.s AS s, b.n AS n, a.f AS f, b.b AS b, a.l AS l, "
    "a.n > 3 AS many, a.f + 1 AS more, 2 AS two"
)
TREND = "QUERY t PATTERN A+ GROUP BY s WITHIN 1 minute RETURN COUNT(*) AS n, MAX(A.f) AS top, SUM(A.n) AS all {}"
VALUES = ["s string", "n long", "f double", "b boolean", "l string", "many boolean", "more double", "two long"]
HEAD, SPAN = ["id string", "query string", "partition long"], ["start timestamp", "end timestamp"]
WINDOW = ["window_start timestamp", "window_end timestamp"]


def row_of(text: str) -> Row:
    row = compile_query(text, from_json_schema(SCHEMA)).delivery.row
    assert row is not None
    return row


def named(row: Row) -> list[str]:
    return [f"{field.name} {field.type.value}" for field in row.fields]


def test_the_fields_of_matches_and_trends() -> None:
    for form in ("AVRO", "JSON SCHEMA"):
        plain = row_of(f"{MATCH.format('1 minute')} PUBLISH 't' AS {form} KEY a.s")
        assert (plain.form, named(plain)) == (form, [*HEAD, *SPAN, *VALUES, "detected_at timestamp"])
    slid = row_of(f"{MATCH.format('1 minute SLIDE 1 minute')} PUBLISH 't' AS AVRO")
    assert named(slid) == [*HEAD, *SPAN, *WINDOW, *VALUES, "detected_at timestamp"]
    counted = row_of(f"{MATCH.format('9 EVENTS SLIDE 3 EVENTS')} PUBLISH 't' AS AVRO")
    assert "window_start long" in named(counted)
    tail = ["exact boolean", "shed long", "detected_at timestamp"]
    trend = row_of(TREND.format("PUBLISH 't' AS AVRO"))
    assert named(trend) == [*HEAD, *WINDOW, "s string", "n long", "top double", "all long", *tail]
    exact = row_of(TREND.format("EXACT PUBLISH 't' AS AVRO"))
    assert named(exact) == [*HEAD, *WINDOW, "s string", "n string", "top string", "all string", *tail]


def rows(text: str, form: str) -> tuple[Row, list[bytes], list[dict[str, Any]]]:
    """The row of a query, its results as JSON, and what is right: the same values by field."""
    found = [json.loads(line) for line in saffron.replay(text, EVENTS, schema=SCHEMA).lines()]
    texts = [json.dumps({**one, "detected_at": 9}).encode() for one in found]
    right = []
    for one in found:
        window = one["window"] or [None, None]
        every = {**one, **one.get("group", {}), **one["return"], "detected_at": 9}
        every |= {"window_start": window[0], "window_end": window[1]}
        right.append(every)
    return row_of(f"{text} PUBLISH 't' AS {form}"), texts, right


def test_a_list_is_the_text_that_results_have() -> None:
    row = row_of(MATCH.format("1 minute") + " PUBLISH 't' AS AVRO")
    text = f'{{"id":"i","query":"q","partition":0,"start":1,"end":1,"return":{{"l":[1,"ü",{2**62}]}},"detected_at":9}}'
    assert values_of(row, text.encode())["l"] == f'[1,"ü",{2**62}]'


TEXTS = [MATCH.format("1 minute"), MATCH.format("1 h SLIDE 1 h"), TREND.format("")]


@pytest.mark.parametrize("text", TEXTS)
def test_json_with_schema_says_each_field_with_its_type(text: str) -> None:
    row, texts, right = rows(text, "JSON SCHEMA")
    formats = RowFormats(Settings())
    assert len(texts) > 1
    types = {"string": str, "int64": int, "double": float, "boolean": bool}
    for whole, every in zip(texts, right, strict=True):
        message = json.loads(formats.encode("t", row, whole))
        assert message["schema"] == connect_schema(row)
        assert [field["field"] for field in message["schema"]["fields"]] == list(message["payload"])
        for field in message["schema"]["fields"]:
            value, wanted = message["payload"][field["field"]], every.get(field["field"])
            assert value == (orjson.dumps(wanted).decode() if isinstance(wanted, list) else wanted), field
            assert type(value) is types[field["type"]] if value is not None else field["optional"]


@pytest.mark.parametrize("form", ["AVRO", "JSON SCHEMA"])
@pytest.mark.parametrize("name", ["events", "bindings"])
def test_a_field_may_have_the_name_of_a_part_of_a_whole_result(name: str, form: str) -> None:
    row = row_of(f"{MATCH.format('1 minute')}, a.n AS {name} PUBLISH 't' AS {form}")
    whole = b'{"id":"i","query":"q","partition":0,"start":1,"end":1,"return":{"%s":3},"detected_at":9}' % name.encode()
    with running() as registry:
        assert RowFormats(replace(Settings(), results_registry=registry.url)).encode("t", row, whole)


@pytest.mark.parametrize("text", TEXTS)
def test_avro_records_are_in_the_registrys_frame_by_the_schema_that_is_registered(text: str) -> None:
    row, texts, right = rows(text, "AVRO")
    with running() as registry:
        formats = RowFormats(replace(Settings(), results_registry=registry.url))
        assert formats.refusal(row) == ""
        for whole, every in zip(texts, right, strict=True):
            message = formats.encode("t", row, whole)
            (number,) = registry.subjects["t-value"]
            assert message[:5] == b"\0" + number.to_bytes(4, "big")
            schema = json.loads(registry.schemas[number]["schema"])
            record: Any = fastavro.schemaless_reader(io.BytesIO(message[5:]), schema, None)
            for name, value in values_of(row, whole).items():
                read = record[name]
                assert (round(read.timestamp() * 1000) if hasattr(read, "timestamp") else read) == value
                wanted = every.get(name)
                assert value == (orjson.dumps(wanted).decode() if isinstance(wanted, list) else wanted)
        asked = len(registry.asked)
        formats.encode("t", row, texts[0])
        assert len(registry.asked) == asked, "the registry is asked once"


def test_what_a_field_cannot_hold_is_null() -> None:
    row = row_of(TREND.format("PUBLISH 't' AS AVRO"))
    result = {"id": "1", "query": "t", "partition": 0, "window": [0, 9], "group": {"s": 5}, "exact": False}
    text = json.dumps({**result, "return": {"n": str(2**70), "top": "x", "all": 2**70}, "detected_at": 1}).encode()
    found = values_of(row, text)
    assert (found["s"], found["n"], found["top"], found["all"], found["shed"]) == ("5", None, None, None, None)


def test_without_a_registry_the_reason_is_said() -> None:
    row = row_of(f"{MATCH.format('1 minute')} PUBLISH 't' AS AVRO")
    assert "set results_registry" in RowFormats(Settings()).refusal(row)
    assert RowFormats(Settings()).refusal(replace(row, form="JSON SCHEMA")) == ""
    with running() as registry:
        formats = RowFormats(replace(Settings(), results_registry=registry.url))
        registry.down = True
        with pytest.raises(StreamError, match=r"the rows of query of.it wait for their schema, t-value: .*500"):
            formats.encode("t", row, b"{}")


def test_a_registry_that_hangs_is_asked_beside_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    row, texts, _ = rows(TEXTS[0], "AVRO")
    asked: list[str] = []
    released = Event()

    def hanging(_: Any, subject: str, __: Any) -> int:
        asked.append(subject)
        released.wait()
        return 7

    monkeypatch.setattr("saffron.runtime.result_formats.rows.register", hanging)
    formats = RowFormats(replace(Settings(), results_registry="http://hangs:1"))
    try:
        for _ in range(3):
            with pytest.raises(StreamError, match="http://hangs:1 has not answered yet"):
                formats.encode("t", row, texts[0])
    finally:
        released.set()
    while True:
        try:
            message = formats.encode("t", row, texts[0])
            break
        except StreamError:
            continue
    assert message.startswith(b"\0\0\0\0\7")
    assert asked == ["t-value"]


def test_what_a_registry_said_before_it_answered_is_not_said_again(monkeypatch: pytest.MonkeyPatch) -> None:
    row, texts, _ = rows(TEXTS[0], "AVRO")
    released = Event()
    answers = [LogError("it is down"), None]

    def moody(_: Any, __: str, ___: Any) -> int:
        if not answers:
            released.wait()
        elif (error := answers.pop(0)) is not None:
            raise error
        return 7

    monkeypatch.setattr("saffron.runtime.result_formats.rows.register", moody)
    formats = RowFormats(replace(Settings(), results_registry="http://moody:1"))
    with pytest.raises(StreamError, match="it is down"):
        formats.encode("t", row, texts[0])
    formats.encode("t", row, texts[0])
    try:
        with pytest.raises(StreamError, match="http://moody:1 has not answered yet"):
            formats.encode("u", row, texts[0])
    finally:
        released.set()


def test_names_of_records_are_avros() -> None:
    assert json.loads(avro_schema(row_of(f"{MATCH.format('1 s')} PUBLISH 't' AS AVRO")))["name"] == "of_it"


@pytest.mark.parametrize(
    ("text", "message", "part"),
    [
        ("PATTERN A a WITHIN 1 s RETURN a.n + 1", "'a.n + 1' is no name of a row's field", "a.n + 1"),
        ("PATTERN A a WITHIN 1 s RETURN a.n AS ID", "a row has two fields 'ID'", "a.n AS ID"),
        ("PATTERN A a WITHIN 1 s RETURN a.n AS x, a.f AS X", "a row has two fields 'X'", "a.f AS X"),
        ("PATTERN SEQ(A a, B b) WITHIN 1 s OUTPUT COMPRESSED", "a row has the values of one match", "COMPRESSED"),
        (
            "PATTERN SEQ(A a, B b) WITHIN 1 s OUTPUT ALL WITH TIMEOUTS",
            "a row has the values of one match",
            "ALL WITH TIMEOUTS",
        ),
        ("PATTERN A+ WITHIN 1 s RETURN COUNT(*)", "'COUNT(*)' is no name of a row's field", "RETURN COUNT(*)"),
    ],
)
def test_what_is_no_row_is_refused(text: str, message: str, part: str) -> None:
    with pytest.raises(QueryError) as caught:
        compile_query(f"{text} PUBLISH 't' AS AVRO", from_json_schema(SCHEMA))
    error = caught.value
    assert (error.message, error.text[error.start : error.end]) == (message, part)
    assert error.hint
