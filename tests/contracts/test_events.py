"""The contract of `events` and the decoder accept the same, on the scanner's path and on the exact one."""

from __future__ import annotations

import json
import re
from calendar import monthrange
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

from saffron.engine.events.decoding.decode import Decoder
from saffron.engine.events.decoding.exact import decode_exactly
from saffron.engine.events.decoding.rules.outcomes import Bad
from saffron.engine.events.raw import batch_of_values
from saffron.schema.iso_times import parse_iso
from saffron.schema.schema import MAX_INSTANTS, MAX_TS, Kind, Schema

CONTRACT: dict[str, Any] = yaml.safe_load(
    (Path(__file__).resolve().parents[2] / "schemas" / "events.yaml").read_text("utf-8")
)["schema"]
KNOWN = Schema({"x": Kind.FLOAT}, {"A": ("x",)}, {"A": frozenset()}, times={"A": "uniform"})
MANY = settings(max_examples=600, deadline=None, derandomize=True)


def pattern(_: Any, given: str, instance: Any, __: Any) -> Iterator[ValidationError]:
    """As JSON Schema means it: Python's $ also matches before a last line end."""
    end = given.endswith("$") and not given.endswith("\\$")
    if isinstance(instance, str) and not re.search(given[:-1] + r"\Z" if end else given, instance):
        yield ValidationError("no match")


VALIDATOR = extend(Draft202012Validator, {"pattern": pattern})(CONTRACT)  # type: ignore[no-untyped-call]


def allowed(event: Any) -> bool:
    """By the contract; what JSON Schema cannot say, and the contract says in words, stands here."""
    if not VALIDATOR.is_valid(event):
        return False
    times = event.get("ts")
    bounds = [_ms(one) for one in (times if isinstance(times, list) else [times]) if one is not None]
    if event["type"] == "$watermark" and "source" in event and event["source"] >= event["sources"]:
        return False
    if None in bounds:
        return False
    return len(bounds) < 2 or 0 <= bounds[1] - bounds[0] < MAX_INSTANTS  # type: ignore[operator]


def _ms(time: Any) -> int | None:
    """None: of a day that there is not."""
    if not isinstance(time, str):
        return int(time)
    year, month, day = (int(part) for part in re.findall(r"^(\d{4})-?(\d\d)-?(\d\d)", time)[0])
    return parse_iso(time) if day <= monthrange(year + 400, month)[1] else None


def check(text: bytes) -> bool:
    """Whether the record is an event or a watermark; by decoder and contract alike."""
    stamp = np.array([MAX_TS], np.int64)
    decoded = Decoder(KNOWN).decode(batch_of_values([text], times=stamp))
    exact = decode_exactly(text, KNOWN, MAX_TS)
    assert bool(decoded.bad) == isinstance(exact, Bad), (text, decoded.bad, exact)
    try:
        event = orjson.loads(text)
    except orjson.JSONDecodeError:
        assert decoded.bad
        return False
    assert allowed(event) == (not decoded.bad), (text, decoded.bad)
    return not decoded.bad


def number(most: int, digits: int = 2) -> st.SearchStrategy[str]:
    """Nearly always below `most`."""
    return st.one_of(*[st.integers(0, most - 1)] * 9, st.integers(0, 10**digits - 1)).map(
        lambda one: f"{one:0{digits}d}"
    )


@st.composite
def time_texts(draw: st.DrawFn) -> str:
    """ISO 8601, and what nearly is."""
    dash, colon = draw(st.sampled_from([("-", ":")] * 4 + [("", "")] * 3 + [("-", ""), ("", ":")]))
    year = draw(st.sampled_from(["0000", "0001", "1969", "1970", "2000", "2024", "2100", "9999"]))
    text = dash.join([year, draw(number(13)), draw(number(32))])
    if draw(st.integers(0, 5)):
        text += draw(st.sampled_from("TTTt ")) + draw(number(24)) + colon + draw(number(60))
        if draw(st.booleans()):
            text += colon + draw(number(61))
            text += draw(st.sampled_from(["", "", ".", ".1", ",25", ".1234567891"]))
        text += draw(st.sampled_from(["", "", "Z", "z", "+02", "-0330", "+05:45", "-00:00", "+24", "+01:60", "Z "]))
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(text)))
        text = (
            text[:at]
            + draw(st.sampled_from(["", "0", "\n", "٣", "-", ":", " "]))
            + text[at + draw(st.integers(0, 1)) :]
        )
    return str(text)


