"""The condition of a source over any message: as a slow evaluator in fractions has it, and errors with their place."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.events.raw import batch_of_values
from saffron.errors import QueryError
from saffron.mapping.definition import Envelope, SourceDefinition, StreamDefinition, TypeRule
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.dry_run import read_all
from saffron.mapping.envelopes import Eventless
from saffron.mapping.flat.flatten_plan import is_served
from saffron.mapping.flat.flattening import Flattener
from saffron.mapping.mapper import Mapped, Refused, events_of, outcomes_of
from saffron.mapping.message import Message, parse
from saffron.mapping.where import condition
from saffron.mapping.yaml_nodes import DefinitionError

SOURCE = SourceDefinition("t", 0, TypeRule(constant="T"))
WHOLE = b"""{"op": "u", "n": 9007199254740993, "half": 0.5, "flag": true, "none": null, "list": [1],
 "source": {"table": "orders", "deep": {"x": 3}}, "a.b": 1, "a": {"b": 2, "c.d": 4}, "id.orig-h": "h", "type": "K",
 "u": {"type": "V", "len": 7, "lines": [{"sku": "a", "n": 9007199254740993, "tags": ["x", "y"]}, {"sku": "b"}]}}"""
COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("op != 'd'", True),
        ("op = 'd' OR source.table = 'orders' AND source.deep.x > 2", True),
        ("op IN ('c', 'u')", True),
        ("op NOT IN ('c', 'u')", False),
        ("n = 9007199254740993 AND n > 9007199254740992", True),
        ("n = 9007199254740992", False),
        ("half * 2 = 1 AND abs(-half) = 0.5 AND max(half, 3) = 3 AND 7 % 4 = 3", True),
        ("half = 50%", True),
        ("flag", True),
        ("NOT flag", False),
        ("flag = true AND flag != false", True),
        ("n", False),
        ("gone = 1", False),
        ("gone != 1", False),
        ("NOT gone = 1", True),
        ("\"none\" != 'x'", False),
        ("op > 1", False),
        ("op != 1", False),
        ("list != 1", False),
        ("source != 'x'", False),
        ("a.b = 1", True),
        ("a.c.d = 4", True),
        ('a."c.d" = 4 AND "a".b = 1', True),
        ("\"id.orig-h\" = 'h'", True),
        ("type = 'K' AND u.type = 'V' AND u.\"type\" = 'V' AND u.len = 7", True),
        ("length(list) = 1 AND contains(list, 1) AND contains(list, 1.0) AND NOT contains(list, '1')", True),
        ("list[1] = 1 AND list[1] > 0.5 AND NOT list[2] = 1 AND NOT list[1] = 'x'", True),
        ("length(u.lines) = 2 AND u.lines[2].sku = 'b' AND u.lines[1].n = 9007199254740993", True),
        ("u.lines[1].n = 9007199254740992", False),
        ("u.lines[1].sku = u.lines[3].sku OR u.lines[1].sku = u.lines[2].sku", False),
        ("u.lines[1].tags[1] = 'x' AND contains(u.lines[1].tags, 'y')", True),
        ("length(n) = 1 OR length(gone) >= 0 OR contains(source, 'x')", False),
        ("length(source.table) = 6 AND source.table LIKE 'o%'", True),
        ("1 / 0 = 1 OR sqrt(-1) = 1", False),
    ],
)
def test_a_condition_means_what_it_means_in_a_query(text: str, passed: bool) -> None:
    assert condition(text)(parse(WHOLE)) is passed


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(["", "d", "5", "x"]),
    st.integers(-3, 3),
    st.sampled_from([2**53, 2**53 + 1, 0.5, 2.0, 1e300]),
    st.just([1]),
)
MESSAGES = st.dictionaries(
    st.sampled_from(["a", "b", "a.b"]), VALUES | st.dictionaries(st.just("b"), VALUES), max_size=3
)
PATHS = st.sampled_from(["a", "b", "a.b"])
LITERALS = st.one_of(st.integers(-3, 3), st.sampled_from(["d", "5", "", True, False, 0.5, 2**53 + 1]))
OPERANDS = st.one_of(PATHS.map(lambda path: ("path", path)), LITERALS.map(lambda value: ("literal", value)))
TREES = st.recursive(
    st.one_of(
        st.tuples(st.sampled_from(list(COMPARED)), OPERANDS, OPERANDS),
        st.tuples(st.just("in"), PATHS, st.lists(st.sampled_from(["d", "5"]), min_size=1, max_size=2)),
    ),
    lambda inner: st.one_of(st.tuples(st.sampled_from(["and", "or"]), inner, inner), st.tuples(st.just("not"), inner)),
    max_leaves=5,
)


def written(tree: Any) -> str:
    match tree:
        case ("path", path):
            return str(path)
        case ("literal", value):
            return f"'{value}'" if isinstance(value, str) else str(value).lower()
        case ("in", path, choices):
            return f"{path} IN ({', '.join(map(repr, choices))})"
        case ("not", inner):
            return f"NOT ({written(inner)})"
        case (sign, left, right):
            return f"({written(left)}) {sign.upper()} ({written(right)})"
    raise AssertionError(tree)


def slowly(tree: Any, message: Any) -> Any:
    """The value of a tree, numbers as fractions, None for null."""
    match tree:
        case ("path", path):
            found = message.get(path)
            if found is None and path not in message and path == "a.b" and isinstance(message.get("a"), dict):
                found = message["a"].get("b")
            return Fraction(found) if isinstance(found, float | int) and not isinstance(found, bool) else found
        case ("literal", value):
            return value if isinstance(value, bool | str) else Fraction(value)
        case ("in", path, choices):
            return slowly(("path", path), message) in choices
        case ("not", inner):
            return not slowly(inner, message)
        case ("and", left, right):
            return slowly(left, message) and slowly(right, message)
        case ("or", left, right):
            return slowly(left, message) or slowly(right, message)
        case (sign, left, right):
            one, other = slowly(left, message), slowly(right, message)
            ordered = sign in ("=", "!=") or not isinstance(one, bool)
            alike = type(one) is type(other) and isinstance(one, bool | str | Fraction)
            return alike and ordered and COMPARED[sign](one, other)
    raise AssertionError(tree)


@given(TREES, st.lists(MESSAGES, min_size=1, max_size=5))
def test_any_condition_over_any_message_is_what_the_slow_evaluator_says(tree: Any, messages: list[Any]) -> None:
    text = written(tree)
    try:
        passes = condition(text)
    except QueryError:  # what would always be false, and an order of truth values
        return
    for message in messages:
        assert passes(parse(json.dumps(message).encode())) == slowly(tree, message), text


ERRORS = {
    "op = ": ("expected a value", "LINE 4:   where: 'op = '", ""),
    "op = 'd": ("does not end on its line", "LINE 4", "single quote"),
    "a b": ("expected an operator", "LINE 4", ""),
    "count(*) > 1": ("no keys, aggregates or NEXT", "LINE 4", "after.total > 5"),
    "NEXT(a).x = 2": ("no keys, aggregates or NEXT", "LINE 4", "after.total > 5"),
    "a[0].x = 2": ("no element of an array has the number 0", "LINE 4", "counted from 1"),
    "length(a, b) = 2": ("length takes 1 argument, not 2", "LINE 4", ""),
    "contains(a)": ("contains takes 2 arguments, not 1", "LINE 4", ""),
    "[a]": ("a condition of its own", "LINE 4", ""),
    "a + 1": ("is true or false, this is a number", "LINE 4", "Compare"),
    "a + 'x' = 1": ("cannot add a string", "LINE 4", "Arithmetic"),
    "1 = 'x'": ("always false", "LINE 4", ""),
    'op = "d"': ("d needs no quotes as a field", "LINE 4", "strings stand in single ones: 'd'"),
    "op = null": ("null is no value to compare with", "LINE 4", ""),
    "twice(a) = 1": ("unknown function", "LINE 4", ""),
    "(" * 70 + "a" + ")" * 70: ("nested deeper", "LINE 4", ""),
}


@pytest.mark.parametrize("text", ERRORS)
def test_an_error_shows_its_place_in_the_definition(text: str) -> None:
    quoted = "'" + text.replace("'", "''") + "'"
    with pytest.raises(DefinitionError) as raised:
        read_definition(f"stream: s\nsources:\n- topic: t\n  where: {quoted}")
    for part in ERRORS[text]:
        assert part in str(raised.value)


@pytest.mark.parametrize(
    ("line", "carets"),
    [
        ("where: op = 1 AND b + 'x' = 1", "                              ^^^"),
        ("where: \"op = 1 AND b + 'x' = 1\"", "                               ^^^"),
    ],
)
def test_carets_stand_under_the_part_that_is_wrong(line: str, carets: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        read_definition(f"stream: s\nsources:\n- topic: t\n  {line}")
    message, shown, under = str(raised.value).splitlines()[:3]
    assert "cannot add a string" in message
    assert shown[under.index("^") : under.rindex("^") + 1] == "'x'"
    assert under.rstrip().endswith(carets.lstrip()), (shown, under)


def test_what_does_not_pass_is_no_event_and_no_refusal_but_counted() -> None:
    source = replace(SOURCE, where="op != 'd'", envelope=Envelope.LINES)
    message = Message(b'{"op":"c"}\n{"op":"d"}\n{"n":1}\nx\n5\n{"op":"u"}', time=5)
    assert [one if one is Eventless.FILTERED else type(one) for one in outcomes_of(message, source)] == [
        Mapped, Eventless.FILTERED, Eventless.FILTERED, Refused, Refused, Mapped,
    ]  # fmt: skip
    assert [one.number for one in events_of(message, source)] == [0, 1, 2, 3]
    assert not is_served(source)
    assert message.value is not None
    found = Flattener(source).flatten(
        batch_of_values([message.value, b'{"op":"d"}']), [message, Message(b'{"op":"d"}')]
    )
    assert (len(found), len(found.refused), found.eventless[Eventless.FILTERED]) == (2, 2, 3)
    reading = read_all(StreamDefinition("s", (source,)), source, [message])
    assert (reading.eventless[Eventless.FILTERED], reading.events) == (2, 2)


def test_it_is_asked_before_the_envelope_is_opened() -> None:
    source = replace(SOURCE, where="op != 'd' AND source.table = 'orders'", envelope=Envelope.DEBEZIUM)
    change = {"op": "c", "after": {"id": 1}, "source": {"table": "orders"}}
    for change_more, events in (({}, 1), ({"op": "d"}, 0), ({"source": {"table": "other"}}, 0)):
        assert len(list(events_of(Message(json.dumps({**change, **change_more}).encode(), time=1), source))) == events


def test_cells_of_csv_are_texts() -> None:
    written = "stream: s\nsources:\n- topic: t\n  format: csv\n  where: "
    (source,) = read_definition(f"{written}a = '1' AND b != 'x'").sources
    assert [one.number for one in events_of(Message(b"a,b\n1,y\n2,y\n1,x\n1,z\n", time=1), source)] == [0, 1]
    with pytest.raises(DefinitionError, match="always false"):
        read_definition(f"{written}a > 1")
    with pytest.raises(DefinitionError, match="a string, and no array"):
        read_definition(f"{written}a[1] = 'x'")
    (source,) = read_definition(f"{written}CAST(a AS number) > 1 AND length(b) = 1").sources
    assert [one.number for one in events_of(Message(b"a,b\n1,y\n2,y\n1,x\n1,z\n", time=1), source)] == [0]
