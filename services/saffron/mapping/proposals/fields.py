"""The fields of the newest messages of a topic: the leaves of their events, by path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saffron.mapping.definition import SourceDefinition
from saffron.mapping.envelopes import Eventless, elements
from saffron.mapping.mapper import leaves
from saffron.mapping.message import Message, MessageError, Number

Steps = tuple[str, ...]
"""The names on the way to a leaf."""
_MOST = 0.9
"""The share of a topic's events that decides how the topic is read."""


@dataclass(frozen=True)
class Topic:
    """The newest messages of a topic, in order.

    `form`: what they were written as, where they have been translated to JSON. `registry`: URL of the schema registry
    that was asked for their schemas. `told`: sentences on those that could not be translated, and are left out.
    """

    name: str
    messages: Sequence[Message]
    form: str | None = None
    registry: str | None = None
    told: Sequence[str] = ()


@dataclass(frozen=True)
class Fields:
    """The leaves of a topic's events. `values`: by path, (number of the event, value). `times`: of the events' messages
    (ms, -1: none). `count`: events; `messages`: those that could be read.
    """

    values: Mapping[Steps, Sequence[tuple[int, Any]]]
    times: Sequence[int]
    count: int
    messages: int

    def texts(self, steps: Steps) -> set[str]:
        """The different texts at a path; numbers are none."""
        return {one for _, one in self.values[steps] if isinstance(one, str) and not isinstance(one, Number)}

    def in_all(self, steps: Steps) -> bool:
        """True if each event has a value at the path."""
        return len(self.values[steps]) == self.count

    def in_most(self, steps: Steps) -> bool:
        """True if nearly each event has a value at the path."""
        return is_most(len(self.values[steps]), self.count)

    def share(self, number: int) -> str:
        """A number of events as a percentage of all, rounded down."""
        return f"{100 * number // self.count}%"


def is_most(number: int, count: int) -> bool:
    """True if this number of events is nearly all: a topic may have some messages of another kind."""
    return number >= _MOST * count


def fields_of(topic: Topic, source: SourceDefinition) -> Fields:
    """The leaves of a topic's events as a source's format, envelope and `explode` make them."""
    values: dict[Steps, list[tuple[int, Any]]] = {}
    times: list[int] = []
    read = set[int]()
    for number, message, content in _events(topic, source):
        try:
            found = list(leaves(content))
        except MessageError:  # too deep to be an event
            continue
        read.add(number)
        for steps, value in found:
            values.setdefault(steps, []).append((len(times), value))
        times.append(-1 if message.time is None else message.time)
    return Fields(values, times, len(times), len(read))


def _events(topic: Topic, source: SourceDefinition) -> Iterator[tuple[int, Message, Mapping[str, Any]]]:
    for number, message in enumerate(topic.messages):
        for element in elements(message, source):
            if not isinstance(element.content, MessageError | Eventless):
                yield number, message, element.content
