"""The pace of `produce`: as fast as possible, a number of events per second, or by the events' times."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from saffron.cli import console
from saffron.engine.events.decoding.exact_json import roughly_parsed
from saffron.engine.events.decoding.rules.event_times import DAY, times_of
from saffron.engine.events.decoding.rules.outcomes import Refused
from saffron.errors import InputError
from saffron.runtime.process.clock_watch import wall_ms

_TICK = 0.01
"""Seconds between two sends at a given rate: a tenth of the time that a person notices."""
_MOST = 10_000
_LONG_WAIT = 60.0
"""Seconds without an event of which the user is told."""
_LONGEST_SLEEP = 3600.0
"""Seconds of one sleep: the system's own sleep ends at some hundred years, and times may be further apart."""
_PLAIN_TS = re.compile(rb'"ts": ?(-?\d{1,15})[,}]')


def slices(
    batches: Iterator[list[bytes]], rate: float | None, speedup: float | None, max_future: int = DAY
) -> Iterator[list[bytes]]:
    """The events in slices, each at the time when it is due. `max_future`: see `_given_time`."""
    if rate is not None:
        return _at_rate(batches, rate)
    return batches if speedup is None else _by_time(batches, speedup, max_future)


def _at_rate(batches: Iterator[list[bytes]], rate: float) -> Iterator[list[bytes]]:
    """Slices of at most 10,000 events, so that `rate` events a second have gone since the beginning.

    After a delay the slices are larger, until the rate is reached again.
    """
    begun = time.monotonic()
    sent = 0
    for batch in batches:
        position = 0
        while position < len(batch):
            due = int((time.monotonic() - begun) * rate) + 1 - sent
            if due <= 0:
                time.sleep(max(_TICK, (1 - due) / rate))
                continue
            part = batch[position : position + min(due, _MOST)]
            yield part
            position += len(part)
            sent += len(part)
            time.sleep(_TICK)


def _by_time(batches: Iterator[list[bytes]], speedup: float, max_future: int) -> Iterator[list[bytes]]:
    """Slices by the events' times. An event without a time that windowing takes goes with those before it."""
    begun = time.monotonic()
    first: int | None = None
    for batch in batches:
        waiting: list[bytes] = []
        for line in batch:
            moment = _moment(line, max_future)
            if moment is not None:
                first = moment if first is None else first
                ahead = (moment - first) / 1000 / speedup - (time.monotonic() - begun)
                if ahead > _TICK:
                    if waiting:
                        yield waiting
                        waiting = []
                    _wait(ahead, moment)
            waiting.append(line)
        if first is None and batch:
            text = batch[0][:80].decode("utf-8", "replace")
            raise InputError(
                f"--speedup needs events with a `ts`, no further ahead than SAFFRON_MAX_FUTURE_MS ({max_future}) of "
                f"this command; the first {len(batch)} have none, such as {text}"
            )
        yield waiting


def _wait(seconds: float, moment: int) -> None:
    """Wait for the event of `moment` (ms), and say so where that is long."""
    if seconds > _LONG_WAIT:
        console.say(f"the next event, of {console.moment(moment)}, is due in {seconds:,.0f} s")
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _LONGEST_SLEEP))


def _moment(line: bytes, max_future: int) -> int | None:
    """An event's own ts in ms; None if it has none that windowing takes."""
    try:
        return _given_time(line, wall_ms(), max_future)
    except Refused:
        return None


def _given_time(line: bytes, now: int, max_future: int) -> int | None:
    """The ts in ms that an event has of its own, by the rules of windowing; None if it has none.

    Refused: windowing makes a dead letter of the line for its time, or the line is no object. `max_future`: how far
    (ms) a ts may be ahead of `now`, the time of the message.
    """
    try:
        event = roughly_parsed(line)
    except ValueError as error:
        raise Refused("not-json", str(error)) from None
    if not isinstance(event, dict):
        raise Refused("not-an-object", "an event is a JSON object")
    return None if event.get("ts") is None else times_of(event, now, max_future)[0]


class Latest:
    """The largest ts (ms) of the lines that have passed. A line without ts counts as now.

    `ts`: None where no line has counted. `left_out`: lines whose ts windowing refuses, or that are no objects: these do
    not count. A broken line counts where its ts can be seen without reading the rest, as is done for speed.
    `max_future`: see `_given_time`; services may have another setting.
    """

    def __init__(self, max_future: int) -> None:
        self.ts: int | None = None
        self.left_out = 0
        self.max_future = max_future

    def watch(self, batches: Iterator[list[bytes]]) -> Iterator[list[bytes]]:
        """The lines unchanged, with `ts` noted as they pass."""
        for batch in batches:
            now = wall_ms()
            for line in batch:
                self._note(line, now)
            yield batch

    def _note(self, line: bytes, now: int) -> None:
        """Note the time of one line."""
        ts: int | None
        flat = line[:1] == b"{" and line.count(b"{") == 1
        if flat and line.count(b'"ts"') == 1 and (plain := _PLAIN_TS.search(line)):
            ts = int(plain[1])
            refused = ts > now + self.max_future
        else:
            try:
                ts, refused = _given_time(line, now, self.max_future), False
            except Refused:
                ts, refused = None, True
        if refused:
            self.left_out += 1
        else:
            ts = now if ts is None else ts
            self.ts = ts if self.ts is None else max(self.ts, ts)
