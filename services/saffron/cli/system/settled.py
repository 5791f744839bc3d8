"""The check that all produced events have been processed and committed."""

from __future__ import annotations

import time
from collections.abc import Mapping

from saffron.cli.client import Client
from saffron.cli.system.scrape import Page, scrape
from saffron.runtime.local.state import SystemState
from saffron.runtime.log import Consumer, TopicPartition
from saffron.runtime.log.topics import DEFAULT_STREAM
from saffron.runtime.telemetry.metric_names import EVENTS_APPLIED, WATERMARK

READERS = ("matcher", "greta")
_APPLIED = f"{EVENTS_APPLIED.name}_total"
_WAIT = 0.1
_PATIENCE = 2.0
"""Seconds for the broker to say that there is nothing more to read."""


class Readers:
    """The matcher and the greta of a running system with one partition of events."""

    def __init__(self, client: Client, state: SystemState | None) -> None:
        self._state = state
        self._place = TopicPartition(client.topics.admitted_of(DEFAULT_STREAM), 0)
        self._consumers: dict[str, Consumer] = {
            reader: client.log.consumer(client.settings.group(reader), committed_only=True, client_id="settled")
            for reader in READERS
        }

    def pages(self) -> Mapping[str, Page]:
        """The metrics page of each reader."""
        return {reader: scrape(self._state, reader) for reader in READERS}

    def progress(self) -> tuple[float, ...]:
        """Numbers that change while any reader makes progress."""
        applied = (page.total(_APPLIED) for page in self.pages().values())
        return (*applied, *(self._committed(one) for one in self._consumers.values()))

    def settled(self, events: int, until_ms: int) -> bool:
        """True if each reader has applied so many events up to that time, and committed their results.

        A position and the results before it are committed in one transaction. So nothing is uncommitted when nothing is
        left to read behind the committed position.
        """
        for page in self.pages().values():
            if page.total(_APPLIED) < events or page.largest(WATERMARK.name) < until_ms / 1000:
                return False
        return all(self._nothing_behind(one) for one in self._consumers.values())

    def close(self) -> None:
        for one in self._consumers.values():
            one.close()

    def _committed(self, consumer: Consumer) -> int:
        found = consumer.committed(self._place)
        return 0 if found is None else found.offset

    def _nothing_behind(self, consumer: Consumer) -> bool:
        """True if no message is left to read behind the committed position."""
        consumer.assign({self._place: self._committed(consumer)})
        until = time.monotonic() + _PATIENCE
        while not consumer.at_end(self._place) and time.monotonic() < until:
            if consumer.poll(1, _WAIT):
                return False
        return consumer.at_end(self._place)
