"""Control records: what is written is read, by versions before and after, and what is none is told and skipped."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest
from corpus import read_records

from saffron.records.codec import FORMAT, RecordError, encode
from saffron.records.query import OPS, STARTS, QueryRecord
from saffron.records.status import QueryStatus
from saffron.records.stream import FORMATS, WITH_REGISTRY, AppliedDefinition, StreamRecord, stem_of
from saffron.records.table import Applied, KeyedRecords, Unreadable, query_table, status_table, stream_table
from tests.contracts.test_corpus import CORPORA
from tests.contracts.test_schemas import validator

SEEDS = range(100)
LATER: tuple[dict[str, Any], ...] = ({}, {"later": -7}, {"later": [], "newer": "x"})


def a_stream(draw: random.Random) -> StreamRecord:
    form = draw.choice(FORMATS)
    return StreamRecord(
        name=draw.choice(("s", "a-b_C9")),
        topic=draw.choice(("t", "p.x-1")),
        key=draw.choice((None, "k", "käse")),
        schema=draw.choice((None, {"type": "object"})),
        disorder=draw.choice((None, 0, 9)),
        idle=draw.choice((None, 1, 9)),
        source=draw.choice((None, "other")),
        format=form,
        registry="http://r" if form in WITH_REGISTRY else None,
        generation=draw.randrange(1, 4),
        definition=draw.choice(
            (None, AppliedDefinition("stream: s", {"t": 0}, 2, draw.choice(({}, {"t": 3})), draw.choice(LATER)))
        ),
        unknown=draw.choice(LATER),
    )


def without_later(record: StreamRecord | QueryRecord) -> StreamRecord | QueryRecord:
    """The record without fields of a later version, as this version's schemas know it."""
    if isinstance(record, StreamRecord) and record.definition is not None:
        record = replace(record, definition=replace(record.definition, unknown={}))
    return replace(record, unknown={})


def a_query(draw: random.Random) -> QueryRecord:
    text = draw.choice(("PATTERN", "\n-- é\n"))
    parts = draw.choice(OPS), text, draw.choice(STARTS), draw.choice(("auto", "none")), draw.choice(LATER)
    return QueryRecord("q", draw.randrange(1, 99), *parts)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_written_is_read(seed: int) -> None:
    draw = random.Random(seed)
    for topic, record in (("streams", a_stream(draw)), ("queries", a_query(draw))):
        assert type(record).read(record.name, record.encode()) == record
        validator(topic).validate(orjson.loads(without_later(record).encode()))


@pytest.mark.parametrize("partition", [None, 3])
def test_a_status_is_read_as_it_was_written(partition: int | None) -> None:
    status = QueryStatus("q", 2, "windowing", "s", partition, "waiting", "for it", None, {"kinds": {}}, "0" * 16)
    assert QueryStatus.read(status.key, status.encode()) == status
    ended = QueryStatus("q", 2, "windowing", "s", partition, "ended", "no stream")
    validator("query-status").validate(orjson.loads(ended.encode()))


def test_a_field_of_a_later_version_is_ignored_and_kept() -> None:
    record = StreamRecord.read("s", b'{"record": 1, "name": "s", "topic": "t", "patience": 5}')
    assert record.unknown == {"patience": 5}
    assert orjson.loads(record.encode())["patience"] == 5


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"{", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'{"record": 99, "name": "s", "topic": "t"}', "later version"),
        (b'{"record": true, "name": "s", "topic": "t"}', "number from 1 up"),
        (b'{"name": "s"}', '"topic" should be a text, and is None'),
        (b'{"name": "other", "topic": "t"}', "is not its key"),
        (b'{"topic": "t", "idle": 0}', '"idle" should be 1 or more'),
        (b'{"topic": "t", "disorder": "5s"}', '"disorder" should be a whole number'),
        (b'{"topic": "t", "disorder": true}', '"disorder" should be a whole number'),
        (b'{"topic": "t", "format": "xml"}', '"format" should be one of'),
        (b'{"topic": "t", "format": "avro"}', '"registry" is missing'),
        (b'{"topic": "t", "schema": "x"}', '"schema" should be a JSON object'),
    ],
)
def test_what_is_no_stream_says_why(value: bytes, why: str) -> None:
    with pytest.raises(RecordError, match=why):
        StreamRecord.read("s", value)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": "x"}, '"version" should be a whole number'),
        ({"version": 0}, '"version" should be 1 or more'),
        ({"version": True}, '"version" should be a whole number'),
        ({"op": "explode"}, '"op" should be add or pause or resume'),
        ({"text": None}, '"text" should be a text'),
        ({"from": "yesterday"}, '"from" should be now or earliest'),
    ],
)
def test_what_is_no_query_says_why(change: dict[str, Any], why: str) -> None:
    with pytest.raises(RecordError, match=why):
        QueryRecord.read("q", encode({"version": 1, "op": "add", "text": "PATTERN", **change}))


