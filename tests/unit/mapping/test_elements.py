"""Any JSON by any definition is events and refusals, numbered; and each of these has a message of its own."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from saffron.engine.events.raw import batch_of_values
from saffron.mapping import csv_rows
from saffron.mapping.definition import (
    CSV,
    AttributeRule,
    CsvForm,
    Envelope,
    Header,
    OfMessage,
    SourceDefinition,
    StreamDefinition,
    TimeFormat,
    TimeRule,
    TypeRule,
)
from saffron.mapping.elements import messages_of_elements
from saffron.mapping.kinds import As
from saffron.mapping.mapper import Mapped, Refused, events_of
from saffron.mapping.message import Message
from saffron.mapping.paths import Path
from saffron.runtime.log import TopicPartition
from saffron.runtime.streams.merging import SourceReader

NAMES = ["a", "b", "items", "type", "ts", "a.b", "op", "after", "before", "source", "payload", "schema", "data",
         "specversion", "ce_items"]  # fmt: skip
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "1", "x", "é", "d", "\ud800", "2026-05-01T12:00:00Z", "line\nbreak"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)),
    max_leaves=25,
)
PATHS = st.tuples(st.sampled_from(NAMES), st.lists(st.sampled_from([*NAMES, 1, 2]), max_size=1))
ORIGINS = st.one_of(
    PATHS.map(lambda steps: Path((steps[0], *steps[1]))), st.just(Header("h")), st.sampled_from(list(OfMessage))
)
SOURCES = st.builds(
    SourceDefinition,
    st.just("t"),
    st.just(0),
    st.one_of(st.just(TypeRule(constant="T")), st.builds(lambda origin: TypeRule(origin=origin), ORIGINS)),
    st.one_of(st.just(TimeRule()), st.builds(TimeRule, ORIGINS, st.sampled_from([*TimeFormat, "%Y"]))),
    st.dictionaries(
        st.sampled_from(["a", "x"]), st.builds(AttributeRule, ORIGINS, st.sampled_from([None, *As])), max_size=2
    ),
    st.booleans(),
    st.sampled_from(list(Envelope)),
    st.one_of(
        st.none(),
        st.sampled_from(
            [Path(one) for one in (("items",), ("a", "items"), ("a", "b"), ("ce_items",), ("a", 1, "items"))]
        ),
    ),
    st.sampled_from([None, None, "op != 'd'", "NOT a.b = 1", "a = b OR payload.op IN ('d', 'x')"]),
)


def of_text(text: bytes) -> Message:
    return Message(text, key=b"k", time=5, headers={"h": b"x", "ce_type": b"y"}, topic="t", partition=1, offset=7)


def alone(message: Message, source: SourceDefinition, number: int) -> bytes | None:
    """The value of a message with this element alone."""
    return messages_of_elements(message, source, [number])[number]


def check(message: Message, source: SourceDefinition, *, strict: bool = False) -> int:
    """The two properties; how many elements there are."""
    found = list(events_of(message, source, strict=strict))
    assert [one.number for one in found] == list(range(len(found)))
    assert all(isinstance(one, Mapped) or (one.reason and one.detail) for one in found)
    values = messages_of_elements(message, source, range(len(found) + 1))
    for one in events_of(message, source):
        value = values[one.number]
        assert value is not None, one
        (again,) = events_of(of_text(value), source)
        assert again.number == 0
        if isinstance(one, Mapped):
            assert isinstance(again, Mapped)
            assert (again.type, again.ts, again.values, again.misfits) == (one.type, one.ts, one.values, one.misfits)
        else:
            assert isinstance(again, Refused)
            assert again.reason == one.reason
    assert values[len(found)] is None
    return len(found)


@settings(deadline=None, max_examples=300)
@given(VALUES, SOURCES, st.booleans())
def test_any_json_by_any_definition(value: Any, source: SourceDefinition, strict: bool) -> None:
    check(of_text(json.dumps(value).encode()), source, strict=strict)


FIELDS = st.dictionaries(st.sampled_from(["a", "b", "x", "op"]), SCALARS, max_size=3)
ITEMS = st.lists(st.one_of(FIELDS, SCALARS, st.lists(SCALARS, max_size=2)), max_size=4)


@st.composite
def shaped(draw: st.DrawFn, source: SourceDefinition) -> Any:
    """A value as the source expects it: items in an event's object, in its envelope."""
    event = draw(FIELDS)
    *outer, last = ("items",) if source.explode is None else source.explode.steps
    inner: Any = {**draw(FIELDS), last: draw(ITEMS)}
    for step in reversed(outer):
        inner = [inner] if isinstance(step, int) else {step: inner}
    whole = {**event, **inner}
    match source.envelope:
        case Envelope.DEBEZIUM:
            row = draw(st.sampled_from(["after", "before"]))
            change = {"op": draw(st.sampled_from(["c", "d"])), row: whole, "source": {"table": "t"}}
            return draw(st.sampled_from([change, {"schema": {}, "payload": change}]))
        case Envelope.CLOUDEVENTS:
            return draw(
                st.sampled_from([{"specversion": "1.0", "data": whole}, whole, {"specversion": "1.0", **whole}])
            )
    return whole


