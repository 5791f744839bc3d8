"""The flattening kernel beside the exact path: the same events, or the same refusals, of any JSON by any definition."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.engine.events.raw import batch_of_values
from saffron.mapping.definition import (
    AttributeRule,
    CsvForm,
    OfMessage,
    SourceDefinition,
    TimeFormat,
    TimeRule,
    TypeRule,
)
from saffron.mapping.flat.flatten_plan import is_served
from saffron.mapping.flat.flattening import Flattener
from saffron.mapping.kinds import As
from saffron.mapping.mapper import Mapped, Refused, events_of
from saffron.mapping.message import Message, Number
from saffron.mapping.paths import Path

NAMES = ["a", "b", "c", "type", "ts", "a.b", "b.c", "é", "x y", "$topic", "$number", "$.type"]
RECEIVED = 1_777_629_600_123
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "1", "-2.5", " 3", "x", "é", 'q"', "a\\b", "true", "2026-05-01T12:00:00+02:00", "2026-05-01"]),
    st.sampled_from([1777629600, 1777629600123, 1777629600.5, "1777629600"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5)
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(lambda steps: Path(tuple(steps)))
RULES = st.builds(AttributeRule, PATHS, st.sampled_from([None, *As]))
TYPES = st.one_of(
    st.just(TypeRule(constant='T"é')),
    st.builds(
        lambda path, names: TypeRule(origin=path, names=names), PATHS, st.sampled_from([{}, {"x": "X", "1": "é"}])
    ),
)
TIMES = st.one_of(st.just(TimeRule()), st.builds(TimeRule, PATHS, st.sampled_from(list(TimeFormat))))
ATTRIBUTES = st.dictionaries(st.sampled_from(["a", "b", "total", "a.b", "c.d"]), RULES, max_size=3)
SOURCES = st.builds(
    lambda kind, time, attributes, only: SourceDefinition("t", 0, kind, time, attributes, only),
    TYPES,
    TIMES,
    ATTRIBUTES,
    st.booleans(),
)
SPACES = st.sampled_from([(", ", ": "), (",", ":")])


def parsed(text: bytes) -> dict[str, Any]:
    found = json.loads(text, parse_int=Number, parse_float=Number)
    assert isinstance(found, dict)
    return found


def tagged(value: Any) -> Any:
    """A value in which a number differs from the text of its digits."""
    if isinstance(value, dict):
        return {name: tagged(one) for name, one in value.items()}
    if isinstance(value, list):
        return [tagged(one) for one in value]
    return ("number", str(value)) if isinstance(value, Number) else value


def expected(message: Message, source: SourceDefinition) -> list[dict[str, Any]]:
    return [tagged({**one.values, "type": one.type, "ts": Number(one.ts)}) for one in expected_events(message, source)]


def expected_events(message: Message, source: SourceDefinition) -> list[Mapped]:
    return [one for one in events_of(message, source) if isinstance(one, Mapped)]


def same(source: SourceDefinition, texts: list[bytes]) -> int:
    """Holds the two against each other; how many messages the kernel was sure of."""
    assert is_served(source)
    batch = batch_of_values(list(texts), times=np.full(len(texts), RECEIVED))
    flattener = Flattener(source)
    found = flattener.flatten(batch)
    messages = [Message(text, time=RECEIVED) for text in texts]
    wanted = [(row, one) for row, message in enumerate(messages) for one in expected(message, source)]
    got = [(int(row), tagged(parsed(found.value(event)))) for event, row in enumerate(found.rows.tolist())]
    assert got == wanted
    assert all(type(event["type"]) is str for _, event in got)
    misfits = Counter(name for one in messages for event in expected_events(one, source) for name in event.misfits)
    assert found.misfits == misfits
    refused = [(row, one) for row, m in enumerate(messages) for one in events_of(m, source) if isinstance(one, Refused)]
    assert list(found.refused) == refused
    output = flattener._by_kernel(batch)
    assert output is not None
    return int(np.count_nonzero(output.exact == 0))


def test_a_number_as_type_is_the_text_of_it_on_both_ways() -> None:
    source = SourceDefinition(
        "t", 0, TypeRule(origin=Path(("k",))), attributes={"n": AttributeRule(Path(("n",)), As.NUMBER)}
    )
    assert same(source, [b'{"k":5,"n":"1"}', b'{"k":5,"n":"x"}', b'{"k":5.50,"n":{}}', b'{"k":"5","n":[]}']) > 0


@pytest.mark.parametrize("form", [*TimeFormat, "%Y"])
def test_the_message_s_own_time_is_taken_as_it_is_on_both_ways(form: TimeFormat | str) -> None:
    source = SourceDefinition("t", 0, TypeRule(constant="T"), TimeRule(OfMessage.TIME, form))
    texts = [b'{"a":1}', b'{"a":{"b":1},"a.b":2}', b'{"\\u0061":1}']
    same(source, texts)
    assert [one.ts for text in texts for one in expected_events(Message(text, time=RECEIVED), source)] == [RECEIVED] * 3


NUMBERS = {  # written, and the text of it
    "1": ("1", "1.0", "1e0", "10e-1", "0.1E+1"),
    "0": ("0", "-0", "0.0", "-0e5"),
    "-7": ("-7", "-7.00", "-70E-1"),
    "100": ("100", "1e2", "1E+02"),
    "0.5": ("0.5", "0.50", "5e-1"),
    "9007199254740993": ("9007199254740993", "9007199254740993.0", "9007199254740993e0"),
    "123456789012345678": ("123456789012345678", "123456789012345678.0"),
    "9223372036854775807": ("9223372036854775807", "9223372036854775807.0"),
    "18446744073709551615": ("18446744073709551615",),
    "0.1000000000000000055": ("0.1000000000000000055",),
    "1e+22": ("1e22", "10000000000000000000000"),
    "1e999": ("1e999",),
    "1e-9999999999999999999": ("1e-9999999999999999999",),
    "0e9999999999999999999": ("0e9999999999999999999",),
}


def test_equal_numbers_are_one_text_and_one_type_and_others_keep_their_digits() -> None:
    rules = {"n": AttributeRule(Path(("n",)), As.TEXT)}
    for names in ({}, {text: f"T{text}" for text in NUMBERS}):
        source = SourceDefinition("t", 0, TypeRule(origin=Path(("k",)), names=names), attributes=rules, only=True)
        for text, spellings in NUMBERS.items():
            messages = [f'{{"k":{one},"n":{one}}}'.encode() for one in spellings]
            for message in messages:
                (event,) = events_of(Message(message, time=1), source)
                assert isinstance(event, Mapped)
                assert (event.type, event.values) == (names.get(text, text), {"n": text}), message
            same(source, messages)


def test_equal_numbers_are_one_truth_value() -> None:
    rules = {"n": AttributeRule(Path(("n",)), As.BOOLEAN)}
    source = SourceDefinition("t", 0, TypeRule(constant="T"), attributes=rules, only=True)
    for text, truth in (("1", True), ("0", False), ("-7", None), ("0.5", None)):
        messages = [f'{{"n":{one}}}'.encode() for one in NUMBERS[text]]
        found = [one.values.get("n") for m in messages for one in expected_events(Message(m, time=1), source)]
        assert found == [truth] * len(messages)
        same(source, messages)


def test_a_name_of_map_may_be_a_number_with_a_fraction() -> None:
    source = SourceDefinition("t", 0, TypeRule(origin=Path(("k",)), names={"1.0": "X", "2": "Y"}))
    assert same(source, [b'{"k":1.0}', b'{"k":"1.0"}', b'{"k":2.0}', b'{"k":"2.0"}']) == 1


def test_fields_with_names_of_an_origin_are_kept_beside_it() -> None:
    own = ["$topic", "$source", "$partition", "$offset", "$number"]
    source = SourceDefinition("t", 0, TypeRule(constant="T"))
    (event,) = events_of(Message(json.dumps(dict.fromkeys(own, "x")).encode(), time=1), source)
    assert isinstance(event, Mapped)
    assert event.values == {f"$.{name}": "x" for name in own}
    for kind in (TypeRule(origin=Path(("$topic",))), TypeRule(origin=Path(("$topic", "x")))):
        rules = {"a": AttributeRule(Path(("$number", "x")))}
        for one in (SourceDefinition("t", 0, kind, attributes=rules, only=only) for only in (False, True)):
            same(one, [b'{"$topic":"x","$offset":1}', b'{"$topic":{"x":"y"},"$number":5}', b'{"$number":{"x":1}}'])


def test_a_flat_null_gives_way_to_a_nested_value_on_both_ways() -> None:
    source = SourceDefinition("t", 0, TypeRule(constant="T"), attributes={"x": AttributeRule(Path(("a", "b")))})
    batch = batch_of_values(
        [b'{"a.b":null,"a":{"b":5}}', b'{"a":{"b":5},"a.b":null,"\\u007a":null}'], times=np.zeros(2, np.int64)
    )
    found = Flattener(source).flatten(batch)
    assert [json.loads(found.value(event))["x"] for event in range(2)] == [5, 5]


def test_a_field_that_another_one_displaces_is_told() -> None:
    source = SourceDefinition("t", 0, TypeRule(constant="T"))
    for text in (b'{"a.b":1,"a":{"b":2}}', b'{"a":{"b":2},"a.b":1}'):
        (event,) = events_of(Message(text, time=1), source, strict=True)
        assert isinstance(event, Mapped)
        assert (event.values, event.misfits) == ({"a.b": "1"}, ("a.b",))


def test_what_could_not_be_made_json_is_refused_for_that_reason() -> None:
    source = SourceDefinition("t", 0, TypeRule(constant="T"), attributes={"x": AttributeRule(Path(("x", 1)))})
    for one in (SourceDefinition("t", 0, TypeRule(constant="T")), source):
        values = [b'{"a":1}', b"", b'{"a":2}']
        refusals = {101: ("no-frame", "begins with 01")}
        batch = batch_of_values(values, np.arange(100, 103), np.full(3, RECEIVED), refused=refusals)
        found = Flattener(one).flatten(batch)
        assert [parsed(found.value(event))["a"] for event in range(len(found))] == ["1", "2"]
        assert list(found.refused) == [(1, Refused(0, "no-frame", "begins with 01"))]


def test_rows_of_csv_are_read_by_the_exact_path() -> None:
    source = SourceDefinition("t", 0, TypeRule(constant="T"), format="csv", csv=CsvForm())
    batch = batch_of_values([b"a,b\n1,x\n2,y\n", b"a\n3\n"], times=np.full(2, RECEIVED))
    found = Flattener(source).flatten(batch)
    assert [parsed(found.value(event)).get("a") for event in range(3)] == ["1", "2", "3"]
    assert (found.rows.tolist(), found.numbers.tolist()) == ([0, 0, 1], [0, 1, 0])


@settings(deadline=None)
@given(SOURCES, st.lists(OBJECTS, min_size=1, max_size=4), SPACES)
def test_kernel_and_exact_path_agree(source: SourceDefinition, objects: list[Any], spaces: tuple[str, str]) -> None:
    same(source, [json.dumps(one, separators=spaces, ensure_ascii=len(objects) > 2).encode() for one in objects])


@settings(deadline=None)
@given(SOURCES, OBJECTS, st.data())
def test_whatever_is_cut_out_of_a_message_is_refused_alike(
    source: SourceDefinition, one: Any, data: st.DataObject
) -> None:
    text = json.dumps(one, ensure_ascii=False).encode()
    cut = data.draw(st.integers(0, len(text)))
    until = data.draw(st.integers(cut, len(text)))
    put = data.draw(st.sampled_from([b"", b",", b"}", b"]", b'"', b"\\", b"\xff", b"0", b"NaN", b"{", b"\x01"]))
    same(source, [text[:cut] + put + text[until:]])


def test_the_common_form_is_left_to_the_kernel() -> None:
    source = SourceDefinition(
        "t",
        0,
        TypeRule(origin=Path(("kind",)), names={"x": "X"}),
        TimeRule(Path(("meta", "at")), TimeFormat.ISO),
        {"total": AttributeRule(Path(("order", "total")), As.NUMBER)},
    )
    one = {
        "kind": "x",
        "meta": {"at": "2026-05-01 12:00:00.123+02:00", "e": None},
        "order": {"total": "12.50", "items": [{"sku": "a\n"}]},
        "text": 'a "quoted" \u00e9',
    }
    assert same(source, [json.dumps(one).encode(), json.dumps(one, ensure_ascii=False).encode()]) == 2


def test_an_output_that_grows_begins_again_where_it_was_full() -> None:
    deep: dict[str, Any] = {"x": 1, "y": 2}
    for level in range(20):
        deep = {f"a_long_name_{level}": deep, f"b{level}": level}
    source = SourceDefinition("t", 0, TypeRule(constant="T"), TimeRule(OfMessage.TIME))
    assert same(source, [json.dumps(deep).encode()] * 50) == 50
