"""Decoding: the rules for events, and the scanner against the exact path."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from saffron.engine.events.column_operations import column_values
from saffron.engine.events.columns import Column
from saffron.engine.events.decoding.decode import Decoded, Decoder
from saffron.engine.events.decoding.exact import decode_exactly
from saffron.engine.events.decoding.rules.event_times import DAY
from saffron.engine.events.decoding.rules.outcomes import Bad, Event, Mark
from saffron.engine.events.raw import RawBatch, batch_of_lines, batch_of_values
from saffron.schema.numbers import number_of_text, shown
from saffron.schema.schema import Kind, Schema, widened

INFERRED = Schema(
    kinds={
        "symbol": Kind.STRING,
        "price": Kind.FLOAT,
        "n": Kind.INT,
        "up": Kind.BOOL,
        "seq": Kind.INT,
        "time": Kind.STRING,
    },
    types={"Stock": ("symbol", "price", "n", "up"), "Näws": ("symbol", "seq", "time")},
    required={"Stock": frozenset(), "Näws": frozenset()},
)
GIVEN = Schema(INFERRED.kinds, INFERRED.types, {"Stock": frozenset({"symbol"}), "Näws": frozenset()}, given=True)
CLOSED = Schema(INFERRED.kinds, INFERRED.types, GIVEN.required, closed=True, given=True)
SCHEMAS = {"inferred": INFERRED, "given": GIVEN, "closed": CLOSED}


def held(column: Column) -> list[Any]:
    """The values of a column; of arrays the texts."""
    return column_values(replace(column, kind=Kind.STRING) if column.kind is Kind.ARRAY else column)


def outcome(decoded: Decoded, row: int) -> Event | Mark | Bad:
    """What became of a record, in the exact path's words (counts left out)."""
    for bad in decoded.bad:
        if bad.row == row:
            return Bad(bad.reason, bad.detail)
    for mark in decoded.watermarks:
        if mark.row == row:
            return Mark(mark.ts, mark.end)
    at = int(np.searchsorted(decoded.rows, row))
    assert decoded.rows[at] == row
    values = {name: held(column)[at] for name, column in decoded.attributes.items()}
    present = {name: value for name, value in values.items() if value is not None}
    return Event(str(column_values(decoded.type)[at]), int(decoded.ts[at]), present)


def check(values: list[bytes], schema: Schema, times: list[int] | None = None) -> Decoded:
    """Decode a batch, and hold every record against the exact path."""
    stamps = None if times is None else np.array(times, dtype=np.int64)
    decoded = Decoder(schema).decode(batch_of_values(values, times=stamps))
    mistyped = unknown = 0
    growth: dict[str, Kind] = {}
    columns = {name: held(column) for name, column in decoded.attributes.items()}
    types, ts = column_values(decoded.type), decoded.ts.tolist()
    bad = {item.row: Bad(item.reason, item.detail) for item in decoded.bad}
    marks = {item.row: Mark(item.ts, item.end) for item in decoded.watermarks}
    place = {row: at for at, row in enumerate(decoded.rows.tolist())}
    assert sorted([*bad, *marks, *place]) == list(range(len(values)))
    for row, value in enumerate(values):
        exact = decode_exactly(value, schema, None if times is None else times[row])
        if isinstance(exact, Event):
            at = place[row]
            present = {name: column[at] for name, column in columns.items() if column[at] is not None}
            found = Event(str(types[at]), ts[at], present)
            wanted = {name: shown(item) for name, item in exact.values.items()}
            assert repr(sorted(found.values.items())) == repr(sorted(wanted.items())), value
            assert (found.type, found.ts) == (exact.type, exact.ts), value
            mistyped += len(exact.misfits)
            unknown += exact.unknown
            for name, kind in exact.growth.items():
                growth[name] = widened(growth.get(name, Kind.NULL), kind) or kind
        else:
            assert (bad | marks)[row] == exact, value
    assert (decoded.mistyped, decoded.unknown_attributes) == (mistyped, unknown)
    assert decoded.growth == growth
    return decoded


def one(text: str | bytes, schema: Schema = INFERRED, time: int | None = None) -> Event | Mark | Bad:
    value = text if isinstance(text, bytes) else text.encode()
    return outcome(check([value], schema, None if time is None else [time]), 0)


def reason(text: str | bytes, schema: Schema = INFERRED, time: int | None = None) -> str:
    result = one(text, schema, time)
    assert isinstance(result, Bad), result
    assert len(result.detail) > 10
    return result.reason


