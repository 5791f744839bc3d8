from __future__ import annotations

import pytest

from saffron.runtime.dead_letters.letters import SENT_AGAIN, Letter, gather
from saffron.runtime.dead_letters.showing import hex_lines, place, shown
from saffron.runtime.dead_letters.writing import letter_message
from saffron.runtime.log import Record
from saffron.runtime.streams.places import Place


def letter(value: bytes | None, reason: str = "not-json", detail: str = "not JSON: oh") -> Letter:
    return Letter("t", 0, 1, 2, reason, detail, value, 3)


@pytest.mark.parametrize(
    ("value", "reason", "detail", "marked"),
    [
        (b"{broken", "not-json", "not JSON: oh", "b"),
        (b'{"a": 1,\n "b" 2}', "not-json", "not JSON: oh", "2"),
        (b'{"type": "S", "price": "12", "x": 1}', "schema", "attribute 'price' of type S should be", '"price": "12"'),
        (b'{"ts":"yesterday"}', "bad-ts", 'ts "yesterday" is not ISO 8601', '"ts":"yesterday"'),
        (b'{"ts": 5, "x": [1]}', "schema", "attribute 'x' of type S should be a number, and is [1]", '"x": [1'),
        (b'{"ts": 5}', "late", "ts 5 is below 9, the watermark when it arrived", '"ts": 5'),
        ('{"näme": "\\"", "y": tru}'.encode(), "schema", "attribute 'näme' of type S", '"näme": "\\""'),
    ],
)
def test_carets_stand_under_what_is_wrong(value: bytes, reason: str, detail: str, marked: str) -> None:
    head, line, carets = shown(letter(value, reason, detail)).split("\n")
    assert head == f"{reason}: {detail}"
    start = carets.index("^")
    assert line[start : start + carets.count("^")] == marked
    found = place(letter(value, reason, detail))
    assert found is not None
    assert value.decode()[found["start"] : found["end"]] == marked


def test_where_no_place_can_be_named_the_whole_is_shown() -> None:
    assert shown(letter(b"[1]", "not-an-object", "an event is a JSON object")) == (
        "not-an-object: an event is a JSON object\n[1]"
    )
    assert shown(letter(b"", detail="the message is empty")) == "not-json: the message is empty"
    assert shown(letter(None)) == "not-json: not JSON: oh"
    assert shown(letter(b'{"a": 1}', "schema", "attribute 'b' is required")).endswith('\n{"a": 1}')


def test_of_a_long_line_only_what_is_around_is_shown() -> None:
    value = b'{"a": "' + b"x" * 500 + b'", "price": "12", "z": "' + b"y" * 500 + b'"}'
    _, line, carets = shown(letter(value, "schema", "attribute 'price' of type S")).split("\n")
    assert len(line) < 220
    assert line[carets.index("^") :].startswith('"price": "12"')


def test_bytes_that_are_no_text_have_a_place_too() -> None:
    assert place(letter(b'{"a":\n "\xff"}')) == {"start": 8, "end": 9, "line": 2, "column": 3}


def test_hex_shows_offsets_bytes_and_characters() -> None:
    rows = hex_lines(b'{"a": "\xff\n"}' + b"0123456789").split("\n")
    assert rows[0] == '00000000  7b 22 61 22 3a 20 22 ff 0a 22 7d 30 31 32 33 34  {"a": ".."}01234'
    assert rows[1] == "00000010  " + "35 36 37 38 39".ljust(48) + " 56789"
    assert hex_lines(bytes(5000)).endswith("… 904 bytes more")


@pytest.mark.parametrize("value", [b"\0" * 5_000_000, "\x01ü".encode() * 900_000, b"\xff" * 4_000_000])
def test_a_value_too_long_for_the_topic_is_cut_and_said_to_be(value: bytes) -> None:
    found = letter_message("letters", 3, Place("t", 1, 7), 5, "too-large", "it is long", value)
    assert len(found.value) < 4_000_000
    (read,) = gather([Record("letters", 1, 0, 9, found.key, found.value)])
    assert read.detail == f"it is long (here are 65,536 of {len(value):,} bytes)"
    assert value.startswith(read.value or b"?")


@pytest.mark.parametrize("value", [b"{}", b"\xff" * 4_000_000])
def test_a_sentence_too_long_for_the_topic_is_cut(value: bytes) -> None:
    found = letter_message("letters", 3, Place("t", 1, 7), 5, "schema", "it is " + "\x7f" * 4_500_000, value)
    assert len(found.value) < 4_000_000
    (read,) = gather([Record("letters", 1, 0, 9, found.key, found.value)])
    assert read.detail.startswith("it is \x7f\x7f")
    assert ("(here are 65,536 of" in read.detail) == (len(value) > 65_536)


def test_letters_of_a_topic_that_was_made_anew_are_others() -> None:
    first, second = (
        letter_message("letters", 1, Place("t", 0, 0), time, "not-json", "oh", text)
        for time, text in ((5, b"old"), (70, b"new"))
    )
    copy = Record("letters", 0, 2, 80, second.key, second.value, ((SENT_AGAIN, b"done"),))
    records = [Record("letters", 0, at, 9, one.key, one.value) for at, one in enumerate((first, second))]
    old, new = gather([*records, copy])
    assert (old.value, old.attempts) == (b"old", ())
    assert new.value == b"new"
    assert len(new.attempts) == 1
