"""The desk on a log in memory: lists, finds, mends, and never sends twice by mistake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from saffron.errors import InputError
from saffron.records.stream import StreamRecord
from saffron.runtime.dead_letters.correction import Correction
from saffron.runtime.dead_letters.letters import Attempt
from saffron.runtime.dead_letters.reading import DeadLetters, LetterFilter
from saffron.runtime.dead_letters.sending import ORIGIN, ResendRefusedError, Sender, Sending, Sources
from saffron.runtime.log import Record, TopicPartition
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.log.topics import Topics, topic_specs
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import Killed, MemoryLog
from tests.unit.runtime.written import write_block, write_letter, write_result_letter

TOPICS = Topics("p.")
SCHEMA = {
    "type": "object",
    "required": ["price"],
    "properties": {"type": {"const": "Stock"}, "symbol": {"type": "string"}, "price": {"type": "number"}},
}
MISTYPED = b'{"type": "Stock", "ts": 9000, "symbol": "IBM", "price": "12"}'
DETAIL = "attribute 'price' of type Stock should be a number, and is \"12\""
HOUR = 3_600_000
AS_IT_WAS = Correction()


class World:
    """A broker whose clock a test moves, and the desk of a stream that is keyed by symbol and has a schema."""

    def __init__(self) -> None:
        self.now = 10_000
        self.broker = MemoryBroker(lambda: self.now)
        self.log = MemoryLog(self.broker)
        self.log.create_topics(topic_specs("p.", 4))
        self.stream = StreamRecord("events", TOPICS.events, "symbol", SCHEMA)
        self.sources = Sources([self.stream])

    @property
    def desk(self) -> DeadLetters:
        return DeadLetters(self.log, TOPICS, "desk")

    def bury(self, value: bytes = MISTYPED, reason: str = "schema", partition: int = 1, **more: Any) -> str:
        self.now += 1_000
        return write_letter(self.log, TOPICS, partition, value, reason, DETAIL, **more)

    def sender(self, log: MemoryLog | None = None) -> Sender:
        return Sender(DeadLetters(log or self.log, TOPICS, "desk"), "desk", HOUR)

    def prepare(self, name: str, correction: Correction = AS_IT_WAS, *, again: bool = False) -> Sending:
        return self.sender().prepare(self.desk.find(name), self.sources, correction, self.now, again=again)

    def send(self, name: str, correction: Correction = AS_IT_WAS, *, again: bool = False) -> Record:
        """Send it; the message as it then stands in the stream."""
        sending = self.prepare(name, correction, again=again)
        self.sender().send(sending)
        return self.records(TOPICS.events, sending.partition)[-1]

    def records(self, topic: str, partition: int) -> list[Record]:
        entries = self.broker.partition(TopicPartition(topic, partition)).entries
        return [one.record for one in entries if one.record is not None]


MENDED = Correction(put={"price": 12.0})


@pytest.fixture
def world() -> World:
    return World()


def test_the_newest_come_first_and_are_counted_by_reason(world: World) -> None:
    first, second = world.bury(), world.bury(b"{", "not-json", partition=0)
    third = world.bury()
    found = world.desk.newest(LetterFilter(), 2)
    assert [one.id for one in found.letters] == [third, second]
    assert (dict(found.reasons), found.looked_at, found.whole) == ({"schema": 2, "not-json": 1}, 3, True)
    assert [one.id for one in world.desk.newest(LetterFilter("schema"), 9).letters] == [third, first]
    assert world.desk.newest(LetterFilter(stream="other", topics=["p.other"]), 9).letters == []
    part = world.desk.newest(LetterFilter(), 9, look=1)
    assert ([one.id for one in part.letters], part.whole) == ([third, second], False)


def test_a_letter_is_found_by_the_place_of_its_message(world: World) -> None:
    name = world.bury()
    letter = world.desk.find(name)
    assert (letter.id, letter.value, letter.timestamp, letter.at) == (name, MISTYPED, 5_000, world.now)
    assert world.desk.find(name.removeprefix("p.")).id == name
    for wrong in ("p.events/1/99", "p.events/99/0", "events", "p.events/1/x"):
        with pytest.raises(InputError, match="saffron dlq list"):
            world.desk.find(wrong)


def test_a_letter_is_looked_for_among_so_many_messages(world: World) -> None:
    first, second, _ = world.bury(), world.bury(), world.bury()
    other = world.bury(partition=0)
    assert world.desk.find(first, 3).id == first
    assert world.desk.find(second, 2).id == second
    assert world.desk.find(other, 1).id == other
    with pytest.raises(InputError, match=r"the newest 2 messages.*`saffron dlq show`"):
        world.desk.find(first, 2)
    with pytest.raises(InputError, match="there is no dead letter"):
        world.desk.find("p.events/1/99", 4)
    with pytest.raises(InputError, match="the newest 3 messages"):
        world.desk.find("p.events/1/99", 3)


def test_what_is_late_for_a_stream_made_from_another_one_is_sent_to_that_one_once_it_is_corrected(world: World) -> None:
    made = StreamRecord("by_price", "p.by_price", "price", SCHEMA, source="events")
    world.sources = Sources([made, world.stream])
    event = b'{"type": "Stock", "ts": 9000, "symbol": "IBM", "price": 12}'
    name = world.bury(event, "late", stream="by_price")
    for stream, own in ((made, [name]), (world.stream, [])):
        found = world.desk.newest(world.desk.of_stream(stream, None), 9)
        assert [one.id for one in found.letters] == own
    with pytest.raises(ResendRefusedError, match=r"would be late: .*`saffron stream set by_price") as refused:
        world.prepare(name)
    assert refused.value.kind == "late"
    assert "stream events may have taken it before" in " ".join(world.prepare(name, MENDED).notes)
    sent = world.send(name, Correction(put={"ts": 10_000}))
    assert (sent.topic, sent.partition, sent.key) == ("p.events", 1, b"IBM")
    world.sources = Sources([world.stream])
    with pytest.raises(ResendRefusedError, match=r"no stream reads p\.events any more"):
        world.prepare(name, MENDED, again=True)


def test_a_result_has_a_letter_but_no_message_that_could_be_sent(world: World) -> None:
    other, name = world.bury(), write_result_letter(world.log, TOPICS, 1, "rises")
    assert name == "p.admitted/1/4.1"
    letter = world.desk.find("admitted/1/4.1")
    assert (letter.id, letter.value, world.desk.original(letter)) == (name, None, None)
    assert world.desk.stream_of(letter, {"p.events": "events"}) == "events"
    assert world.desk.stream_of(letter, {}) is None
    found = world.desk.newest(world.desk.of_stream(world.stream, None), 9)
    assert {one.id for one in found.letters} == {name, other}
    with pytest.raises(
        ResendRefusedError, match=r"is a result, .*: it cannot be sent again\. Change query rises"
    ) as refused:
        world.prepare(name)
    assert refused.value.kind == "result"
    with pytest.raises(ResendRefusedError, match=r"no stream reads p\.events any more") as refused:
        world.sender().prepare(world.desk.find(other), Sources([]), AS_IT_WAS, world.now, again=False)
    assert refused.value.kind == "stream"


def test_a_letter_of_a_transaction_that_was_aborted_never_was(world: World) -> None:
    producer = world.log.producer("matcher.0")
    producer.begin()
    producer.send(TOPICS.dead_letters, 1, b"{}", key=b"p.admitted/1/4.1")
    producer.flush(1)
    producer.abort()
    assert world.desk.newest(LetterFilter(), 9).letters == []


STRANGERS = (
    None,
    b"",
    b"{",
    b"7",
    b"[]",
    b"{}",
    b'{"value": 7, "encoding": "utf-8"}',
    b'{"value": "?", "encoding": "base64"}',
)


@pytest.mark.parametrize("value", STRANGERS)
def test_what_is_no_dead_letter_is_passed_over(world: World, value: bytes | None) -> None:
    name = world.bury()
    producer = world.log.producer()
    producer.send(TOPICS.dead_letters, 1, value, key=name.encode())
    producer.flush(1.0)
    assert [one.id for one in world.desk.newest(LetterFilter(), 9).letters] == [name]
    assert world.desk.find(name).value == MISTYPED


def test_bytes_that_are_no_text_come_back_as_they_were(world: World) -> None:
    assert world.desk.find(world.bury(b'{"a": "\xff"}', "not-json")).value == b'{"a": "\xff"}'


def test_a_mended_message_goes_where_its_original_was(world: World) -> None:
    name = world.bury(key=b"IBM", partition=partition_of(b"IBM", 4))
    sent = world.send(name, MENDED)
    event = {"type": "Stock", "ts": 9000, "symbol": "IBM", "price": 12.0}
    assert (orjson.loads(sent.value or b""), sent.key, sent.partition) == (event, b"IBM", partition_of(b"IBM", 4))
    assert sent.headers == (("trace", b"7"), (ORIGIN, name.encode()))
    assert world.desk.find(name).attempts == (Attempt(world.now, True),)
    assert [one.id for one in world.desk.newest(LetterFilter(), 9).letters] == [name], "a note is no letter of its own"


def test_without_mending_the_original_bytes_are_sent(world: World) -> None:
    good = MISTYPED.replace(b'"12"', b"12")
    sent = world.send(world.bury(good, key=b"its own", partition=3))
    assert (sent.value, sent.key, sent.partition) == (good, b"its own", 3)


def test_with_another_key_attribute_it_goes_to_the_home_of_that_key(world: World) -> None:
    sent = world.send(world.bury(b"no event", "not-json", key=b""), Correction(MISTYPED, {"price": 1, "symbol": "KO"}))
    assert (sent.key, sent.partition) == (b"KO", partition_of(b"KO", 4))


def test_where_the_message_is_gone_its_key_comes_from_the_event(world: World) -> None:
    name = world.bury()
    world.broker.partition(TopicPartition(TOPICS.events, 1)).entries.clear()
    sending = world.prepare(name, MENDED)
    assert (sending.key, sending.partition) == (b"IBM", 1)
    assert "is no longer in p.events" in sending.notes[0]


def test_an_event_without_a_time_gets_that_of_sending_and_it_is_said(world: World) -> None:
    value = b'{"type": "Stock", "price": 1}'
    (note,) = world.prepare(world.bury(value)).notes
    assert "ts=5000" in note


def test_nothing_is_sent_twice_by_mistake(world: World) -> None:
    name = world.bury()
    world.send(name, MENDED)
    with pytest.raises(ResendRefusedError, match=r"was sent again at 1970-01-01 00:00:11.*--again") as refused:
        world.prepare(name, MENDED)
    assert refused.value.kind == "sent"
    world.send(name, MENDED, again=True)
    assert len(world.desk.find(name).attempts) == 2


def test_what_would_be_a_dead_letter_again_is_not_sent(world: World) -> None:
    name = world.bury()
    with pytest.raises(ResendRefusedError, match='should be a number, and is "12"; correct it') as refused:
        world.prepare(name)
    assert refused.value.kind == "refused"
    with pytest.raises(ResendRefusedError, match="more than 3600000 ms ahead"):
        world.prepare(name, Correction(put={"price": 1, "ts": world.now + HOUR + 1}))
    with pytest.raises(InputError, match="'pirce' cannot be left out: the message has type, ts"):
        world.prepare(name, Correction(out=("pirce",)))
    with pytest.raises(InputError, match="only be changed in a JSON object"):
        world.prepare(world.bury(b"[1]", "not-an-object"), MENDED)


def test_a_late_event_would_be_late_again(world: World) -> None:
    good = MISTYPED.replace(b'"12"', b"12")
    write_block(world.log, TOPICS, 1, [good.replace(b"9000", b"9001")])
    with pytest.raises(ResendRefusedError, match=r"ts 9000 is below 9001.*saffron replay") as refused:
        world.prepare(world.bury(good, "late"))
    assert refused.value.kind == "late"
    assert world.send(world.bury(good, "late"), Correction(put={"ts": 9001})).value is not None
    assert world.send(world.bury(good, "late", partition=2)).partition == 2, "a partition has its own watermark"


def test_an_event_far_ahead_is_sent_with_a_warning(world: World) -> None:
    good = MISTYPED.replace(b'"12"', b"12")
    name = world.bury(good)
    assert world.prepare(name).notes == ()
    write_block(world.log, TOPICS, 1, [good])
    assert world.prepare(name, Correction(put={"ts": 69_000})).notes == ()
    (note,) = world.prepare(name, Correction(put={"ts": 69_001})).notes
    assert note.startswith("it is 60001 ms ahead of its partition")


def test_whoever_dies_while_sending_leaves_a_note_before_the_message(world: World) -> None:
    seen = set()
    for operation in range(10):
        name = world.bury()
        dying = MemoryLog(world.broker)
        before = len(world.records(TOPICS.events, 1))
        sender = world.sender(dying)
        sending = sender.prepare(world.desk.find(name), world.sources, MENDED, world.now, again=False)
        dying.kill_at(operation)
        died = raises(lambda: sender.send(sending))  # noqa: B023
        arrived = len(world.records(TOPICS.events, 1)) - before
        attempts = world.desk.find(name).attempts
        assert arrived <= len(attempts) <= 1
        assert died or attempts[0].done
        seen.add((died, arrived, attempts[0].done if attempts else None))
        if attempts:
            with pytest.raises(ResendRefusedError):
                world.prepare(name, MENDED)
    assert seen >= {(True, 0, None), (True, 0, False), (True, 1, False), (False, 1, True)}


def raises(act: Callable[[], None]) -> bool:
    try:
        act()
    except Killed:
        return True
    return False
