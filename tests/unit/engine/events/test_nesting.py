"""Nested objects and arrays: their attributes, and the scanner against the exact path."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.engine.events.column_operations import column_values
from saffron.engine.events.decoding.growth import needed
from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.decoding.nesting import MAX_DEPTH, MAX_PATH, flattened
from saffron.engine.events.decoding.newest import newest
from saffron.engine.events.decoding.rules.outcomes import Bad, Event
from saffron.engine.events.raw import batch_of_values
from saffron.schema.schema import Kind, Schema
from tests.unit.engine.events.test_decode import check, mutated, one, reason

KINDS = {
    "order.id": Kind.STRING,
    "order.total": Kind.FLOAT,
    "order.n": Kind.INT,
    "order.by.age": Kind.INT,
    "tags": Kind.ARRAY,
    "order.items": Kind.ARRAY,
    "x": Kind.NUMBER,
}
OPEN = Schema(KINDS, {"A": tuple(KINDS), "B": ("x",)}, {})
GIVEN = Schema(KINDS, OPEN.types, {"A": frozenset({"order.id"})}, given=True)
CLOSED = Schema(KINDS, OPEN.types, {}, closed=True, given=True)


def test_leaves_are_attributes_with_dotted_names() -> None:
    event = one(
        '{"type":"A","ts":1,"order":{"id":"O","by":{"age":3,"x":{}}},"order.n":2,"tags":[1, "x", {"a": 1.0}]}', OPEN
    )
    assert event == Event("A", 1, {"order.id": "O", "order.by.age": 3, "order.n": 2, "tags": '[1,"x",{"a":1}]'})


@pytest.mark.parametrize(
    ("text", "value", "misfits"),
    [
        ('"order.n":1,"order":{"n":2}', 1, 1),
        ('"order":{"n":2},"order.n":1', 1, 1),
        ('"order":{"n":2},"order.n":null', 2, 0),
        ('"order.n":null,"order":{"n":2}', 2, 0),
        ('"order":{"n":1},"order":{"n":2}', 2, 0),  # a name twice: the last one counts, as everywhere in JSON
        ('"order":{"n":1},"order":{}', None, 0),
        ('"order":{"n":1},"order":3', None, 0),
    ],
)
def test_a_flat_field_counts_before_a_nested_one_and_that_is_told(text: str, value: int | None, misfits: int) -> None:
    decoded = check([b'{"type":"A","ts":1,' + text.encode() + b"}"], OPEN)
    assert column_values(decoded.attributes["order.n"]) == [value]
    assert decoded.misfits == ({"order.n": misfits} if misfits else {})


def test_depth_is_limited() -> None:
    inner = 1
    for _ in range(MAX_DEPTH):
        inner = {"a": inner}  # type: ignore[assignment]
    assert isinstance(one(json.dumps({"type": "A", "ts": 1, **inner}), OPEN), Event)  # type: ignore[dict-item]
    assert reason(json.dumps({"type": "A", "ts": 1, "a": inner}), OPEN) == "too-deep"
    assert reason('{"type":"A","ts":1,"tags":' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}", OPEN) == "too-deep"


def test_a_long_path_is_left_out_and_counted() -> None:
    event = {"type": "A", "ts": 1, "a" * MAX_PATH: 1, "b": {"c" * MAX_PATH: 1}}
    batch = batch_of_values([json.dumps(event).encode()])
    schema = infer_schema([batch])
    assert list(schema.kinds) == ["a" * MAX_PATH]
    assert newest(OPEN, [batch]).kinds == {**KINDS, "a" * MAX_PATH: Kind.INT}
    assert check([json.dumps(event).encode()], schema).unknown_attributes == 1


def test_a_long_name_around_many_fields_is_not_repeated_whole() -> None:
    inner = {f"{number}": {"a": 1, "b": {"c": number}} for number in range(1_000)}
    event = {"type": "A", "ts": 1, "n" * 500_000: inner}
    flat = flattened(event)
    assert len(flat.fields) == 2_002
    assert sum(map(len, [*flat.fields, *flat.objects])) < 10_000_000
    assert check([json.dumps(event).encode()], OPEN).unknown_attributes == 2_000


def test_an_array_under_a_schema_that_has_another_kind() -> None:
    assert check([b'{"type":"B","ts":1,"x":[1]}'], OPEN).misfits == {"x": 1}
    assert reason('{"type":"A","ts":1,"order":{"id":"a"},"x":[1]}', GIVEN) == "schema"
    assert reason('{"type":"A","ts":1,"order":{"id":"a"},"tags":"x"}', GIVEN) == "schema"
    assert reason('{"type":"A","ts":1,"order":{"total":1}}', GIVEN) == "schema"  # order.id is required
    assert reason('{"type":"A","ts":1,"order":{"other":1}}', CLOSED) == "schema"
    assert isinstance(one('{"type":"A","ts":1,"order":{"id":"a","other":1}}', GIVEN), Event)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("[ 1.0, 1e2, -0, -0.0, 0.5 ]", "[1,100,0,0,0.5]"),
        ('["\\u00e9", "é", "\\n"]', '["é","é","\\n"]'),
        ("[9007199254740993, 1e400, 12345678901234567890123]", "[9007199254740993,null,null]"),
        ('[{"a": 1, "b": [true, null]}, {"a": 1, "a": 2}]', '[{"a":1,"b":[true,null]},{"a":2}]'),
        ("[0.00001, 1.10, 123456789.125, 0.0001]", "[0.00001,1.1,123456789.125,0.0001]"),
    ],
)
def test_an_array_has_one_text_however_it_is_written(written: str, text: str) -> None:
    decoded = check([b'{"type":"A","ts":1,"tags":' + written.encode() + b"}"], OPEN)
    assert decoded.attributes["tags"].values == (text,)


def test_a_schema_is_inferred_of_nested_events_and_grows_by_them() -> None:
    first = batch_of_values([b'{"type":"A","ts":1,"o":{"id":"x","n":1},"l":[1]}'])
    second = batch_of_values([b'{"type":"A","ts":1,"o":{"n":1.5,"new":true},"l":["x"]}'])
    schema = infer_schema([first])
    assert schema.kinds == {"o.id": Kind.STRING, "o.n": Kind.INT, "l": Kind.ARRAY}
    decoded = check([second.value(0)], schema)
    version = needed(schema, second, decoded)
    assert version.kinds == {**schema.kinds, "o.n": Kind.FLOAT, "o.new": Kind.BOOL}


# ---------------------------------------------------------------- random nested events

names = st.sampled_from(
    [
        "order",
        "id",
        "total",
        "n",
        "by",
        "age",
        "tags",
        "items",
        "x",
        "order.n",
        "order.by",
        "type",
        "ts",
        "ü",
        "",
        "a.b",
        "y",
    ]
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, 1, 2.5, -0.0, 1e22, "", "x", "é", "a b", "\n", 0.001, 12.25]),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.lists(st.tuples(names, inner), max_size=4).map(tuple)),
    max_leaves=12,
)
objects = st.lists(st.tuples(names, values), max_size=7)


def text_of(value: object, draw: random.Random) -> str:
    """A value as JSON, with blanks here and there; a tuple is an object, whose names may stand twice."""
    blank = draw.choice(["", "", " ", "\n"])
    if isinstance(value, tuple):
        pairs = (
            f"{json.dumps(name, ensure_ascii=draw.random() < 0.2)}{blank}:{text_of(item, draw)}" for name, item in value
        )
        return f"{{{blank}" + f",{blank}".join(pairs) + "}"
    if isinstance(value, list):
        return f"[{blank}" + f",{blank}".join(text_of(item, draw) for item in value) + f"{blank}]"
    return json.dumps(value, ensure_ascii=draw.random() < 0.2)


@settings(max_examples=150, deadline=None)
@given(st.lists(objects, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_scanner_agrees_with_the_exact_path(events: list[list[tuple[str, object]]], draw: random.Random) -> None:
    texts = [text_of((("type", draw.choice("ABC")), ("ts", 5), *event), draw).encode() for event in events]
    texts += [mutated(text, draw) for text in texts]
    for schema in (OPEN, GIVEN, CLOSED, infer_schema([batch_of_values(texts[:6])])):
        check(texts, schema)


def test_flat_events_are_their_own_flat_form() -> None:
    event = {"type": "A", "ts": [1, 2], "x": None}
    assert flattened(event).fields == event


GAPS = ["[18446744073709551615]", "[1,[1e999]]", '[{"a":12345678901234567890}]']


@pytest.mark.parametrize("array", GAPS)
def test_a_number_within_an_array_that_is_no_value_is_told_or_refused(array: str) -> None:
    line = f'{{"type":"A","ts":1,"order":{{"id":"O"}},"tags":{array}}}'
    assert check([line.encode()], OPEN).misfits == {"tags": 1}
    refused = one(line, GIVEN)
    assert isinstance(refused, Bad)
    assert refused.reason == "schema"
    assert refused.detail.startswith("attribute 'tags' of type A has a number")


@pytest.mark.parametrize("number", ["-9223372036854775809", "1e999"])
@pytest.mark.parametrize("place", ["%s", "[%s]", "[[0,%s]]", '{"a":%s}', '{"a":[%s]}', '[{"a":%s}]'])
@pytest.mark.parametrize("name", ["type", "ts", "price"])
def test_a_message_shows_a_number_that_is_no_value_as_it_was_written(name: str, place: str, number: str) -> None:
    event = {"type": '"A"', "ts": "1", "price": "1"} | {name: place % number}
    line = "{" + ",".join(f'"{key}":{text}' for key, text in event.items()) + "}"
    for schema in (OPEN, GIVEN, CLOSED):
        bad = check([line.encode()], schema).bad
        assert name == "price" or [number in record.detail for record in bad] == [True]


@pytest.mark.parametrize("inner", ["{}", '{"y":1}', '{"y":{"z":null}}', '{"y":[]}'])
@pytest.mark.parametrize("name", ["x", "tags", "order.n"])
def test_an_object_in_the_place_of_a_value_breaks_a_given_schema(name: str, inner: str) -> None:
    nested = inner if "." not in name else f'{{"n":{inner},"id":"O"}}'
    more = "" if "." in name else ',"order":{"id":"O"}'
    line = f'{{"type":"A","ts":1,"{name.partition(".")[0]}":{nested}{more}}}'
    refused = one(line, GIVEN)
    assert isinstance(refused, Bad)
    assert refused.reason == "schema"
    noun = KINDS[name].noun
    assert refused.detail == f"attribute {name!r} of type A should be {noun}, and is an object"
    assert check([line.encode()], OPEN).bad == ()


def test_an_object_in_whose_place_a_given_schema_has_null_or_what_is_in_it_is_no_breach() -> None:
    kinds = {"c": Kind.NULL, "s": Kind.STRING, "s.code": Kind.INT}
    schema = Schema(kinds, {"A": tuple(kinds)}, {}, given=True)
    lines = [b'{"type":"A","ts":1,"c":{"id":1},"s":{"code":2}}', b'{"type":"A","ts":1,"c":null,"s":"x"}']
    assert check(lines, schema).bad == ()


def test_numbers_within_an_array_that_no_attribute_has_are_not_told() -> None:
    line = b'{"type":"A","ts":1,"other":[1e999],"order":{"n":1},"order.n":2}'
    assert check([line], OPEN).misfits == {"order.n": 1}


@pytest.mark.parametrize("levels", [900, 970, 1000, 1020, 5000])
def test_an_array_of_as_many_levels_as_a_parser_takes_ends_nothing(levels: int) -> None:
    """Python's stack ends before the parser's."""
    deep = '{"type":"A","ts":1,"tags":' + "[" * levels + "1e20" + "]" * levels + "}"
    for schema in (OPEN, GIVEN, CLOSED):
        assert isinstance(one(deep, schema), Event | Bad)
