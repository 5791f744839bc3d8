"""Streams that change behind their training share, seeded: a quiet stretch before a rush, alternating regimes, and a
feature that predicts matches in the beginning only.

Each makes so many events as JSON lines, in a file below `folder`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

EVENTS = 24_000
_QUIET = 0.35
"""The share of the events of `quiet` before the rush."""
_TURN = 1 / 6
"""The share of the events of `turns` in one regime."""
_TRUE = 0.2
"""The share of the events of `shift` in which its feature predicts matches."""

Event = dict[str, Any]


def quiet(seed: int, folder: Path, events: int = EVENTS) -> Path:
    """Calls of buses at stops, with a delay in seconds. At first few are late, two in a row at few stops; then a third
    is, at all stops, and the second late one comes long behind the first."""
    return written(f"quiet-{events}-{seed}", _quiet(np.random.default_rng([seed, 101]), events), folder)


def turns(seed: int, folder: Path, events: int = EVENTS) -> Path:
    """A stream of jobs that open and close, in two alternating regimes.

    In one regime jobs of low size close soon, in the other jobs of high size close late; others hardly ever close.
    """
    return written(f"turns-{events}-{seed}", _turns(np.random.default_rng([seed, 102]), events), folder)


def shift(seed: int, folder: Path, events: int = EVENTS) -> Path:
    """Orders by the web or an app, paid and shipped. At first those by the web are, later those by the app."""
    return written(f"shift-{events}-{seed}", _shift(np.random.default_rng([seed, 103]), events), folder)


def _quiet(random: np.random.Generator, events: int) -> Iterator[Event]:
    late = np.zeros(200, np.int64)  # by stop: calls until which the next is late for sure
    for n in range(events):
        rush = n >= _QUIET * events
        stop = int(random.integers(200))
        chance = 0.12 if rush else 0.004 if stop < 190 else 0.02
        is_late = bool(random.random() < chance) or (not rush and n < late[stop])
        if is_late and not rush and stop >= 190 and n >= late[stop]:
            late[stop] = n + 400
        delay = int(random.integers(301, 900)) if is_late else int(random.integers(0, 300))
        yield {"type": "Call", "ts": 250 * n, "stop": stop, "vehicle": int(random.integers(40)), "delay": delay}


def _turns(random: np.random.Generator, events: int) -> Iterator[Event]:
    closing: dict[int, list[int]] = {}  # event -> jobs that close with it
    for n in range(events):
        regime = n // int(_TURN * events) % 2
        due = closing.get(n, [])
        if due:
            job = due.pop()
            if due:
                closing.setdefault(n + 1, []).extend(due)
            yield {"type": "Close", "ts": 100 * n, "job": job, "size": int(random.integers(10))}
            continue
        size = int(random.integers(10))
        right = size < 5 if regime == 0 else size >= 5
        if random.random() < (0.6 if right else 0.03):
            wait = random.integers(20, 120) if regime == 0 else random.integers(500, 900)
            closing.setdefault(n + int(wait), []).append(n)
        yield {"type": "Open", "ts": 100 * n, "job": n, "size": size}


def _shift(random: np.random.Generator, events: int) -> Iterator[Event]:
    steps: dict[int, list[tuple[str, int, str]]] = {}  # event -> what is due with it
    for n in range(events):
        due = steps.get(n, [])
        if due:
            kind, order, channel = due.pop()
            if due:
                steps.setdefault(n + 1, []).extend(due)
            if kind == "Pay":
                steps.setdefault(n + int(random.integers(50, 300)), []).append(("Ship", order, channel))
        else:
            kind, order, channel = "Order", n, str(random.choice(["web", "app"]))
            favoured = "web" if n < _TRUE * events else "app"
            if random.random() < (0.5 if channel == favoured else 0.02):
                steps.setdefault(n + int(random.integers(50, 300)), []).append(("Pay", order, channel))
        yield {"type": kind, "ts": 100 * n, "order": order, "channel": channel}


def written(name: str, made: Iterator[Event], folder: Path) -> Path:
    """A file of these events."""
    path = folder / f"{name}.ndjson"
    path.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in made))
    return path
