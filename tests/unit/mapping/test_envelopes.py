"""Envelopes, arrays and rules: which events a message is, element by element, and why one is none."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.events.decoding.nesting import MAX_DEPTH
from saffron.mapping.definition import (
    AttributeRule,
    Envelope,
    Header,
    OfMessage,
    SourceDefinition,
    TimeFormat,
    TimeRule,
    TypeRule,
)
from saffron.mapping.kinds import As
from saffron.mapping.mapper import Mapped, Refused, events_of, outcomes_of
from saffron.mapping.message import Message, Number
from saffron.mapping.paths import MISSING, Path, PathError
from saffron.mapping.where import condition

ANY = TypeRule(constant="E")


def of(*names: str | int) -> Path:
    return Path(names)


def read(
    value: Any, envelope: Envelope = Envelope.NONE, *, kind: TypeRule = ANY, strict: bool = False, **fields: Any
) -> list[Mapped | Refused]:
    source = SourceDefinition("t", 0, kind, envelope=envelope, **fields)
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    message = Message(text, b"K", 7, {"ce_type": b"com.shop.paid", "ce_specversion": b"1.0"}, "t", 3, 42)
    return list(events_of(message, source, strict=strict))


def values(found: list[Mapped | Refused]) -> list[dict[str, Any]]:
    assert all(isinstance(one, Mapped) for one in found), found
    return [dict(one.values) for one in found if isinstance(one, Mapped)]


CHANGE = {
    "before": {"id": 1, "status": "NEW"},
    "after": {"id": 1, "status": "PAID"},
    "source": {"db": "shop", "schema": "public", "table": "orders", "lsn": 5, "ts_ms": 1777629660100},
    "op": "u",
    "ts_ms": 1777629660230,
}
ROW = {"id": "1", "status": "PAID", "__op": "u", "__ts_ms": "1777629660230", "__db": "shop", "__schema": "public",
       "__table": "orders", "__source_ts_ms": "1777629660100"}  # fmt: skip


def test_a_change_of_debezium_is_its_row_with_what_the_connector_says() -> None:
    for whole in (CHANGE, {"schema": {"type": "struct"}, "payload": CHANGE}):
        assert values(read(whole, Envelope.DEBEZIUM)) == [ROW]
    flattened = {"id": 1, "status": "PAID", "__op": "u"}
    assert values(read(flattened, Envelope.DEBEZIUM)) == [{"id": "1", "status": "PAID", "__op": "u"}]


def test_a_deleted_row_is_what_it_was() -> None:
    gone = values(read(CHANGE | {"op": "d", "after": None}, Envelope.DEBEZIUM))
    assert gone == [ROW | {"status": "NEW", "__op": "d", "__deleted": True}]


def test_what_carries_no_row_is_no_event() -> None:
    assert read({"op": "t", "before": None, "after": None}, Envelope.DEBEZIUM) == []
    assert read({"schema": None, "payload": None}, Envelope.DEBEZIUM) == []
    tombstone = Message(None, b"K")
    assert list(events_of(tombstone, SourceDefinition("t", 0, ANY))) == []


def test_cloudevents_structured_and_binary_are_the_same_event() -> None:
    kind = TypeRule(origin=of("ce_type"))
    structured = {"specversion": "1.0", "type": "com.shop.paid", "data": {"order": {"id": "O-1"}}}
    (one,) = read(structured, Envelope.CLOUDEVENTS, kind=kind)
    (other,) = read({"order": {"id": "O-1"}}, Envelope.CLOUDEVENTS, kind=kind)
    assert one == other
    assert isinstance(one, Mapped)
    assert one.type == "com.shop.paid"
    assert one.values == {"order.id": "O-1", "ce_specversion": "1.0", "ce_type": "com.shop.paid"}
    (bytes_,) = read({"specversion": "1.0", "data_base64": "AA=="}, Envelope.CLOUDEVENTS)
    assert isinstance(bytes_, Refused)


def test_each_bad_element_is_refused_by_its_number() -> None:
    found = read(b'{"a": 1}\n\n{"a": \n[1]\n{"a": 2}\n', Envelope.LINES)
    assert [(one.number, type(one)) for one in found] == [(0, Mapped), (1, Refused), (2, Refused), (3, Mapped)]
    assert [one.reason for one in found if isinstance(one, Refused)] == ["not-json", "not-an-object"]
    found = read([{"a": 1}, 5, {"a": 2}], Envelope.ARRAY)
    assert [type(one) for one in found] == [Mapped, Refused, Mapped]
    (whole,) = read({"a": 1}, Envelope.ARRAY)
    assert isinstance(whole, Refused)


def test_an_exploded_array_is_an_event_of_each_element_with_the_rest_of_the_message() -> None:
    trail = {"region": "eu", "Records": [{"id": 1, "region": "us"}, {"id": 2}, "text"]}
    assert values(read(trail, explode=of("Records"))) == [
        {"region": "us", "id": "1"}, {"region": "eu", "id": "2"}, {"region": "eu", "Records": "text"},
    ]  # fmt: skip
    assert values(read({"a": {"b": [{"x": 1}], "c": 2}}, explode=of("a", "b"))) == [{"a.c": "2", "x": "1"}]
    assert values(read({"a.b": [{"x": 1}], "c": 2}, explode=of("a", "b"))) == [{"c": "2", "x": "1"}]
    pages = {"pages": [{"items": [{"x": 1}, {"x": 2}], "n": 7}, {"n": 8}]}
    around = [{"n": "7"}, {"n": "8"}]
    assert values(read(pages, explode=of("pages", 1, "items"))) == [
        {"pages": around, "x": "1"}, {"pages": around, "x": "2"},
    ]  # fmt: skip
    assert values(read({"a": [[{"x": 1}], 5]}, explode=of("a", 1))) == [{"a": [None, "5"], "x": "1"}]
    assert read({"region": "eu"}, explode=of("Records")) == []
    (none,) = read({"Records": 5}, explode=of("Records"))
    assert isinstance(none, Refused)
    assert none.reason == "not-an-array"


def test_values_come_from_anywhere_in_the_message() -> None:
    rules = {
        "sku": AttributeRule(of("items", 2, "sku")),
        "none": AttributeRule(of("items", 9, "sku")),
        "key": AttributeRule(OfMessage.KEY),
        "offset": AttributeRule(OfMessage.OFFSET),
        "kind": AttributeRule(Header("ce_type")),
        "total": AttributeRule(of("total"), As.NUMBER),
        "gift": AttributeRule(of("gift"), As.BOOLEAN),
        "zip": AttributeRule(of("zip"), As.TEXT),
    }
    whole = {"items": [{"sku": "A"}, {"sku": "B"}], "total": "+007.50", "gift": "true", "zip": 10115, "type": "own"}
    assert values(read(whole, attributes=rules)) == [
        {"items": [{"sku": "A"}, {"sku": "B"}], "sku": "B", "key": "K", "offset": "42", "kind": "com.shop.paid",
         "total": "7.50", "gift": True, "zip": "10115", "$.type": "own"}
    ]  # fmt: skip


@pytest.mark.parametrize("total", ["", "x", "+-1", True, [1], {"a": 1}])
def test_a_value_that_is_not_what_its_rule_says_is_null_and_counted_or_refused(total: Any) -> None:
    rules = {"total": AttributeRule(of("total"), As.NUMBER)}
    (one,) = read({"total": total}, attributes=rules)
    assert isinstance(one, Mapped)
    assert one.misfits == ("total",)
    assert "total" not in one.values
    (refused,) = read({"total": total}, attributes=rules, strict=True)
    assert isinstance(refused, Refused)
    assert refused.reason == "schema"


def test_why_a_message_is_no_event() -> None:
    by_field = TypeRule(origin=of("status"), names={"OK": "Paid"})
    for value, kind, time, reason in (
        ({}, by_field, TimeRule(), "no-type"),
        ({"status": 5}, TypeRule(origin=of("nothing")), TimeRule(), "no-type"),
        ({"status": "NO"}, by_field, TimeRule(), "no-type"),
        ({}, ANY, TimeRule(of("at")), "no-ts"),
        ({"at": "noon"}, ANY, TimeRule(of("at"), TimeFormat.ISO), "bad-ts"),
        ({"at": "\x7f" * 1_000}, ANY, TimeRule(of("at"), TimeFormat.ISO), "bad-ts"),
        ({"status": "x" * 1_000}, by_field, TimeRule(), "no-type"),
        (b"{", ANY, TimeRule(), "not-json"),
        (b"NaN", ANY, TimeRule(), "not-json"),
        (b"5", ANY, TimeRule(), "not-an-object"),
    ):
        (one,) = read(value, kind=kind, time=time)
        assert isinstance(one, Refused)
        assert one.reason == reason
        assert 0 < len(one.detail) < 500


def test_a_message_is_read_to_a_depth() -> None:
    deep: dict[str, Any] = {"x": 1}
    for _ in range(MAX_DEPTH):
        deep = {"a": deep}
    (one,) = read(deep)
    assert isinstance(one, Refused)
    assert one.reason == "too-deep"
    assert values(read(deep["a"])) == [{"a." * (MAX_DEPTH - 1) + "x": "1"}]
    (one,) = read(b"[" * 100_000)
    assert isinstance(one, Refused)


@given(
    st.lists(st.one_of(st.text(min_size=1), st.integers(1, 99)), min_size=1).filter(
        lambda steps: isinstance(steps[0], str)
    )
)
def test_a_path_is_read_as_it_is_written(steps: list[str | int]) -> None:
    path = Path(tuple(steps))
    assert Path.parse(str(path)) == path


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "a[0]", "a[x]", "a[1", '"a', "a b", "[1]"])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(PathError):
        Path.parse(text)


def test_a_name_with_dots_counts_before_a_nested_one() -> None:
    both = {"a": {"b": Number("1")}, "a.b": Number("2")}
    assert of("a", "b").of(both) == "2"
    assert of("a", "c").of(both) is MISSING
    assert values(read(both | {"c": 1})) == [{"a.b": "2", "c": "1"}]
    null = {"a.b": None, "a": {"b": Number("1")}}
    assert of("a", "b").of(null) == "1"
    assert of("a", "b").of({"a.b": None, "a": {}}) is None
    assert condition("a.b = 1")(null)


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"where": "user REGEXP '^bot'"}, b'{"user": "\\ud83d"}'),
        ({"where": "length(deep) > 0"}, b'{"deep": ' + b"[" * 900 + b"]" * 900 + b"}"),
    ],
)
def test_a_fault_of_ours_is_one_dead_letter(changes: dict[str, Any], value: bytes) -> None:
    source = replace(SourceDefinition("t", 0, TypeRule(constant="T")), **changes)
    found = list(outcomes_of(Message(value, time=1), source))
    assert len(found) == 1
    assert not isinstance(found[0], Mapped)
    lines = replace(source, envelope=Envelope.LINES)
    good = b'{"user": "bot", "deep": [1]}'
    outcomes = list(outcomes_of(Message(b"\n".join((good, value, good)), time=1), lines))
    assert [isinstance(one, Mapped) for one in outcomes] == [True, False, True]
