"""The families of data that docs/topics shows: the kernel beside the exact path, whatever becomes of a message.

The messages and definitions are those of the pages. Each message is changed in one place, by seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.engine.events.raw import batch_of_values
from saffron.mapping.definition import Envelope, SourceDefinition
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.dry_run import read_all
from saffron.mapping.flat.flattening import Flattener
from saffron.mapping.mapper import Mapped, Refused, events_of
from saffron.mapping.message import Message, MessageError, Number, parse, written
from saffron.mapping.proposals.definition_writer import write_definition
from saffron.mapping.proposals.fields import Topic
from saffron.mapping.proposals.infer import infer
from saffron.runtime.log import TopicPartition
from saffron.runtime.streams.messages import message_of, record_in
from tests.unit.cli.page import blocks_of
from tests.unit.mapping.test_flattening import parsed

FOLDER = Path(__file__).parents[3] / "docs" / "topics"
PAGES = [page for page in sorted(FOLDER.glob("*.md")) if page.stem != "README"]
NOT_PROPOSED = frozenset({"mixed", "meters"})
"""Topics whose messages cannot be read, or are CSV."""
WRONG = frozenset({"wrong.yaml"})
"""Definitions that a page shows for their error."""
INSTEAD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, "", "x", "1", Number("-1"), Number("1e400"), Number("1777629600"), [], {}, [{"a": Number("1")}, "b"]]
)
"""What a value becomes."""


@dataclass(frozen=True)
class Family:
    """A source of a definition on a page, and the messages that the page has for it."""

    name: str
    source: SourceDefinition
    messages: list[Message]


def families() -> Iterator[Family]:
    for page in PAGES:
        topics = topics_of(page)
        for block in blocks_of(page):
            if block.name.endswith(".yaml") and block.name not in WRONG:
                for source in read_definition(block.text).sources:
                    if source.topic in topics:
                        yield Family(f"{page.stem}-{block.name}-{source.topic}", source, topics[source.topic])


def topics_of(page: Path) -> dict[str, list[Message]]:
    """The messages on a page, by topic."""
    found = {}
    for block in blocks_of(page):
        if block.name.endswith(".ndjson"):
            topic = block.name.removesuffix(".ndjson")
            records = [
                record_in(line, TopicPartition(topic, 0), number)
                for number, line in enumerate(block.text.encode().splitlines())
            ]
            found[topic] = [message_of(one, one.value) for one in records]
    return found


FAMILIES = list(families())
each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def same(source: SourceDefinition, messages: list[Message], *, strict: bool) -> None:
    """Holds the two against each other. Every element of a message is an event or refused, once."""
    times = np.array([-1 if one.time is None else one.time for one in messages], dtype=np.int64)
    batch = batch_of_values([one.value for one in messages], times=times)
    found = Flattener(source, strict=strict).flatten(batch, messages)
    wanted = [(row, one) for row, message in enumerate(messages) for one in events_of(message, source, strict=strict)]
    got = [
        (int(row), int(found.numbers[event]), parsed(found.value(event)))
        for event, row in enumerate(found.rows.tolist())
    ]
    assert got == [
        (row, one.number, parsed(written({**one.values, "type": one.type, "ts": Number(one.ts)})))
        for row, one in wanted
        if isinstance(one, Mapped)
    ]
    assert list(found.refused) == [(row, one) for row, one in wanted if isinstance(one, Refused)]
    for row in range(len(messages)):
        numbers = [one.number for at, one in wanted if at == row]
        assert numbers == list(range(len(numbers)))


@each_family
@pytest.mark.parametrize("strict", [False, True])
def test_both_read_what_the_page_shows(family: Family, strict: bool) -> None:
    same(family.source, family.messages, strict=strict)


@each_family
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_both_read_a_message_with_another_value_somewhere(family: Family, data: st.DataObject) -> None:
    message = data.draw(st.sampled_from([one for one in family.messages if one.value is not None]))
    value = changed(message.value or b"", data)
    same(family.source, [Message(value, message.key, message.time, message.headers)], strict=data.draw(st.booleans()))


def changed(text: bytes, data: st.DataObject) -> bytes:
    """The text with one value replaced or one field left out; a text that is no JSON, with a piece cut out."""
    try:
        whole = parse(text)
    except MessageError:
        whole = None
    places = list(places_of(whole))
    if not places:
        cut = data.draw(st.integers(0, len(text)))
        return text[:cut] + text[data.draw(st.integers(cut, len(text))) :]
    holder, name = data.draw(st.sampled_from(places))
    if data.draw(st.booleans()):
        holder[name] = data.draw(INSTEAD)
    elif isinstance(holder, dict):
        del holder[name]
    return written(whole)


def places_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """All values inside objects and arrays: (what holds it, its name or index)."""
    inner: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value))) if listed(value) else []
    for name in inner:
        yield value, name
        yield from places_of(value[name])


def listed(value: Any) -> bool:
    return isinstance(value, list)


# ------------------------------------------------------------ what infer proposes for them


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_proposed_for_a_family_reads_its_messages(page: Path) -> None:
    topics = {name: messages for name, messages in topics_of(page).items() if name not in NOT_PROPOSED}
    if not topics:
        return
    text = write_definition("s", infer([Topic(name, messages) for name, messages in topics.items()]))
    proposed = read_definition(text)
    for source in proposed.sources:
        reading = read_all(proposed, source, topics[source.topic])
        assert set(reading.refused) <= {"not-json", "future-ts"}, text
        assert reading.events
        assert "they fit as" not in reading.warning


@pytest.mark.parametrize(
    ("page", "topic", "envelope"),
    [
        ("debezium", "shop.public.invoices", Envelope.DEBEZIUM),
        ("debezium", "shop.public.orders", Envelope.DEBEZIUM),
        ("cloudevents", "acme.events", Envelope.CLOUDEVENTS),
        ("logs", "sshd", Envelope.LINES),
        ("shop", "orders", Envelope.NONE),
        ("github", "gh", Envelope.NONE),
    ],
)
def test_envelopes_are_recognized(page: str, topic: str, envelope: Envelope) -> None:
    (proposed,) = infer([Topic(topic, topics_of(FOLDER / f"{page}.md")[topic])])
    assert proposed.envelope is envelope
