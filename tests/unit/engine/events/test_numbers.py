"""One number: what a JSON number is as a value, in columns of every kind, and what a column must become for it."""

from __future__ import annotations

import itertools
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.codec import decode_block, encode_block
from saffron.engine.events.column_operations import column_values, converted
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.decoding.decode import Decoder
from saffron.engine.events.decoding.exact import decode_exactly
from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.decoding.rules.outcomes import Event
from saffron.engine.events.raw import batch_of_values
from saffron.engine.events.rests import rests_of
from saffron.engine.kernels.arithmetic import rest
from saffron.schema.numbers import (
    kind_of_number,
    number_of,
    number_of_text,
    pair_of,
    plain,
    value_of_pair,
)
from saffron.schema.schema import NULL_INT, Kind, Schema, widened
from tests.unit.engine.events.number_texts import number_text

NUMBERS = (Kind.INT, Kind.LONG, Kind.FLOAT, Kind.NUMBER)


def texts(count: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    return [number_text(rng) for _ in range(count)]


def values(count: int, seed: int = 1) -> list[int | float]:
    found = (number_of_text(text) for text in texts(count, seed))
    return [value for value in found if value is not None]


def definition(text: str) -> Fraction | None:
    """The value that a text stands for: the number itself if it is whole and within 64 bits, else its float64."""
    exact, nearest = Decimal(text), float(text)
    if abs(nearest) == float("inf"):
        return None
    if exact == exact.to_integral_value() and abs(exact) < 2**63:
        return Fraction(exact)
    if abs(exact) >= 2**63 and exact == exact.to_integral_value():
        return Fraction(nearest) if exact in (Decimal(nearest), Decimal(repr(nearest))) else None
    return Fraction(nearest)


def test_the_value_of_a_number() -> None:
    for text in texts(5000):
        number = number_of_text(text)
        assert (None if number is None else Fraction(number)) == definition(text), text
        assert (
            number is None or (isinstance(number, int) == (Fraction(number).denominator == 1)) or abs(number) >= 2**63
        )
        assert number == number_of(Decimal(text)) if "999" not in text else True


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("1.0", 1), ("1e0", 1), ("-0.0", 0), ("9007199254740993.0", 9007199254740993),
        ("9007199254740993e0", 9007199254740993), ("12345678901234567890", None), ("12345678901234567891", None),
        ("18446744073709551616", 2.0**64), ("1e30", 1e30), ("6.02214076e23", 6.02214076e23), ("1e400", None),
        ("123456789012345680000", 123456789012345680000.0), ("123456789012345680001", None),
        ("-9223372036854775808", -(2.0**63)), ("9223372036854775807", 2**63 - 1),
    ],
)  # fmt: skip
def test_values_by_example(text: str, value: float | None) -> None:
    assert number_of_text(text) == value


def test_kinds_form_a_lattice() -> None:
    for a, b, c in itertools.product(Kind, repeat=3):
        assert widened(a, b) is widened(b, a)
        left, right = widened(a, b), widened(b, c)
        if left is not None and right is not None:
            assert widened(left, c) is widened(a, right)
    assert all(widened(a, a) is a for a in Kind)


@pytest.mark.parametrize("kind", [*NUMBERS, Kind.NULL])
def test_the_scanner_and_the_exact_path_agree(kind: Kind) -> None:
    for given in (False, True):
        schema = Schema({"x": kind}, {"A": ("x",)}, {"A": frozenset()}, given=given)
        for text in texts(400, seed=3):
            record = f'{{"type":"A","ts":1,"x":{text}}}'.encode()
            decoded = Decoder(schema).decode(batch_of_values([record]))
            exact = decode_exactly(record, schema, None)
            if not isinstance(exact, Event):
                assert len(decoded) == 0, text
                continue
            assert column_values(decoded.attributes["x"]) == [exact.values.get("x")], text
            assert (decoded.growth, decoded.mistyped) == (exact.growth, len(exact.misfits)), text


@pytest.mark.parametrize("kind", [*NUMBERS, Kind.NULL])
def test_what_a_column_must_become_for_a_value_has_it(kind: Kind) -> None:
    for text in texts(250, seed=4):
        number = number_of_text(text)
        record = f'{{"type":"A","ts":1,"x":{text}}}'.encode()
        decoded = Decoder(Schema({"x": kind}, {"A": ("x",)}, {})).decode(batch_of_values([record]))
        if number is None:
            assert (decoded.mistyped, decoded.growth) == (1, {}), text
            continue
        wider = widened(kind, kind_of_number(number))
        assert decoded.growth == ({} if wider is kind else {"x": wider}), text
        assert wider is not None
        again = Decoder(Schema({"x": wider}, {"A": ("x",)}, {})).decode(batch_of_values([record]))
        assert (column_values(again.attributes["x"]), again.growth, again.mistyped) == ([number], {}, 0), text