TIMES: st.SearchStrategy[Any] = st.one_of(
    st.integers(-(2**53) - 2, 2**53 + 2),
    st.integers(-5, 5),
    time_texts(),
    st.sampled_from([None, True, 1.0, 1.5, 1e3, 2**53, -(2**53), 2**53 + 1, 2**63, 2**64, 10**30, "", {}, "1", 1e300]),
)
INTERVALS = st.lists(TIMES, max_size=3) | st.integers(-10, 10).flatmap(
    lambda low: st.sampled_from([0, 1, -1, 999_999, 1_000_000]).map(lambda length: [low, low + length])
)
TYPES = st.sampled_from(["A", "A", "B", "", "$", "$watermark", "$watermark", "$pageview", "ä", 5, None, ["A"]])
VALUES = st.sampled_from([0, 1, 2, 1.0, -1, 0.5, True, False, None, "x", "", [], {}, "ü"])
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "type": TYPES,
        "ts": TIMES | TIMES | INTERVALS,
        "x": VALUES,
        "": VALUES,
        "end": VALUES,
        "source": VALUES,
        "sources": VALUES,
        "silent": VALUES,
    },
)


@MANY
@given(time_texts())
def test_times(text: str) -> None:
    check(json.dumps({"type": "A", "ts": text}).encode())


@MANY
@given(EVENTS, st.booleans(), st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")]))
def test_events(event: dict[str, Any], escaped: bool, signs: tuple[str, str]) -> None:
    check(json.dumps(event, ensure_ascii=escaped, separators=signs).encode())


@MANY
@given(st.sampled_from([{"type": "A", "ts": 5, "x": "a"}, {"type": "$watermark", "ts": 7, "end": True}]), st.data())
def test_broken_texts(event: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(event)
    at = data.draw(st.integers(0, len(text)))
    piece = data.draw(st.sampled_from(["", '"', "\\", "\\u0041", "\\ud800", ",", "0", "[", "1e5", "\x00", "null", "-"]))
    check((text[:at] + piece + text[at + data.draw(st.integers(0, 3)) :]).encode())


def test_watermarks_of_all_sorts() -> None:
    words: list[dict[str, Any]] = [{}, {"end": True}, {"end": None}, {"silent": True}, {"x": 1}, {"sources": 2}]
    words += [{"source": one, "sources": 2.0, **more} for one in (0, 1, 2, 1.0) for more in ({}, {"silent": True})]
    found = [
        check(json.dumps({"type": "$watermark", **ts, **word}).encode())
        for word in words
        for ts in ({}, {"ts": 5}, {"ts": "2026-05-01"}, {"ts": None}, {"ts": [1, 2]})
    ]
    assert any(found)
    assert not all(found)


def test_what_the_contract_takes_by_example() -> None:
    taken = ["2016-12-31T23:59:60Z", "2024-03-10T02:30:00.1234567891Z", "2024-03-10 02:30:00+00", "20260501T120000Z"]
    assert all(check(json.dumps({"type": "A", "ts": text}).encode()) for text in taken)
    assert parse_iso(taken[0]) == parse_iso("2017-01-01T00:00:00Z")
    refused = ["2026-05-01T24:00:00Z", "2026-02-29", "20260501", "2026-05-01T120000Z", "2026-W18-5", "2026-05-01\n"]
    assert not any(check(json.dumps({"type": "A", "ts": text}).encode()) for text in refused)
