"""The event streams of the match workloads, seeded: always the same events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.columns import Column, Columns
from saffron.schema.schema import Kind, Schema

Ints = NDArray[np.int64]

_SEED = 20081


def _columns(ts: Ints, types: Ints, names: str | tuple[str, ...], **attributes: Ints) -> tuple[Schema, Columns]:
    held = tuple(attributes)
    kinds = dict.fromkeys(held, Kind.INT)
    schema = Schema(kinds, dict.fromkeys(names, held), dict.fromkeys(names, frozenset()))
    columns = Columns(
        seq=np.arange(len(ts), dtype=np.int64),
        ts=ts,
        time=np.zeros(len(ts), np.int64),
        type=Column(Kind.STRING, types.astype(np.int32), tuple(names)),
        attributes={name: Column(Kind.INT, values) for name, values in attributes.items()},
    )
    return schema, columns


def abc() -> tuple[Schema, Columns]:
    """100,000 events of ten types, one a millisecond; v in 1..1000."""
    rng = np.random.Generator(np.random.PCG64(_SEED))
    n = 100_000
    types = rng.integers(0, 10, n)
    return _columns(np.arange(n), types, "ABCDEFGHIJ", v=rng.integers(1, 1001, n))


def stock() -> tuple[Schema, Columns]:
    """1,000,000 quotes of two symbols, one a millisecond: the price goes up by 1..3 in 70 % of them, down in 15 %."""
    rng = np.random.Generator(np.random.PCG64(_SEED))
    n = 1_000_000
    symbol = rng.integers(1, 3, n)
    chance = rng.integers(1, 101, n)
    step = rng.integers(1, 4, n)
    volume = rng.integers(1, 1001, n)
    opening = rng.integers(0, 1000, 2)
    moves = np.where(chance <= 70, step, np.where(chance > 85, -step, 0))
    price = np.empty(n, np.int64)
    for number in (1, 2):
        own = symbol == number
        price[own] = opening[number - 1] + np.cumsum(moves[own])
    return _columns(np.arange(n), np.zeros(n, np.int64), ("Stock",), symbol=symbol, price=price, volume=volume)


def keyed() -> tuple[Schema, Columns]:
    """1,000,000 events of five types and 1,000 keys, ten a millisecond."""
    rng = np.random.Generator(np.random.PCG64(_SEED))
    n = 1_000_000
    types = rng.integers(0, 5, n)
    key = rng.integers(0, 1000, n)
    return _columns(np.arange(n) // 10, types, "ABCDE", key=key, v=rng.integers(1, 1001, n))


def priced(size: int) -> tuple[Schema, Columns]:
    """Windows of an S, `size` times P with a price in 1..1000, and an E, one event a millisecond; then one more S."""
    rng = np.random.Generator(np.random.PCG64(_SEED))
    windows = {20: 1000, 50: 10, 80: 1}[size]
    types = np.append(np.tile(np.array([0, *[1] * size, 2]), windows), 0)
    price = np.zeros(len(types), np.int64)
    price[types == 1] = [rng.integers(1, 1001) for _ in range(windows * size)]
    return _columns(np.arange(len(types)), types, "SPE", price=price)


_STREAMS: Mapping[str, Callable[[], tuple[Schema, Columns]]] = {"abc": abc, "stock": stock, "keyed": keyed}


@cache
def stream(name: str) -> tuple[Schema, Columns]:
    """The stream of that name, made once."""
    return _STREAMS[name]()
