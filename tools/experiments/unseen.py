"""Streams of three kinds that no paper has, seeded: payments that grow, logins after failures, machines that warm up.

Each makes so many events as JSON lines, in a file below `folder`. Their matches come at random, at the same rate all
along; what they tell apart from others, little training does not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from experiments.changing import EVENTS, Event, written


def payments(seed: int, folder: Path, events: int = EVENTS) -> Path:
    """Payments by cards, of which a few cards pay often; any may be part of a match, and another takes its place."""
    return written(f"payments-{events}-{seed}", _payments(np.random.default_rng([seed, 104]), events), folder)


def logins(seed: int, folder: Path, events: int = EVENTS) -> Path:
    """Failed logins and logins of users, and resets of passwords in between."""
    return written(f"logins-{events}-{seed}", _logins(np.random.default_rng([seed, 105]), events), folder)


def machines(seed: int, folder: Path, events: int = EVENTS) -> Path:
    """Temperatures of machines, some of which rise for a while before an alarm, and alarms of others."""
    return written(f"machines-{events}-{seed}", _machines(np.random.default_rng([seed, 106]), events), folder)


def _payments(random: np.random.Generator, events: int) -> Iterator[Event]:
    for n in range(events):
        card = int(400 * random.random() ** 2)
        yield {"type": "Pay", "ts": 100 * n, "card": card, "amount": round(float(random.lognormal(3.0, 1.0)), 2)}


def _logins(random: np.random.Generator, events: int) -> Iterator[Event]:
    kinds = random.choice(["Fail", "Login", "Reset", "Page"], events, p=[0.3, 0.1, 0.1, 0.5])
    for n, kind in enumerate(kinds.tolist()):
        yield {"type": kind, "ts": 100 * n, "user": int(random.integers(300)), "code": int(random.integers(5))}


def _machines(random: np.random.Generator, events: int) -> Iterator[Event]:
    heat = np.full(200, 20.0)
    rising = np.zeros(200, np.bool_)
    for n in range(events):
        machine = int(random.integers(200))
        if rising[machine] and heat[machine] > 60:
            rising[machine], heat[machine] = False, 20.0
            yield {"type": "Alarm", "ts": 100 * n, "machine": machine, "heat": 60.0}
            continue
        rising[machine] |= bool(random.random() < 0.02)
        heat[machine] += float(random.uniform(2, 15)) if rising[machine] else float(random.normal(0, 1))
        kind = "Alarm" if random.random() < 0.01 else "Heat"
        yield {"type": kind, "ts": 100 * n, "machine": machine, "heat": round(float(heat[machine]), 1)}
