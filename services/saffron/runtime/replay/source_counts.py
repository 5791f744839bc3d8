"""Counts of the messages that a definition's sources brought, and the sentences on them at the end of a replay."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from saffron.counted import counted
from saffron.mapping.definition import SourceDefinition, StreamDefinition
from saffron.mapping.dry_run import eventless_values
from saffron.mapping.envelopes import Eventless
from saffron.runtime.streams.event_keys import no_key_notice
from saffron.runtime.streams.merging import Inner, InnerEvent


class SourceCounts:
    """What has become of the messages of each source of a definition.

    `misfits`: by attribute the values that became null. `refused`: how many elements were no events. `not_found`: by
    attribute of a table the events whose key no row has.
    """

    def __init__(self, definition: StreamDefinition) -> None:
        self.misfits: Counter[str] = Counter()
        self.not_found: Counter[str] = Counter()
        self._definition = definition
        self._messages: Counter[str] = Counter()
        self._events: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._eventless: defaultdict[str, Counter[Eventless]] = defaultdict(Counter)
        self._is_keyed = definition.key is None

    @property
    def refused(self) -> int:
        return self._refused.total()

    def add(self, topic: str, messages: int, inner: Inner) -> None:
        """Count messages of a source, and what was made of them."""
        self.misfits.update(inner.misfits)
        self.not_found.update(inner.not_found)
        self._messages[topic] += messages
        self._events[topic] += len(inner.events)
        self._refused[topic] += len(inner.unread)
        self._eventless[topic].update(inner.eventless)
        self._is_keyed = self._is_keyed or any(isinstance(one, InnerEvent) and one.key for one in inner.events)

    def notices(self) -> Iterator[str]:
        """Sentences on names of the definition that no message had."""
        for source in self._definition.sources:
            yield from self._without_events(source)
        if not self._is_keyed and self._events.total():
            yield no_key_notice(self._definition.key or "")

    def _without_events(self, source: SourceDefinition) -> Iterator[str]:
        """A sentence on a source none of whose messages gave an event. Those that were refused are dead letters."""
        topic = source.topic
        told = list(eventless_values(source, self._eventless[topic]))
        if self._events[topic] or not self._messages[topic] or (self._refused[topic] and not told):
            return
        number = counted(self._messages[topic], "message")
        yield ": ".join([f"{topic}: no event came of {number}", *(["; ".join(told)] if told else [])])
