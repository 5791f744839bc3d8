"""Dead letters of a merged stream: elements are shown under their own places, and are sent again by the definition."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest

from saffron.errors import InputError
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.dead_letters.correction import Correction, correct
from saffron.runtime.dead_letters.reading import DeadLetters, LetterFilter
from saffron.runtime.dead_letters.sending import ResendRefusedError, Sender, Sources
from saffron.runtime.dead_letters.writing import letter_message
from saffron.runtime.hops.input_state import InputState
from saffron.runtime.hops.route_position import RoutePosition
from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.log.topics import Topics, topic_specs
from saffron.runtime.streams.places import Place
from tests.contracts.test_schemas import validator
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

TOPICS = Topics("t.")
NOW = 5_000_000
SHOP = """stream: shop
key: id
sources:
- topic: orders
  ts: {field: at, format: epoch_ms}
  attributes: {kind: {header: kind}}
"""
STREAM = StreamRecord("shop", "t.shop", "id", definition=AppliedDefinition(SHOP, {"orders": 0}, 1))
PLAIN = StreamRecord("plain", "orders")


INSIDE = [
    (b'{"a":1,"Records":[{"at":"oops","id":12345678901234567890123}]}', "Records[1].at",
     b'{"a":1,"Records":[{"at":5,"id":12345678901234567890123}]}'),
    (b'[{"at":"oops"}]', "at", b'[{"at":5}]'),
    (b'{"a.b":1,"a":{"b":2}}', "a.b", b'{"a.b":5,"a":{"b":2}}'),
    (b'{"a":{"b":2}}', "a.b", b'{"a":{"b":5}}'),
    (b'{"a":{"b":2}}', "a.c", b'{"a":{"b":2,"c":5}}'),
    (b'{"Records":[{"id":1}]}', "Records[1].at", b'{"Records":[{"id":1,"at":5}]}'),
    (b'{"b":2}', "a.c", b'{"b":2,"a.c":5}'),
    (b'{"x y":1}', "x y", b'{"x y":5}'),
    (b'{"b":1}', '"x y"', b'{"b":1,"x y":5}'),
    (b'{"a":[1]}', "a[1]", b'{"a":[5]}'),
    (b'{"a":[1],"a[1]":2}', "a[1]", b'{"a":[1],"a[1]":5}'),
]  # fmt: skip


@pytest.mark.parametrize(("value", "name", "mended"), INSIDE)
def test_a_field_inside_is_corrected_by_its_path(value: bytes, name: str, mended: bytes) -> None:
    assert correct(value, Correction(put={name: 5})) == mended


def test_a_field_inside_is_left_out_by_its_path() -> None:
    assert correct(b'{"a":[{"b":2,"c":3}],"d":4}', Correction(out=("a[1].b", "d"))) == b'{"a":[{"c":3}]}'
    with pytest.raises(InputError, match="cannot be left out"):
        correct(b'{"a":[{"b":2}]}', Correction(out=("a[1].c",)))


@pytest.mark.parametrize("name", ["a[2].b", "a[2]", "c[1].d"])
def test_an_element_that_is_not_there_cannot_be_corrected(name: str) -> None:
    for correction in (Correction(put={name: 5}), Correction(out=(name,))):
        with pytest.raises(InputError, match="leads nowhere"):
            correct(b'{"a":[{"b":2}]}', correction)


@pytest.fixture
def log() -> Iterator[MemoryLog]:
    made = MemoryLog(MemoryBroker(lambda: NOW))
    made.create_topics([*topic_specs("t.", 1), TopicSpec("orders", 1, {}), TopicSpec("t.shop", 1, {})])
    yield made
    made.close()


def buried(log: MemoryLog, value: bytes, place: Place, stream: str = "shop", *, reason: str = "no-ts") -> None:
    """A message of `orders`, and a dead letter about it."""
    producer = log.producer()
    producer.send("orders", 0, value, key=b"k", headers=[("kind", b"web")], timestamp=NOW)
    letter = letter_message(TOPICS.dead_letters, 1, place, NOW, reason, "it has none", value, stream)
    validator("dead-letters").validate(orjson.loads(letter.value))
    producer.send(letter.topic, letter.partition, letter.value, key=letter.key)
    producer.flush(1)
    producer.close()


def committed(log: MemoryLog, watermark: int) -> None:
    """The position of the stream's chain."""
    producer = log.producer("router")
    consumer = log.consumer("t.router.shop", committed_only=True)
    where = TopicPartition("orders", 0)
    consumer.subscribe(["orders"], lambda _: None, lambda _: None, lambda _: None)
    consumer.poll(1, 0.0)
    producer.begin()
    reached = RoutePosition(1, watermark, InputState()).to_committed()
    producer.send_offsets({where: reached}, consumer.membership())
    producer.commit()
    producer.close()
    consumer.close()


def desk(log: MemoryLog) -> DeadLetters:
    return DeadLetters(log, TOPICS, "t.dlq")


def sent(log: MemoryLog, name: str, correction: Correction, *, sources: Sources) -> bytes:
    letters = desk(log)
    sender = Sender(letters, "t.dlq", 10**9)
    sending = sender.prepare(letters.find(name), sources, correction, NOW, again=False)
    assert (sending.key, sending.partition) == (b"k", 0)
    assert ("kind", b"web") in sending.headers
    sender.send(sending)
    return sending.value


