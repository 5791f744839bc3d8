"""The pace of `produce`: as fast as possible, a number of events per second, or by the events' times."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

from saffron.engine.events.decoding.exact_json import roughly_parsed
from saffron.errors import InputError
from saffron.schema.iso_times import parse_iso

_TICK = 0.01
"""Seconds between two sends at a given rate: a tenth of the time that a person notices."""
_MOST = 10_000
_PLAIN_TS = re.compile(rb'"ts": ?(-?\d{1,16})[,}]')


def slices(batches: Iterator[list[bytes]], rate: float | None, speedup: float | None) -> Iterator[list[bytes]]:
    """The events in slices, each at the time when it is due."""
    if rate is not None:
        return _at_rate(batches, rate)
    return batches if speedup is None else _by_time(batches, speedup)


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


def _by_time(batches: Iterator[list[bytes]], speedup: float) -> Iterator[list[bytes]]:
    """Slices by the events' times. An event without a readable time goes with those before it."""
    begun = time.monotonic()
    first: float | None = None
    for batch in batches:
        waiting: list[bytes] = []
        for line in batch:
            moment = _moment(line)
            if moment is not None:
                first = moment if first is None else first
                ahead = (moment - first) / 1000 / speedup - (time.monotonic() - begun)
                if ahead > _TICK:
                    if waiting:
                        yield waiting
                        waiting = []
                    time.sleep(ahead)
            waiting.append(line)
        if first is None and batch:
            text = batch[0][:80].decode("utf-8", "replace")
            raise InputError(f"--speedup needs events with a `ts`; the first {len(batch)} have none, such as {text}")
        yield waiting


def _moment(line: bytes) -> float | None:
    """An event's ts in ms; None if it has none that can be read."""
    try:
        value: Any = roughly_parsed(line)["ts"]
        value = value[0] if isinstance(value, list) else value
        return parse_iso(value) if isinstance(value, str) else float(value)
    except (ValueError, KeyError, TypeError, IndexError):
        return None


class Latest:
    """The largest ts (ms) of the lines that have passed. An event without ts counts as now."""

    def __init__(self) -> None:
        self.ts = 0

    def watch(self, batches: Iterator[list[bytes]]) -> Iterator[list[bytes]]:
        """The lines unchanged, with `ts` noted as they pass."""
        for batch in batches:
            self.ts = max([self.ts, *map(self._ts, batch)])
            yield batch

    @staticmethod
    def _ts(line: bytes) -> int:
        if line.count(b'"ts"') == 1 and (plain := _PLAIN_TS.search(line)):
            return int(plain[1])
        moment = _moment(line)
        return time.time_ns() // 1_000_000 if moment is None else int(moment)