def test_common_form() -> None:
    event = one('{"type":"Stock","ts":1700000000123,"symbol":"IBM","price":46.83,"n":-7,"up":true}')
    assert event == Event("Stock", 1700000000123, {"symbol": "IBM", "price": 46.83, "n": -7, "up": True})


def test_any_order_blanks_and_nulls() -> None:
    event = one(' {\t"price" : 1e3 ,"up":false,"type": "Stock","symbol":null, "ts" :5 }\r\n')
    assert event == Event("Stock", 5, {"price": 1000.0, "up": False})


def test_attributes_named_like_columns() -> None:
    assert one('{"type":"Näws","ts":1,"seq":9,"time":"noon"}') == Event("Näws", 1, {"seq": 9, "time": "noon"})


def test_last_of_equal_names_counts() -> None:
    event = one('{"type":"A","ts":1,"n":1,"n":2,"ts":3,"type":"Stock"}')
    assert event == Event("Stock", 3, {"n": 2})


def test_escapes_and_unicode() -> None:
    event = one('{"type":"Stock","ts":1,"symbol":"a\\u00e9\\n\\"ü日","pr\\u0069ce":2}')
    assert event == Event("Stock", 1, {"symbol": 'aé\n"ü日', "price": 2.0})


@pytest.mark.parametrize(
    ("ts", "expected"),
    [
        ('"1970-01-01T00:00:01Z"', 1000),
        ('"1970-01-01T00:00:01.2509Z"', 1250),
        ('"1970-01-01 01:00:00+01:00"', 0),
        ('"1970-01-01T00:00"', 0),
        ('"1970-01-02"', DAY),
        ('"1969-12-31T23:59:59.999Z"', -1),
        ('"2024-02-29t12:30:00,5z"', 1709209800500),
        ("-12", -12),
        ("1e3", 1000),
        ("12.0", 12),
        ("9007199254740992", 2**53),
    ],
)
def test_times(ts: str, expected: int) -> None:
    event = one(f'{{"type":"Stock","ts":{ts}}}')
    assert isinstance(event, Event)
    assert event.ts == expected


@pytest.mark.parametrize(
    "ts",
    ["true", '"soon"', '"2024-13-01T00:00:00Z"', "1.5", "9007199254740993", "-9007199254740993", "1e30", '"20240101"',
     '"2024-W01-1"', '"2024-02-30"', "[1,2]", "{}", '""'],
)  # fmt: skip
def test_bad_times(ts: str) -> None:
    assert reason(f'{{"type":"Stock","ts":{ts}}}') == "bad-ts"


def test_imprecise_time_is_refused_with_the_reason() -> None:
    result = one('{"type":"Stock","ts":[1,2]}')
    assert isinstance(result, Bad)
    assert "exact times" in result.detail


def test_message_time_stands_in() -> None:
    assert one('{"type":"Stock"}', time=77) == Event("Stock", 77, {})
    assert one('{"type":"Stock","ts":null}', time=77) == Event("Stock", 77, {})
    assert reason('{"type":"Stock"}') == "no-ts"
    assert reason('{"type":"Stock","ts":null}') == "no-ts"
    assert reason('{"type":"Stock"}', time=-1) == "no-ts"


def test_future() -> None:
    assert one(f'{{"type":"Stock","ts":{5 + DAY}}}', time=5) == Event("Stock", 5 + DAY, {})
    assert reason(f'{{"type":"Stock","ts":{6 + DAY}}}', time=5) == "future-ts"
    assert one(f'{{"type":"Stock","ts":{6 + DAY}}}', time=-1) == Event("Stock", 6 + DAY, {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "not-json"),
        ("{", "not-json"),
        ('{"type":"Stock","ts":1,}', "not-json"),
        ('{"type":"Stock","ts":1}x', "not-json"),
        ('{"type":"Stock","ts":01}', "not-json"),
        ('{"type":"Stock","ts":1,"price":NaN}', "not-json"),
        ('{"type":"Stock","ts":1,"price":Infinity}', "not-json"),
        ('{"type":"Stock","ts":1,"price":.5}', "not-json"),
        ('{"type":"Stock","ts":1,"price":1.}', "not-json"),
        ('{"type":"Stock","ts":1,"price":+1}', "not-json"),
        ('{"type":"Stock","ts":1,"symbol":"a\tb"}', "not-json"),
        ('{"type":"Stock","ts":1,"up":tru}', "not-json"),
        (b'{"type":"Stock","ts":1,"symbol":"\xff"}', "not-json"),
        (b'{"type":"Stock","ts":1,"symbol":"\xed\xa0\x80"}', "not-json"),
        (b'{"type":"Stock","ts":1,"\xc3":1}', "not-json"),
        ("[]", "not-an-object"),
        ("3", "not-an-object"),
        ('{"type":"Stock","ts":1,"x":' + 32 * "[" + 32 * "]" + "}", "too-deep"),
        ('{"type":"Stock","ts":1,"price":' + 32 * '{"a":' + "1" + 33 * "}", "too-deep"),
        ('{"ts":1}', "no-type"),
        ('{"type":null,"ts":1}', "no-type"),
        ('{"type":5,"ts":1}', "no-type"),
    ],
)
def test_bad_events(text: str | bytes, expected: str) -> None:
    assert reason(text) == expected