def test_a_letter_names_its_element_and_its_stream(log: MemoryLog) -> None:
    buried(log, b'{"id":1}', Place("orders", 0, 0, 2))
    (letter,) = desk(log).newest(LetterFilter(), 5).letters
    assert (letter.id, letter.number, letter.stream) == ("orders/0/0.2", 2, "shop")
    assert desk(log).find("orders/0/0.2") == letter
    names = {"orders": "plain", "t.shop": "shop"}
    assert desk(log).stream_of(letter, names) == "shop"
    assert desk(log).of_stream(STREAM, None).topics == ["orders", "t.shop.admitted"]


def test_each_of_several_streams_over_a_topic_has_its_own_letter(log: MemoryLog) -> None:
    other = StreamRecord("other", "t.other", "id", definition=AppliedDefinition(SHOP, {"orders": 0}, 1))
    place = Place("orders", 0, 0, 0)
    buried(log, b'{"id":1}', place)
    buried(log, b'{"id":1}', place, "other")
    assert [one.stream for one in desk(log).newest(LetterFilter(), 9).letters] == ["shop", "other"]
    for stream in (STREAM, other):
        (letter,) = desk(log).newest(desk(log).of_stream(stream, None), 9).letters
        assert letter.stream == stream.name
    committed(log, 0)
    sent(log, "orders/0/0", Correction(put={"at": 7}), sources=Sources([STREAM, other]))
    assert all(one.attempts for one in desk(log).newest(LetterFilter(), 9).letters), "it came to both"


def test_a_mended_message_goes_to_its_source_by_the_definition(log: MemoryLog) -> None:
    buried(log, b'{"id":1}', Place("orders", 0, 0))
    both = Sources([PLAIN, STREAM])
    with pytest.raises(ResendRefusedError, match="would be a dead letter again: 'at' is missing"):
        sent(log, "orders/0/0", Correction(), sources=both)
    assert sent(log, "orders/0/0", Correction(put={"at": 7}), sources=both) == b'{"id":1,"at":7}'


@pytest.mark.parametrize(
    ("reason", "number", "refused"), [("no-ts", 1, True), ("no-ts", 0, True), ("not-json", 0, False)]
)
def test_an_element_that_could_not_be_cut_out_is_not_sent_with_the_others(
    reason: str, number: int, refused: bool, log: MemoryLog
) -> None:
    """A message that could not be read at all is sent whole: none of its elements was taken."""
    several = SHOP.replace("- topic: orders", "- topic: orders\n  explode: items\n  where: length(items) > 1")
    stream = StreamRecord("shop", "t.shop", "id", definition=AppliedDefinition(several, {"orders": 0}, 1))
    name = "orders/0/0" + f".{number}" * (number > 0)
    buried(log, b'{"items":[{"id":1,"at":7},{"id":2}]}', Place("orders", 0, 0, number), reason=reason)
    mended = b'{"items":[{"id":1,"at":7},{"id":2,"at":7}]}'
    if not refused:
        assert sent(log, name, Correction(value=mended), sources=Sources([stream])) == mended
        return
    with pytest.raises(ResendRefusedError, match="is one element, and the message has 2: the others would come twice"):
        sent(log, name, Correction(value=mended), sources=Sources([stream]))


DEEP = b'{"items":[{"id":1,"at":7,"x":%s},{"id":2,"at":7}]}' % (b"[" * 40 + b"]" * 40)
UNREAD = [
    ("a message that was no object", b"5", "not-an-object", True),
    ("an element that could not be cut out, for a reason that whole messages may have", DEEP, "too-deep", False),
    ("a message that the definition of today takes", b'{"items":[{"id":1,"at":7},{"id":2,"at":7}]}', "not-json", True),
]


@pytest.mark.parametrize(("value", "reason", "sends"), [one[1:] for one in UNREAD], ids=[one[0] for one in UNREAD])
def test_a_whole_message_is_sent_again_if_nothing_of_it_was_taken(
    value: bytes, reason: str, sends: bool, log: MemoryLog
) -> None:
    several = SHOP.replace("- topic: orders", "- topic: orders\n  explode: items\n  where: length(items) > 1")
    sources = Sources([StreamRecord("shop", "t.shop", "id", definition=AppliedDefinition(several, {"orders": 0}, 1))])
    buried(log, value, Place("orders", 0, 0, 0), reason=reason)
    mended = b'{"items":[{"id":1,"at":7},{"id":2,"at":7}]}'
    if sends:
        assert sent(log, "orders/0/0", Correction(value=mended), sources=sources) == mended
    else:
        with pytest.raises(ResendRefusedError, match="the others would come twice"):
            sent(log, "orders/0/0", Correction(value=mended), sources=sources)


def test_what_would_be_late_at_its_source_is_not_sent(log: MemoryLog) -> None:
    buried(log, b'{"id":1}', Place("orders", 0, 0))
    committed(log, 1_000)
    with pytest.raises(ResendRefusedError, match="ts 7 is below 1000, the watermark of its source") as refused:
        sent(log, "orders/0/0", Correction(put={"at": 7}), sources=Sources([STREAM]))
    assert refused.value.kind == "late"
    assert sent(log, "orders/0/0", Correction(put={"at": 1_000}), sources=Sources([STREAM]))


def test_a_letter_of_a_stream_that_is_gone_is_not_sent(log: MemoryLog) -> None:
    buried(log, b'{"id":1}', Place("orders", 0, 0))
    with pytest.raises(ResendRefusedError, match="no stream reads orders any more"):
        sent(log, "orders/0/0", Correction(), sources=Sources([PLAIN]))