@settings(deadline=None, max_examples=300)
@given(SOURCES, st.data())
def test_messages_of_the_shape_that_is_expected(source: SourceDefinition, data: st.DataObject) -> None:
    values = data.draw(st.lists(shaped(source), min_size=1, max_size=3))
    texts = [json.dumps(one) for one in values]
    form = {Envelope.LINES: "\n".join(texts), Envelope.ARRAY: json.dumps(values)}
    check(of_text(form.get(source.envelope, texts[0]).encode()), source)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.one_of(VALUES.map(json.dumps), st.sampled_from(["", "x", "{", " "])), max_size=4), SOURCES)
def test_any_lines_by_any_definition(lines: list[str], source: SourceDefinition) -> None:
    check(of_text("\r\n".join(lines).encode()), source)


@settings(deadline=None)
@given(st.binary(max_size=30), SOURCES)
@example(b"[" * 5_000, SourceDefinition("t", 0, TypeRule(constant="T")))
def test_any_bytes_by_any_definition(value: bytes, source: SourceDefinition) -> None:
    check(of_text(value), source)


CELLS = st.one_of(st.none(), st.text(alphabet='ab,;"\n é', max_size=4))


@settings(deadline=None)
@given(
    st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=5),
    st.sampled_from([CsvForm(), CsvForm(("a", "b", "type")), CsvForm(("a", "b"), ";"), CsvForm(None, "\t")]),
    st.sampled_from([None, "a = 'a'", "NOT b = 'a'"]),
    st.sampled_from([b"", b"\n\xff,", b'\n"open', b"a,b\n"]),
)
def test_any_rows_by_any_form(rows: list[list[str | None]], form: CsvForm, where: str | None, more: bytes) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=form.separator, quoting=csv.QUOTE_MINIMAL)
    if form.columns is None:
        writer.writerow(["a", "b", "type"])
    writer.writerows(rows)
    source = SourceDefinition("t", 0, TypeRule(origin=Path(("a",))), where=where, format="csv", csv=form)
    check(of_text(text.getvalue().encode() + more), source)


@pytest.mark.parametrize("depth", [20, 31, 32, 40, 900])
@pytest.mark.parametrize("around", [("[", "]"), ('{"x":', "}")])
def test_what_is_too_deep_is_refused_whatever_it_is(depth: int, around: tuple[str, str]) -> None:
    source = SourceDefinition("t", 0, TypeRule(constant="T"))
    text = f'{{"a":{around[0] * depth}1{around[1] * depth}}}'.encode()
    (found,) = events_of(of_text(text), source)
    assert isinstance(found, Mapped) == (depth < 32)
    assert isinstance(found, Mapped) or found.reason == "too-deep"
    only = SourceDefinition("t", 0, TypeRule(constant="T"), only=True)
    (found,) = events_of(of_text(text), only)
    assert isinstance(found, Mapped), "what nobody reads refuses nothing"


def test_there_is_no_message_where_the_condition_asks_for_what_stands_beside_the_element() -> None:
    source = SourceDefinition("t", 0, TypeRule(constant="T"), explode=Path(("items",)), where="length(items) > 1")
    message = of_text(b'{"items":[{"s":"a"},{"s":"b"}]}')
    assert len(list(events_of(message, source))) == 2
    assert alone(message, source, 1) is None


