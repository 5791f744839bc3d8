"""The `$watermark` records of one source partition, which every target partition receives.

`engine.windows.order.sources` reads them. They say how far the source is, whether it is silent, and where it stands
among the sources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.runtime.hops.transactions import Transactions
from saffron.runtime.log.traces import Headers
from saffron.schema.schema import MAX_TS
from saffron.windowing.routing.route_plan import Reader, RoutePlan

WATERMARK = "watermark"
"""The header with the watermark of a source that reports activity before it raises its watermark."""
_AWAKE_MS = 200
"""The time for which a source that was silent reports activity before it raises its watermark.

Messages come to several silent sources at once: each then reports before one of them moves event time past the others.
The same holds for the sources of a member that begins, which find messages that came while nobody read, and while a
source is read by nobody since its owner died: it may have been silent.
"""


class SourceWatermarks:
    """The watermarks and places of one source, as a chain writes them. `at_end`: whether it is read to its end."""

    def __init__(self, plan: RoutePlan, transactions: Transactions, at_end: Callable[[], bool]) -> None:
        self._plan = plan
        self._transactions = transactions
        self._at_end = at_end
        self._silent = False
        self._awake_since: int | None = None
        self._last_input_at = 0
        self._place: Mapping[str, Any] = {}
        self._sent_place: Mapping[str, Any] | None = None
        self._sent = NO_WATERMARK
        self._is_placed = True
        self._is_heard = False
        self.reader: Reader = plan.reader(NO_WATERMARK)

    @property
    def watermark(self) -> int | None:
        """Event time (ms) below which only late events come from this source; None before the first event."""
        return None if self.reader.watermark == NO_WATERMARK else self.reader.watermark

    @property
    def said(self) -> int:
        """The watermark that the last record named."""
        return self._sent

    def begin(self, watermark: int, said: int, now_ms: int) -> None:
        """Begins at a watermark, with a reader that does. The predecessor may have said that the source is silent.

        `said`: the watermark that it named last.
        """
        self.reader = self._plan.reader(watermark)
        self._sent, self._sent_place, self._awake_since = NO_WATERMARK, None, None
        if self._plan.any_idle():
            self._sent, self._awake_since = said, now_ms
        self._last_input_at = now_ms

    def forget(self) -> None:
        """Forgets what was written in the open transaction."""
        self._silent, self._is_placed, self._is_heard = False, True, False

    @property
    def has_begun(self) -> bool:
        """True if no reader takes the source for silent any more: its word that it is not is committed."""
        return self._awake_since is None or self._is_heard

    def committed(self) -> None:
        """Called when a transaction was committed."""
        self._is_heard = self._sent_place is not None

    def stand_at(self, place: Mapping[str, Any], now_ms: int) -> None:
        """Sets the source's place among the sources. A source that is no longer one keeps the last that it had.

        One that begins awake says so, before its events go on.
        """
        self._place = place
        if self._awake_since is not None and self._sent_place is None:
            self._awake_since = now_ms
            self.send()

    def give_up(self, partitions: int, sources: int) -> None:
        """Says that partitions are silent which a source made anew has no longer.

        `partitions`: of the source. `sources`: partitions of all sources, as was written before.
        """
        for number in range(partitions, partitions + sources - int(self._place["sources"])):
            place = {**self._place, "source": number, "sources": sources}
            self._transactions.begin()
            self._write(orjson.dumps({"type": "$watermark", **place, "silent": True}))

    def input_came(self, now_ms: int) -> None:
        """Messages came: a silent source says that it is awake, before its events go on."""
        self._last_input_at = now_ms
        if self._silent:
            self._silent, self._awake_since = False, now_ms
            self.send()

    def events_sent(self) -> None:
        """Events or dead letters are in the transaction behind the last record that named a place."""
        self._is_placed = False

    def send_due(self, now_ms: int, *, waiting: bool) -> None:
        """Send a watermark record if one is due. `waiting`: messages wait to be read or were read just now."""
        place = self._place
        if not self._silent and self._plan.any_idle() and not self._plan.all_began():
            self._awake_since = now_ms
        if not waiting and self._awake_since is None and self._falls_silent(now_ms):
            self._silent = True
            self.send(silent=True)
        elif self._sent_place != place and (self._sent_place is not None or "lookups" in place):
            self.send(silent=self._silent)
        elif self._awake_since is not None and now_ms - self._awake_since >= _AWAKE_MS:
            self._awake_since = None
            self.send()

    def say_place(self, reached: Headers) -> None:
        """Ends the transaction with a record that names the place reached, if something new is in it.

        A chain without a committed position goes on from there, with the reader's watermark, which the record may not
        name yet.
        """
        if not self._is_placed or self.reader.watermark > self._sent:
            ahead = () if self._awake_since is None else ((WATERMARK, b"%d" % self.reader.watermark),)
            self.send(silent=self._silent, reached=(*reached, *ahead))

    def send(
        self, watermark: int | None = None, *, end: bool = False, silent: bool = False, reached: Headers = ()
    ) -> None:
        """Sends a watermark to every target partition. `watermark`: the reader's where None."""
        self._transactions.begin()
        if watermark is None:
            watermark = self.reader.watermark if self._awake_since is None else self._sent
        message: dict[str, Any] = {"type": "$watermark"}
        if watermark > NO_WATERMARK or not silent:
            message["ts"] = max(watermark, -MAX_TS)
        message |= self._place
        self._sent_place = self._place
        value = orjson.dumps(message | ({"end": True} if end else {}) | ({"silent": True} if silent else {}))
        self._write(value, reached)
        self._sent, self._is_placed = watermark, bool(reached)

    def _write(self, value: bytes, reached: Headers = ()) -> None:
        for partition in range(self._plan.partitions):
            self._transactions.producer.send(self._plan.target, partition, value, headers=reached)

    def _falls_silent(self, now_ms: int) -> bool:
        """True if the source has just been silent for its bound, with its end reached."""
        idle = self._plan.idle()
        if idle is None or self._silent or now_ms - self._last_input_at < idle:
            return False
        return self._at_end()
