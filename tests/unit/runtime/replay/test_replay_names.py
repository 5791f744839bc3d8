"""What `replay` says of names that the events do not have, and of events that are none."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from saffron.engine.events.decoding.infer import INFER_EVENTS
from saffron.engine.events.raw import batch_of_lines
from saffron.errors import InputError, QueryError
from saffron.runtime.replay.fused import Query
from saffron.runtime.replay.replay import Replay

EVENTS = [b'{"type":"A","ts":1,"x":1}', b'{"type":"B","ts":2,"x":2}']


def _replayed(text: str, lines: Iterable[bytes], warnings: list[str]) -> int:
    run = Replay([Query("q", text)], warn=warnings.append)
    return sum(len(merged) for merged in run.results([batch_of_lines(b"\n".join(lines) + b"\n")]))


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, Bb b) WITHIN 1 s",
        "PATTERN A a WHERE a.y = 1 WITHIN 1 s",
        "PATTERN ANY e WHERE e.y = 1 WITHIN 1 s",
        "PATTERN SEQ(ANY e, A a) WHERE [lower(y)] WITHIN 1 s",
    ],
)
def test_an_unknown_name_says_where_the_known_ones_are_from_and_the_ways_out(text: str) -> None:
    with pytest.raises(QueryError, match=r"first 2 records\. --lenient \(lenient=True\).*--schema FILE"):
        _replayed(text, EVENTS, [])


@pytest.mark.parametrize(("known", "later"), [(b'"type":"A"', b'"type":"B"'), (b'"kind":"A"', b'"type":"B"')])
def test_no_more_records_are_named_than_were_looked_at(known: bytes, later: bytes) -> None:
    """A batch may have more of them."""
    lines = [b'{%s,"ts":1}' % known] * INFER_EVENTS + [b'{%s,"ts":2}' % later]
    with pytest.raises((QueryError, InputError), match=r"first 10,000 records"):
        _replayed("PATTERN B b WITHIN 1 s", lines, [])


@pytest.mark.parametrize("condition", ["", "WHERE c.x > 1 ", "WHERE a.x < c.x "])
def test_a_type_that_never_comes_may_stand_in_a_not(condition: str) -> None:
    warnings: list[str] = []
    assert _replayed(f"PATTERN SEQ(A a, NOT C c, B b) {condition}WITHIN 1 s", EVENTS, warnings) == 1
    assert len(warnings) == 1
    assert "unknown event type 'C'" in warnings[0]
    assert "NOT of it holds" in warnings[0]


def test_records_of_which_none_is_an_event_are_told_with_the_first_reason() -> None:
    with pytest.raises(InputError, match=r"none of the first 2 records is an event.*no-type.*\n.*kind"):
        _replayed("PATTERN A a WITHIN 1 s", [b'{"kind":"A","ts":1}', b'{"kind":"A","ts":2}'], [])


@pytest.mark.parametrize("ts", [b"", b',"ts":"yesterday"'])
def test_records_whose_time_is_wrong_are_told_of_before_names_that_they_do_not_have(ts: bytes) -> None:
    events = [b'{"type":"A","x":1%s}' % ts] * 2
    for text in ("PATTERN B b WITHIN 1 s", "PATTERN A a WHERE a.y > 1 WITHIN 1 s"):
        with pytest.raises(InputError, match=r"none of the first 2 records is an event.*(no-ts|bad-ts)"):
            _replayed(text, events, [])


@pytest.mark.parametrize(
    ("first", "hint"),
    [
        (b'[{"type":"A","ts":1},', "jq -c '.[]' FILE"),
        (b"{", "jq -c . FILE"),
        (b"type;ts", ""),
    ],
)
def test_json_over_several_lines_is_told_how_to_be_events(first: bytes, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        _replayed("PATTERN A a WITHIN 1 s", [first, b"}"], [])
    said = str(caught.value)
    assert ("Each line is one event. `jq" in said) == bool(hint)
    assert hint in said