def test_a_batch_tells_the_kind_that_has_all_its_values() -> None:
    rng = random.Random(5)
    for _ in range(100):
        chosen = [number_text(rng) for _ in range(rng.randrange(1, 6))]
        batch = batch_of_values([f'{{"type":"A","ts":1,"x":{text}}}'.encode() for text in chosen])
        numbers = [number_of_text(text) for text in chosen]
        kind = Kind.NULL
        for number in numbers:
            kind = kind if number is None else widened(kind, kind_of_number(number)) or kind
        inferred = infer_schema([batch]).kinds["x"]
        assert inferred is kind
        first = Decoder(Schema({"x": Kind.NULL}, {"A": ("x",)}, {})).decode(batch)
        assert first.growth == ({} if kind is Kind.NULL else {"x": kind})
        decoded = Decoder(Schema({"x": inferred}, {"A": ("x",)}, {})).decode(batch)
        assert (column_values(decoded.attributes["x"]), decoded.growth) == (numbers, {})


def test_pairs_are_ordered_as_the_numbers_are() -> None:
    drawn = values(400, seed=6)
    for a, b in zip(drawn, reversed(drawn), strict=True):
        left, right = pair_of(a), pair_of(b)
        assert ((left.real, left.imag) < (right.real, right.imag)) == (a < b)
        assert (left == right) == (a == b)
        assert value_of_pair(left) == a


def test_rests() -> None:
    whole = [value for value in values(2000, seed=7) if isinstance(value, int)]
    rests = [float(value - int(float(value))) for value in whole]
    assert rests_of(np.array(whole, np.int64)).tolist() == rests == [rest(value) for value in whole]
    assert rest(NULL_INT) == 0.0


def test_what_is_shown_of_a_float() -> None:
    shown = [plain(x) for x in (77.0, -0.0, 0.5, 2.0**63, -(2.0**63), 1e300)]
    assert [repr(value) for value in shown] == [
        "77",
        "0",
        "0.5",
        "9.223372036854776e+18",
        "-9.223372036854776e+18",
        "1e+300",
    ]


def fits(text: str, kind: Kind) -> bool:
    number = number_of_text(text)
    return number is None or widened(kind_of_number(number), kind) is kind


@pytest.mark.parametrize(("kind", "wider"), [(a, b) for a in Kind for b in Kind if widened(a, b) is b])
def test_a_wider_column_has_the_same_values(kind: Kind, wider: Kind) -> None:
    schema = Schema({"x": kind}, {"A": ("x",)}, {})
    numbers = [text for text in texts(300, seed=8) if fits(text, kind)]
    given = ["null", "true", '"a"', *numbers]
    batch = batch_of_values([f'{{"type":"A","ts":1,"x":{text}}}'.encode() for text in given])
    column = Decoder(schema).decode(batch).attributes["x"]
    assert column_values(converted(column, wider)) == column_values(column)
    assert converted(column, wider).kind is wider.column


def test_numbers_travel_in_blocks() -> None:
    data = np.array([pair_of(2**60 + 1), pair_of(0.5), complex(np.nan)])
    n = len(data)
    whole, types = np.arange(n), Column(Kind.STRING, np.zeros(n, np.int32), ("A",))
    columns = Columns(whole, whole, whole, types, {"x": Column(Kind.NUMBER, data)})
    column = decode_block(encode_block(Block(columns, 0, n, 0))).columns.attributes["x"]
    assert (column.kind, column_values(column)) == (Kind.NUMBER, [2**60 + 1, 0.5, None])
    assert column.data.flags.writeable


@pytest.mark.parametrize("text", ["12345678901234567890", "1e999", "-1e400", "100000000000000000000000001"])
def test_a_number_that_is_no_value(text: str) -> None:
    record = f'{{"type":"A","ts":1,"x":{text},"y":1e999}}'.encode()
    inferred = Decoder(Schema({"x": Kind.FLOAT}, {"A": ("x",)}, {})).decode(batch_of_values([record]))
    assert (column_values(inferred.attributes["x"]), inferred.mistyped, inferred.growth) == ([None], 1, {})
    given = Decoder(Schema({"x": Kind.NUMBER}, {"A": ("x",)}, {}, given=True)).decode(batch_of_values([record]))
    (bad,) = given.bad
    assert (bad.reason, text in bad.detail, "write it as a string" in bad.detail) == ("schema", True, True)


@pytest.mark.parametrize("text", ['{"type":"A","ts":1,"x":1e999', '{"x":1e999,"y":NaN}', '{"x":1e999,"y":"\\ud800"}'])
def test_a_large_number_makes_no_json_of_what_is_none(text: str) -> None:
    bad = Decoder(Schema({"x": Kind.FLOAT}, {"A": ("x",)}, {})).decode(batch_of_values([text.encode()])).bad
    assert [one.reason for one in bad] == ["not-json"]