@pytest.mark.parametrize("form", ["array", "lines", "csv", "explode", "lines of arrays"])
def test_a_message_is_read_as_often_for_many_refused_elements_as_for_few(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in bytes of JSON that are parsed, and of CSV that are split, for one message of refused elements."""
    sizes: list[int] = []
    for module, name in ((json, "loads"), (csv_rows, "csv_records")):
        plain = getattr(module, name)

        def counting(text: Any, *more: Any, plain: Callable[..., Any] = plain, **others: Any) -> Any:
            sizes.append(len(text if isinstance(text, bytes) else b"".join(text)))
            return plain(text, *more, **others)

        monkeypatch.setattr(module, name, counting)
    for count in (10, 1_000):
        sizes.clear()
        value, source = refused(form, count)
        reader = SourceReader(TopicPartition("t", 0), partial(StreamDefinition, "s", (source,)), 1, 10**9)
        found = reader.read(batch_of_values([value]), [of_text(value)])
        assert [one.number for one in found.unread] == list(range(count))
        assert [len(one.value or b"") < 50 for one in found.unread] == [True] * count
        assert sum(sizes) < 8 * len(value) + 200


def test_what_would_repeat_long_names_without_end_is_one_refusal() -> None:
    """Small messages, of which a gigabyte or more would be made."""
    long = "n" * 500_000
    plain = SourceDefinition("t", 0, TypeRule(constant="T"))
    rows = replace(plain, format=CSV, csv=CsvForm())
    explode = replace(plain, explode=Path(("items",)))
    nested = json.dumps({long: {f"{number}": 1 for number in range(10_000)}})
    around = json.dumps({"around": long, "items": [{"i": 1}] * 10_000})
    for source, text in ((plain, nested), (rows, long + "\na" * 10_000), (explode, around)):
        (found,) = events_of(of_text(text.encode()), source)
        assert isinstance(found, Refused)
        assert found.reason == "too-large"
        assert alone(of_text(text.encode()), source, 0) == text.encode()


def test_a_line_that_repeats_too_much_is_refused_by_itself() -> None:
    source = SourceDefinition("t", 0, TypeRule(constant="T"), envelope=Envelope.LINES, explode=Path(("items",)))
    big = json.dumps({"around": "a" * 500_000, "items": [1] * 10_000})
    small = json.dumps({"around": "a", "items": [{"i": 1}]})
    found = list(events_of(of_text("\n".join([small, big, small, '{"x": 1}', "no JSON"]).encode()), source))
    assert [one.reason if isinstance(one, Refused) else "" for one in found] == ["", "too-large", "", "not-json"]


def refused(form: str, count: int) -> tuple[bytes, SourceDefinition]:
    """A message of `count` elements without their time, and the source that reads it."""
    items = [json.dumps({"a": number}).encode() for number in range(count)]
    array = b"[" + b",".join(items) + b"]"
    time, explode = TimeRule(Path(("at",))), Path(("items",))
    plain = SourceDefinition("t", 0, TypeRule(constant="T"), time)
    forms = {
        "array": (array, replace(plain, envelope=Envelope.ARRAY)),
        "lines": (b"\n".join(items), replace(plain, envelope=Envelope.LINES)),
        "csv": (b"\n".join([b"a", *map(b"%d".__mod__, range(count))]), replace(plain, format=CSV, csv=CsvForm())),
        "explode": (b'{"items":' + array + b"}", replace(plain, explode=explode)),
        "lines of arrays": (b'{"items":' + array + b"}", replace(plain, explode=explode, envelope=Envelope.LINES)),
    }
    return forms[form]


def test_parts_of_a_message_are_what_a_person_expects() -> None:
    source = SourceDefinition("t", 0, TypeRule(constant="T"), explode=Path(("items",)), envelope=Envelope.DEBEZIUM)
    change = b'{"op":"c","after":{"id":1.50,"items":[{"s":"a"},{"s":"b"}]},"source":{"table":"t"}}'
    assert alone(of_text(change), source, 1) == (
        b'{"op":"c","after":{"id":1.50,"items":[{"s":"b"}]},"source":{"table":"t"}}'
    )
    lines = SourceDefinition("t", 0, TypeRule(constant="T"), envelope=Envelope.LINES, where="a > 1")
    assert alone(of_text(b'{"a": 1}\n{"a": 2}\n\nx\n{"a": 3}'), lines, 2) == b'{"a": 3}'
    array = SourceDefinition("t", 0, TypeRule(constant="T"), envelope=Envelope.ARRAY)
    assert alone(of_text(b'[{"a": 1.0}, 5]'), array, 1) == b"[5]"
    rows = SourceDefinition("t", 0, TypeRule(constant="T"), format="csv", csv=CsvForm())
    assert alone(of_text(b"a,b\n1,x\n2,\n"), rows, 1) == b'"a","b"\n"2",'
