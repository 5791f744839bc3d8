"""The demo's output: results in words, at a readable rate, and a progress line."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from saffron.cli import console
from saffron.counted import counted
from saffron.engine.operators.result_values import within_64_bits

_LINES_PER_SECOND = 6.0
_SAME_SUBJECT_SECONDS = 1.5
"""Pause between two results about the same stock or sector, so that all of them are seen."""
_PROGRESS_SECONDS = 0.25
_PROGRESS_SECONDS_IN_A_LOG = 5.0


class Screen:
    """The counter of results. It prints as many of each query as can be read."""

    def __init__(self, wanted: int) -> None:
        self.results: Counter[str] = Counter()
        self._wanted = wanted
        self._begun = time.monotonic()
        self._next_line: dict[str, float] = {}
        self._shown: dict[tuple[str, bytes], float] = {}
        self._next_progress = 0.0

    def take(self, result: Mapping[str, Any]) -> None:
        """Counts one result, and prints it if its query's last line is old enough, and so is the last one about the
        same group or key.
        """
        name = str(result["query"])
        self.results[name] += 1
        now = time.monotonic()
        subject = name, orjson.dumps(result.get("group") or result.get("key"))
        if now >= max(self._next_line.get(name, 0.0), self._shown.get(subject, 0.0)):
            self._next_line[name] = now + 2 / _LINES_PER_SECOND
            self._shown[subject] = now + _SAME_SUBJECT_SECONDS
            console.done()
            print(describe(result), flush=True)

    def progress(self, sent: int) -> None:
        """Renews the progress line at intervals."""
        now = time.monotonic()
        if now >= self._next_progress:
            live = console.is_live()
            self._next_progress = now + (_PROGRESS_SECONDS if live else _PROGRESS_SECONDS_IN_A_LOG)
            rate = sent / max(now - self._begun, 1e-9)
            results = ", ".join(f"{count:,} {name}" for name, count in sorted(self.results.items())) or "no result yet"
            console.step(f"{sent:,} of {counted(self._wanted, 'event')}, {rate:,.0f}/s; {results}")


def describe(result: Mapping[str, Any]) -> str:
    """A sentence on one result; for queries other than the demo's, its values."""
    values = result["return"]
    name = console.bold(f"{result['query']:<10}")
    if result["query"] == "rally":
        change = 100 * (values["fall"] / values["top"] - 1)
        span = _span(result["start"], result["end"])
        steps = f"{values['steps']} quotes" if values["steps"] > 1 else "1 quote"
        rise = (
            f"{steps} up from {values['first']:.2f} to {values['top']:.2f}, then {values['fall']:.2f} ({change:.1f} %)"
        )
        return f"{name} {values['symbol']:<5} {rise:<58} {console.dim(span)}"
    if result["query"] == "downtrends":
        low, high = result["window"]
        count = f"{values['COUNT(*)']:,} down-trends"
        return f"{name} {result['group']['sector']:<22} {count:<41} {console.dim(_span(low, high))}"
    return f"{name} {within_64_bits(values)}"


def _span(low: int, high: int) -> str:
    begin, end = (datetime.fromtimestamp(ts / 1000, UTC) for ts in (low, high))
    return f"{begin:%Y-%m-%d %H:%M} to {end:%H:%M} UTC"
