"""Dead letters: what they carry, and that none is sent twice."""

from __future__ import annotations

from saffron.engine.windows import WindowingOperator
from tests.unit.engine.windows.records import SCHEMA, batch, resumed


def test_dead_letters_carry_the_original() -> None:
    operator = WindowingOperator(0, "events", SCHEMA, disorder_ms=2)
    operator.ingest(
        batch('{"type":"A","ts":10}', "no", '{"type":"A","ts":7}', '{"type":"A","ts":8}', times=[1, 2, 3, 4])
    )
    letters = operator.take_dead_letters()
    assert [(letter.offset, letter.timestamp, letter.reason, letter.value) for letter in letters] == [
        (1, 2, "not-json", b"no"),
        (2, 3, "late", b'{"type":"A","ts":7}'),
    ]
    assert letters[1].detail == "ts 7 is below 8, the watermark when it arrived"
    assert operator.take_dead_letters() == []
    statistics = operator.statistics()
    assert (statistics["events"], statistics["late"], statistics["bad"], statistics["held"]) == (
        1,
        1,
        {"not-json": 1},
        1,
    )


def test_dead_letters_of_what_an_earlier_owner_has_seen_are_not_sent_again() -> None:
    operator = WindowingOperator(0, "events", SCHEMA, disorder_ms=5)
    records = batch('{"type":"A","ts":10}', '{"type":"A","ts":20}', "no", '{"type":"A","ts":7}', '{"type":"A","ts":19}')
    operator.ingest(records)
    assert [letter.offset for letter in operator.take_dead_letters()] == [2, 3]
    again = resumed(operator.flush(), schema=SCHEMA, disorder_ms=5)
    assert again.position() == 1, "what is held back is read again"
    again.ingest(records.part(1, 5))
    assert again.take_dead_letters() == []
    again.ingest(batch('{"type":"A","ts":1}', first=5))
    assert [letter.offset for letter in again.take_dead_letters()] == [5]