def test_too_large() -> None:
    assert reason(b'{"type":"Stock","ts":1,"symbol":"' + b"x" * (1 << 20) + b'"}') == "too-large"


def test_inferred_schema_takes_what_it_can() -> None:
    decoded = check([b'{"type":"Other","ts":1,"price":"dear","new":1,"newer":"x","new":2,"n":3.0}'], INFERRED)
    assert outcome(decoded, 0) == Event("Other", 1, {"n": 3})
    assert (decoded.mistyped, decoded.unknown_attributes) == (1, 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"type":"Stock","ts":1,"symbol":"a","price":"dear"}', "'price' of type Stock should be a number"),
        ('{"type":"Stock","ts":1,"symbol":"a","n":1.5}', "'n' of type Stock should be an integer"),
        ('{"type":"Stock","ts":1,"symbol":"a","up":1}', "'up' of type Stock should be true or false"),
        ('{"type":"Stock","ts":1}', "'symbol' of type Stock is required"),
        ('{"type":"Stock","ts":1,"symbol":null}', "'symbol' of type Stock is required"),
        ('{"type":"Bond","ts":1}', "Stock, Näws"),
    ],
)
def test_given_schema_refuses(text: str, words: str) -> None:
    result = one(text, GIVEN)
    assert isinstance(result, Bad)
    assert result.reason == "schema"
    assert words in result.detail


def test_open_and_closed_schemas() -> None:
    text = '{"type":"Stock","ts":1,"symbol":"a","extra":1,"seq":"of another type"}'
    decoded = check([text.encode()], GIVEN)
    assert outcome(decoded, 0) == Event("Stock", 1, {"symbol": "a"})
    assert decoded.unknown_attributes == 2
    assert reason(text, CLOSED) == "schema"


def test_watermarks() -> None:
    assert one('{"type":"$watermark","ts":9}') == Mark(9, end=False)
    assert one('{"type":"$watermark","ts":"1970-01-01T00:00:01Z","end":true}', CLOSED) == Mark(1000, end=True)
    assert reason('{"type":"$watermark"}', time=4) == "no-ts"
    assert reason('{"type":"$watermark","ts":1,"end":1}') == "schema"


def test_lines() -> None:
    data = b'{"type":"Stock","ts":1}\r\n\n  \r\n{"type":"Stock","ts":2}\n \t\nno\n{"type":"Stock","ts":3}'
    batch = batch_of_lines(data)
    assert [batch.value(row) for row in range(len(batch))][2:] == [b"no", b'{"type":"Stock","ts":3}']
    decoded = Decoder(INFERRED).decode(batch)
    assert decoded.ts.tolist() == [1, 2, 3]
    assert [bad.row for bad in decoded.bad] == [2]
    assert len(batch_of_lines(b"")) == 0


def test_many_strings_grow_the_dictionary() -> None:
    values = [f'{{"type":"T{i % 7}","ts":{i},"symbol":"s{i % 5000}","time":"s{i}"}}'.encode() for i in range(12_000)]
    decoded = Decoder(INFERRED).decode(batch_of_values(values))
    assert column_values(decoded.attributes["symbol"]) == [f"s{i % 5000}" for i in range(12_000)]
    assert column_values(decoded.attributes["time"]) == [f"s{i}" for i in range(12_000)]
    assert column_values(decoded.type) == [f"T{i % 7}" for i in range(12_000)]


def test_more_than_64_attributes() -> None:
    kinds = {f"a{i}": Kind.INT for i in range(150)}
    schema = Schema(kinds, {"T": tuple(kinds)}, {"T": frozenset({"a149"})}, closed=True, given=True)
    whole = json.dumps({"type": "T", "ts": 1, **{name: i for i, name in enumerate(kinds)}}).encode()
    assert outcome(check([whole], schema), 0) == Event("T", 1, {name: i for i, name in enumerate(kinds)})
    assert reason('{"type":"T","ts":1,"a0":1}', schema) == "schema"
    assert reason('{"type":"T","ts":1,"a149":1,"a149":null}', schema) == "schema"