def test_the_format_is_in_every_record() -> None:
    assert orjson.loads(StreamRecord("s", "t").encode())["record"] == FORMAT == 1


# ---------------------------------------------------------------- the fold


def naive(messages: list[tuple[str, bytes | None]]) -> dict[str, bytes]:
    """The newest readable value of each key, by looking back from the end."""
    found = {}
    for key in {key for key, _ in messages}:
        for other, value in reversed(messages):
            if other == key and value != b"broken":
                if value is not None:
                    found[key] = value
                break
    return found


@pytest.mark.parametrize("seed", range(30))
def test_a_table_is_the_newest_record_of_each_key_however_often_it_is_read(seed: int) -> None:
    draw = random.Random(seed)
    values = [StreamRecord("s", f"t{n}").encode() for n in range(3)]
    messages = [(draw.choice("abc"), draw.choice([None, b"broken", *values])) for _ in range(40)]
    messages = [(k, v.replace(b'"name":"s"', b'"name":"%s"' % k.encode()) if v else v) for k, v in messages]
    right = naive(messages)
    table, again = stream_table("streams"), stream_table("streams")
    for offset, (key, value) in enumerate(messages):
        table.apply(key.encode(), value, offset)
    cut = draw.randrange(40)
    for offset, (key, value) in [*list(enumerate(messages))[:cut], *enumerate(messages)]:
        again.apply(key.encode(), value, offset)
    for one in (table, again):
        assert {key: row.encode() for key, row in one.rows.items()} == right
        assert one.removed == {key for key, value in dict(messages).items() if value is None}
        assert one.unreadable.keys() == {key for key, value in dict(messages).items() if value == b"broken"}
        assert one.next_offset == 40


@pytest.mark.parametrize("seed", range(30))
def test_of_records_of_one_version_the_first_is_taken(seed: int) -> None:
    """Those without a version are all taken."""
    draw, table, newest = random.Random(seed), stream_table("streams"), 0
    for offset in range(20):
        version = draw.choice([0, 1, 1, 2, 2, 3, 4])
        found = table.apply(b"s", StreamRecord("s", f"t{offset}", version=version).encode(), offset)
        right = version == 0 or version > newest
        newest = version if right else newest
        assert isinstance(found, Applied) is right
        assert table.rows["s"].version == newest


def test_a_version_counts_only_where_its_writer_gave_it() -> None:
    """Older versions of Saffron, and hands, change a record and keep the fields that they do not know."""
    value = StreamRecord("s", "t", idle=5, version=7, unknown={"later": 1}).encode()
    assert StreamRecord.read("s", value).version == 7
    changed = orjson.dumps({**orjson.loads(value), "idle": 6})
    assert (StreamRecord.read("s", changed).version, StreamRecord.read("s", changed).idle) == (0, 6)
    assert isinstance(stream_table("streams").apply(b"s", changed, 0), Applied)


def test_an_unreadable_record_leaves_the_one_before_until_it_is_healed() -> None:
    table = stream_table("p.streams")
    table.apply(b"s", StreamRecord("s", "t").encode(), 0)
    found = table.apply(b"s", b"[]", 7)
    assert str(found) == "p.streams, offset 7, key 's': the record cannot be read: it is not a JSON object"
    assert isinstance(found, Unreadable)
    assert table.rows["s"].topic == "t"
    assert isinstance(table.apply(b"s", None, 8), Applied)
    assert (table.rows, table.unreadable, table.removed) == ({}, {}, {"s"})


def test_keys_of_what_belongs_to_a_stream_are_not_streams() -> None:
    table = stream_table("streams")
    assert table.apply(b"s/schema", b"{}", 0) is None
    assert (table.rows, table.unreadable, table.next_offset) == ({}, {}, 1)


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda path: path.name)
@pytest.mark.parametrize(
    ("topic", "make"), [("streams", stream_table), ("queries", query_table), ("query-status", status_table)]
)
def test_every_record_of_earlier_versions_is_read(
    corpus: Any, topic: str, make: Callable[[str], KeyedRecords[Any]]
) -> None:
    table = make(topic)
    found = [
        table.apply(one.key, one.value, one.offset) for one in read_records(corpus) if one.topic == f"saffron.{topic}"
    ]
    assert found
    assert all(isinstance(one, Applied) for one in found)
    for key, row in table.rows.items():
        assert type(row).read(key, row.encode()) == row


def test_generations_have_names_of_their_own() -> None:
    record = StreamRecord("s", "t")
    assert (record.stem, record.of_next_generation().stem, stem_of("s", 3)) == ("s", "s.2", "s.3")
