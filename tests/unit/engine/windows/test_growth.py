"""A schema that grows while events come: the same values whatever is known from the start, however batches are cut."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.codec import decode_block, encode_block
from saffron.engine.events.column_operations import column_values
from saffron.engine.events.decoding.growth import MAX_ATTRIBUTES, MAX_BYTES, grown, joined, knows
from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.events.schema_record import schema_from_record, schema_to_record
from saffron.engine.windows import WindowingOperator
from saffron.errors import SchemaError
from saffron.records.query import ADD, QueryRecord
from saffron.records.stream import StreamRecord
from saffron.records.version import VersionRecord
from saffron.schema.origin import ORDER
from saffron.schema.schema import END_OF_TIME, Distribution, Kind, Schema

Event = dict[str, Any]
NOTHING = Schema({}, {}, {})

VALUES: dict[str, list[Any]] = {
    "price": [1, 2, 3, 1.5],
    "count": [3, -1, 2**53 + 1],
    "both": [*range(20), 0.5, 2**60 + 1],
    "name": ["x", "y"],
    "flag": [True, False],
    "é": [2],
}


def random_events(rng: random.Random, n: int) -> list[Event]:
    """Types and attributes that appear at random, each with a chance of its own."""
    chance = {name: rng.choice([0.01, 0.2, 0.9]) for name in VALUES}
    found = []
    for at in range(n):
        event: Event = {"type": rng.choices("ABC", [100, 10, 1])[0], "ts": at + rng.randrange(-3, 4)}
        for name, values in VALUES.items():
            if rng.random() < chance[name]:
                event[name] = None if rng.random() < 0.3 else rng.choice(values)
        found.append(event)
    return found


def batch(events: list[Event], first: int) -> RawBatch:
    offsets = np.arange(first, first + len(events), dtype=np.int64)
    return batch_of_values([json.dumps(event, ensure_ascii=False).encode() for event in events], offsets)


def rows(blocks: list[Block]) -> list[Event]:
    """The events of the blocks, without what is null; checks that each block is by the schema in force there."""
    found: list[Event] = []
    schema: Schema | None = None
    for block in blocks:
        for control in block.controls:
            if control.kind == "schema":
                assert control.position == block.first_seq, "a version begins a block"
                schema = schema_from_record(control.body["schema"])
        if not len(block.columns):
            continue
        assert schema is not None
        kinds = {name: kind.column for name, kind in schema.kinds.items()}
        assert {name: column.kind for name, column in block.columns.attributes.items()} == kinds
        columns = {name: column_values(column) for name, column in block.columns.attributes.items()}
        types = column_values(block.columns.type)
        for at, ts in enumerate(block.columns.ts.tolist()):
            own = {name: values[at] for name, values in columns.items() if values[at] is not None}
            assert own.keys() <= set(schema.types[str(types[at])]), "each type has what its events have"
            found.append({"type": types[at], "ts": ts, **own})
    return found


def expected(events: list[Event]) -> list[Event]:
    """In order, without what is null."""
    ordered = sorted(events, key=lambda event: event["ts"])
    return [{name: value for name, value in event.items() if value is not None} for event in ordered]


class Run:
    """One owner after another over the same events; `asks`: versions come through a shell that knows more, too."""

    def __init__(self, rng: random.Random, events: list[Event], *, asks: bool) -> None:
        self.rng, self.events, self.asks = rng, events, asks
        self.blocks: list[Block] = []
        self.announced = Schema({}, {}, {})
        self.query: str | None = None
        self.reported: str | None = None

    def go(self, *, dies: bool) -> None:
        operator = WindowingOperator(
            0, "events", disorder_ms=10, max_block_events=self.rng.choice([1, 7, 4096]), infer_events=1, asks=self.asks
        )
        for block in self.blocks:
            operator.resume(block)
        if self.query is not None:
            operator.query("q", QueryRecord("q", 1, ADD, self.query))
        at = operator.position()
        stop = self.rng.randrange(at, len(self.events) + 1) if dies else len(self.events)
        while at < stop:
            size = min(self.rng.choice([1, 3, 20, 100]), stop - at)
            operator.ingest(batch(self.events[at : at + size], at))
            self.bring(operator)
            at += size
            if self.rng.random() < 0.3:
                self.flush(operator)
        if not dies:
            operator.advance_watermark(END_OF_TIME, end=True)
            self.flush(operator)
            self.reported = operator.reported("q")
        elif self.blocks:
            del self.blocks[self.rng.randrange(len(self.blocks)) + 1 :]

    def bring(self, operator: WindowingOperator) -> None:
        while (wanted := operator.lacking) is not None:
            if self.rng.random() < 0.3:  # another partition has found something else
                self.announced = joined(self.announced, grown(self.announced, self.rng.sample(self.events, 2)))
            self.announced = joined(self.announced, wanted)
            operator.adopt(joined(operator.schema or self.announced, self.announced))

    def flush(self, operator: WindowingOperator) -> None:
        self.blocks += [decode_block(encode_block(block)) for block in operator.flush()]


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_no_value_is_lost_however_batches_are_cut_and_owners_die(seed: int, asks: bool) -> None:
    rng = random.Random(seed)
    events = random_events(rng, 300)
    run = Run(rng, events, asks=asks)
    for _ in range(rng.randrange(4)):
        run.go(dies=True)
    run.go(dies=False)
    assert rows(run.blocks) == expected(events)


@pytest.mark.parametrize("seed", range(30))
def test_a_query_is_bound_to_what_is_known_whoever_died_meanwhile(seed: int) -> None:
    rng = random.Random(seed)
    events = random_events(rng, 300)
    run = Run(rng, events, asks=rng.random() < 0.5)
    run.query = "PATTERN SEQ(A a, C c) WITHIN 10 ms OPEN ON A o WHERE o.price > 1 AND o.name = 'x'"
    for _ in range(rng.randrange(4)):
        run.go(dies=True)
    run.go(dies=False)
    at = range(len(events))
    wanted = [n for n, one in zip(at, expected(events), strict=True) if one["type"] == "A" and one.get("name") == "x"]
    found = [position for block in run.blocks for position in block.opened.get("q", ())]
    assert found == [n for n in wanted if expected(events)[n].get("price", 0) > 1]
    assert ("event type 'C'" in (run.reported or "")) == all(one["type"] != "C" for one in events)


def some_times(rng: random.Random) -> Schema:
    """A version in which some types have times [lo, hi]."""
    return Schema({}, {}, {}, times=dict.fromkeys(rng.sample("ABC", rng.randrange(3)), "uniform"))


@pytest.mark.parametrize("seed", range(30))
def test_versions_join_whatever_is_found_first(seed: int) -> None:
    rng = random.Random(seed)
    parts = [grown(some_times(rng), random_events(rng, rng.randrange(1, 40))) for _ in range(3)]
    a, b, c = parts

    def content(schema: Schema) -> tuple[dict[str, Kind], dict[str, set[str]], dict[str, Distribution]]:
        return dict(schema.kinds), {name: set(own) for name, own in schema.types.items()}, dict(schema.times)

    assert content(joined(a, b)) == content(joined(b, a))
    assert content(joined(joined(a, b), c)) == content(joined(a, joined(b, c)))
    assert joined(a, a) is a
    whole = joined(joined(a, b), c)
    assert all(knows(whole, part) for part in parts)
    assert list(whole.kinds)[: len(a.kinds)] == list(a.kinds), "what was there keeps its place"


def test_a_value_that_does_not_fit_is_null_and_counted_by_attribute() -> None:
    operator = WindowingOperator(0, "events", infer_events=1)
    values = [1, "two", 3, "four", True]
    operator.ingest(batch([{"type": "A", "ts": at, "x": value} for at, value in enumerate(values)], 0))
    assert operator.statistics()["mistyped_attributes"] == {"x": 3}
    assert operator.statistics()["mistyped"] == 3
    operator.configure(StreamRecord("events", "t", schema=given({"A": {"x": "number"}})))
    assert operator.statistics()["mistyped_attributes"] == {}, "the schema says what is right, as doctor asked for"
    assert operator.statistics()["mistyped"] == 3


@pytest.mark.parametrize(("each", "first"), [(50, 1), (50, 21), (MAX_ATTRIBUTES + 2, 1)])
def test_attributes_beyond_the_limit_are_left_out_and_counted(each: int, first: int) -> None:
    """Whether they come with the first events, by which the schema is inferred, or later."""
    operator = WindowingOperator(0, "events", infer_events=first)
    names = [f"a{number}" for number in range(MAX_ATTRIBUTES + 2)]
    for at in range(0, len(names), each):
        operator.ingest(batch([{"type": "A", "ts": at, **dict.fromkeys(names[at : at + each], 1)}], at))
    assert operator.schema is not None
    assert list(operator.schema.kinds) == names[:MAX_ATTRIBUTES]
    assert operator.statistics()["left_out"] == 2
    more: dict[str, dict[str, str]] = {f"T{number}": {} for number in range(MAX_ATTRIBUTES + 1)}
    operator.configure(StreamRecord("events", "t", schema=given({"A": {names[-1]: "integer"}, **more})))
    operator.ingest(batch([{"type": "A", "ts": 10_000, names[-1]: 7}, {"type": "T1000", "ts": 10_001}], 10_000))
    operator.advance_watermark(END_OF_TIME)
    assert rows(operator.flush())[-2:] == [
        {"type": "A", "ts": 10_000, names[-1]: 7},
        {"type": "T1000", "ts": 10_001},
    ], "a schema names those that queries need, as the notice of those that were left out says"


@pytest.mark.parametrize("seed", range(6))
def test_a_version_fits_its_topic_whatever_the_names_are(seed: int) -> None:
    """And versions at the limit still come to one that all know, as they are written after each other."""
    rng = random.Random(seed)
    parts = [grown(NOTHING, wide_events(rng)) for _ in range(3)]
    whole = joined(joined(parts[0], parts[1]), parts[2])
    both = joined(parts[0], parts[1])
    assert joined(both, parts[1]) is both
    for version in (*parts, whole):
        size = len(VersionRecord("s" * 200, 10**9, schema_to_record(version)).encode())
        assert MAX_BYTES // 2 < size < 1_048_000
        assert version.types
        assert all(name in version.kinds for names in version.types.values() for name in names)
        assert [one.kinds for one in (version, schema_from_record(schema_to_record(version)))] == [version.kinds] * 2
    assert all(knows(whole, part) for part in parts)


def wide_events(rng: random.Random) -> list[Event]:
    """Events of many types with many attributes, or with long names: more than one record has room for."""
    types, attributes, length = rng.choice([(300, 150, 25), (30, 990, 40), (1, 990, 999), (40, 150, 200)])
    character = rng.choice(["n", "é", "\x01", '"'])
    names = [f"{rng.randrange(10**6)}".ljust(length, character) for _ in range(attributes)]
    return [{"type": f"T{rng.randrange(10**6)}", "ts": at, **dict.fromkeys(names, 1)} for at in range(types)]


def test_values_of_names_that_have_no_room_are_counted() -> None:
    operator = WindowingOperator(0, "events", infer_events=1)
    wide = {f"a{number}".ljust(999, "n"): 1 for number in range(990)}
    for at, kind in enumerate(("A", "B")):
        operator.ingest(batch([{"type": kind, "ts": at, **wide}], at))
    assert operator.schema is not None
    assert operator.statistics()["left_out"] == 2 * (990 - len(operator.schema.kinds)) > 1_000
    assert operator.schema.attributes_of("A") == operator.schema.attributes_of("B") == tuple(operator.schema.kinds)


def test_what_merged_events_are_ordered_by_is_never_left_out() -> None:
    event = {"type": "A", "ts": 1, **dict.fromkeys([f"a{number}" for number in range(MAX_ATTRIBUTES)], 1)}
    origin = dict.fromkeys(ORDER, 7)
    for found in (
        infer_schema([batch([{**event, **origin}], 0)]),
        grown(grown(NOTHING, [event]), [{**event, **origin}]),
    ):
        assert list(found.kinds)[MAX_ATTRIBUTES:] == list(ORDER)


def given(types: dict[str, dict[str, str]], *, required: tuple[str, ...] = ()) -> dict[str, Any]:
    """A JSON Schema."""
    branches = [
        {
            "type": "object",
            "properties": {"type": {"const": name}, **{one: {"type": kind} for one, kind in attributes.items()}},
            "required": [one for one in required if one in attributes],
        }
        for name, attributes in types.items()
    ]
    return {"oneOf": branches}


def test_a_schema_given_anew_is_in_force_from_there_on_with_what_there_was() -> None:
    operator = WindowingOperator(0, "events", infer_events=1)
    operator.ingest(batch([{"type": "A", "ts": 1, "x": 1, "old": "o"}], 0))
    document = given({"A": {"x": "number", "y": "string"}, "B": {"z": "boolean"}}, required=("x",))
    operator.configure(StreamRecord("events", "t", schema=document))
    later: list[Event] = [{"type": "A", "ts": 2, "x": 1.5, "y": "y", "old": "p"}, {"type": "A", "ts": 3, "y": "y"}]
    operator.ingest(batch([*later, {"type": "B", "ts": 4, "z": True}, {"type": "C", "ts": 5}], 1))
    operator.advance_watermark(END_OF_TIME)
    first, *others = operator.flush()
    assert rows([first, *others]) == [
        {"type": "A", "ts": 1, "x": 1, "old": "o"},
        later[0],
        {"type": "B", "ts": 4, "z": True},
    ]
    assert first.columns.attributes.keys() == {"x", "old"}
    assert [letter.offset for letter in operator.take_dead_letters()] == [2, 4]
    operator.configure(StreamRecord("events", "t", schema=document))
    assert operator.flush() == [], "the same again says nothing"


@pytest.mark.parametrize("ts", [1, [1, 5]], ids=["exact", "interval"])
@pytest.mark.parametrize("intervals", [False, True])
def test_a_given_schema_does_not_change_whether_times_are_exact_in_a_partition(ts: Any, intervals: bool) -> None:
    """Another partition, which has what this one lacks, makes no difference."""
    operator = WindowingOperator(0, "events", infer_events=1)
    operator.ingest(batch([{"type": "A", "ts": ts, "x": 1}], 0))
    known = Schema({"x": Kind.INT, "y": Kind.INT}, {"A": ("x", "y"), "B": ("x",)}, {}, times={"A": "uniform"})
    document = given({"A": {"x": "integer"}})
    document["oneOf"][0]["properties"]["ts"] = {"type": ["integer", "array"] if intervals else "integer"}
    before = operator.schema
    assert before is not None
    if intervals is (ts == 1):
        with pytest.raises(SchemaError, match="has times"):
            operator.configure(StreamRecord("events", "t", schema=document), known)
        assert operator.schema is before
    else:
        operator.configure(StreamRecord("events", "t", schema=document), known)
        assert operator.schema is not None
        assert operator.schema.given
        assert (operator.schema.times, list(operator.schema.types)) == (before.times, ["A", "B"])
        operator.flush()
        operator.configure(StreamRecord("events", "t", schema=document), known)
        assert operator.flush() == [], "the same again says nothing"


def test_a_given_schema_holds_for_a_topic_that_was_made_anew_while_events_from_before_it_were_held() -> None:
    first = WindowingOperator(0, "events", infer_events=1, disorder_ms=1_000)
    first.ingest(batch([{"type": "A", "ts": 1, "x": 1}, {"type": "A", "ts": 500, "x": 2}], 0))
    blocks = first.flush()
    first.configure(StreamRecord("events", "t", schema=given({"A": {"x": "integer"}}, required=("x",))))
    first.ingest(batch([{"type": "A", "ts": 600, "x": 3}], 2))
    blocks += first.flush()
    second = WindowingOperator(0, "events", infer_events=1, disorder_ms=1_000)
    for block in blocks:
        second.resume(block)
    second.begin_anew(0)
    second.ingest(batch([{"type": "A", "ts": 2_000}, {"type": "A", "ts": 2_001, "x": "no"}], 0))
    assert [letter.reason for letter in second.take_dead_letters()] == ["schema", "schema"]


def test_a_schema_that_does_not_go_with_the_one_in_force_is_refused() -> None:
    operator = WindowingOperator(0, "events", infer_events=1)
    operator.ingest(batch([{"type": "A", "ts": 1, "x": 1}], 0))
    with pytest.raises(SchemaError, match=r"'x' is int in the schema in force, and string.*another name"):
        operator.configure(StreamRecord("events", "t", schema=given({"A": {"x": "string"}})))
    assert operator.schema is not None
    assert not operator.schema.given


LATE = [{"type": "A", "ts": 1}, {"type": "A", "ts": 2, "x": 5, "$in:t:x": True}, {"type": "B", "ts": 3, "x": 7}]
READS = "PATTERN SEQ(A a, A b) WHERE b.x > 1 WITHIN 9 s"


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(
    ("text", "start", "said"),
    [
        (READS, "earliest", "known only from these positions on, and null or unseen before: attribute 'x' from 1"),
        (READS.replace("A b", "B b"), "earliest", "attribute 'x' from 1, event type 'B' from 2"),
        (READS.replace("> 1", "IN t"), "earliest", "attribute 'x IN t' from 1"),
        (READS, "now", None),
        ("PATTERN SEQ(A a, A b) WITHIN 9 s", "earliest", None),
    ],
)
def test_a_query_of_the_past_says_from_where_on_its_names_are_known(
    text: str, start: str, said: str | None, restarts: bool
) -> None:
    operator = WindowingOperator(0, "events", infer_events=1, checkpoint_every=1)
    blocks: list[Block] = []
    for at, event in enumerate(LATE):
        operator.ingest(batch([event], at))
        operator.advance_watermark(at + 2)
        blocks += operator.flush()
    if restarts:
        operator = WindowingOperator(0, "events", infer_events=1, checkpoint_every=1)
        for block in blocks[-1:]:
            operator.resume(block)
    operator.query("q", QueryRecord("q", 1, ADD, text, start))
    (notice,) = operator.take_notices()
    assert notice.state == "active"
    assert notice.reason == said or (said is not None and said in str(notice.reason))


def test_names_that_come_before_the_first_event_are_known_from_the_beginning() -> None:
    operator = WindowingOperator(0, "events", infer_events=1, disorder_ms=100)
    for at, event in enumerate(LATE):
        operator.ingest(batch([event], at))  # versions of the schema, while all events are held back
        operator.flush()
    operator.query("q", QueryRecord("q", 1, ADD, READS.replace("A b", "B b"), "earliest"))
    (notice,) = operator.take_notices()
    assert (notice.state, notice.reason) == ("active", None)