def test_batch_parts_share_the_buffer() -> None:
    batch = batch_of_values([b'{"type":"Stock","ts":1}', None, b'{"type":"Stock","ts":3}'])
    part = batch.part(1, 3)
    assert isinstance(part, RawBatch)
    decoded = Decoder(INFERRED).decode(part)
    assert decoded.ts.tolist() == [3]
    assert decoded.bad[0].reason == "not-json"


# ---------------------------------------------------------------- random events

NAMES = ["type", "ts", "symbol", "price", "n", "up", "seq", "time", "other", "pri\\u0063e", "ünknown", ""]
NUMBERS = [
    "0",
    "-0",
    "-0.0",
    "1",
    "-17",
    "3.25",
    "0.1",
    "46.83",
    "1e5",
    "1E-7",
    "7.0",
    "1e2",
    "0e7",
    "-0e1",
    "00",
    "1.",
]
NUMBERS += ["-", "1e", "123456789012345678", "1234567890123456789", "9223372036854775807", "-9223372036854775808"]
NUMBERS += ["18446744073709551616", "0.30000000000000004", "5e-324", "1.7976931348623157e308", "1e400", "12e-25"]
NUMBERS += ["2.2250738585072011e-308", "9007199254740993", "9007199254740993.0", "0.000001234567890123456", "123.7e22"]
STRINGS = ['"Stock"', '"Näws"', '"IBM"', '"$watermark"', '"$x"', '""', '"a\\nb"', '"日本"', '"\\ud83d\\ude00"', '"x y"']
STRINGS += ['"\\ud800"', '"1970-01-01T00:00:05Z"', '"' + "long" * 40 + '"']
OTHERS = ["null", "true", "false", "nul", "[1]", "{}", "NaN", "Infinity", "truee", '[1, "a"]', "[1,]", '{"x":1}']


def random_event(rng: random.Random) -> bytes:
    blank = rng.choice(["", "", "", " ", "\t", "\n "])
    fields = []
    if rng.random() < 0.95:
        fields.append(f'"type"{blank}:{rng.choice(STRINGS[:2] if rng.random() < 0.9 else STRINGS)}')
    if rng.random() < 0.95:
        fields.append(f'"ts":{blank}{rng.choice(["1700000000000", "5", rng.choice(NUMBERS), rng.choice(STRINGS)])}')
    for _ in range(rng.randrange(6)):
        pool = rng.choice([NUMBERS, NUMBERS, STRINGS, OTHERS])
        fields.append(f'"{rng.choice(NAMES)}":{blank}{rng.choice(pool)}{blank}')
    if rng.random() < 0.5:
        rng.shuffle(fields)
    return f"{blank}{{{blank}{f',{blank}'.join(fields)}}}{blank}".encode()


def mutated(value: bytes, rng: random.Random) -> bytes:
    data = bytearray(value)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(data) + 1)
        action = rng.randrange(3)
        if action == 0 and at < len(data):
            del data[at]
        elif action == 1:
            data.insert(at, rng.choice(b'{}[]",:\\ \x00\x1f\x7f\x80\xc3\xff0123456789.eE+-tfn'))
        elif at < len(data):
            data[at] = rng.randrange(256)
    return bytes(data)


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("timed", [False, True])
def test_scanner_agrees_with_the_exact_path(name: str, timed: bool) -> None:
    rng = random.Random(f"{name}{timed}")
    for _ in range(60):
        values = [random_event(rng) for _ in range(200)]
        values = [mutated(value, rng) if rng.random() < 0.3 else value for value in values]
        times = [rng.choice([-1, 0, 10, 1700000000000]) for _ in values] if timed else None
        check(values, SCHEMAS[name], times)


def test_floats_are_exact() -> None:
    rng = random.Random(7)
    texts = [repr(rng.choice([rng.random(), rng.gauss(0, 1e6), rng.uniform(0, 1) * 10.0 ** rng.randrange(-300, 300)]))
             for _ in range(2000)]  # fmt: skip
    texts += [f"{rng.randrange(10 ** rng.randrange(1, 19))}e{rng.randrange(-30, 30)}" for _ in range(2000)]
    texts += [f"{rng.randrange(10**6)}.{rng.randrange(10**12):012d}" for _ in range(2000)]
    values = [f'{{"type":"Stock","ts":1,"price":{text}}}'.encode() for text in texts]
    decoded = Decoder(INFERRED).decode(batch_of_values(values))
    held = [number if (number := number_of_text(text)) is None or float(number) == number else None for text in texts]
    assert column_values(decoded.attributes["price"]) == held
