"""Events as columns: the form in which they travel between services and in which kernels read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.schema.schema import NULL_INT, Kind


def is_null(kind: Kind, data: NDArray[Any]) -> NDArray[np.bool_]:
    """[n] where a column's data are null."""
    if kind in (Kind.FLOAT, Kind.NUMBER, Kind.NULL):
        absent: NDArray[np.bool_] = np.isnan(data.real)
    else:
        absent = np.equal(data, NULL_INT) if kind.is_whole else np.less(data, 0)
    return absent


@dataclass(frozen=True)
class Column:
    """One attribute of n events.

    `kind`: that of a column (`Kind.column`).
    `data`: [n], of `kind.dtype`; nulls are `kind.null`.
    `values`: for strings, the distinct strings that codes index, else empty.
    """

    kind: Kind
    data: NDArray[np.generic]
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Columns:
    """n events of one partition in (ts, arrival) order.

    `seq`: int64 [n], ascending, dense but for events that were dropped whole.
    `ts`: int64 [n], occurrence time in ms since 1970 UTC.
    `time`: int64 [n], the Kafka message's own time in ms (0 in a replay): start of the detection latency.
    `type`: a string column, never null.
    `attributes`: name -> column, in schema order; every attribute of the schema is present.
    `dropped`: uint64 [n] or None: bit q set = event dropped for the active query with slot q (shedding).
    `latest`: int64 [n] or None: the event happened at one of ts .. latest (imprecise time); None: all exactly at ts.
    `key`: uint64 [n] or None: the event's features as one number (G1, G4), where the shedder has computed them.
    `trace`: a string column or None: the trace context that events came with; None where no event had any.
    """

    seq: NDArray[np.int64]
    ts: NDArray[np.int64]
    time: NDArray[np.int64]
    type: Column
    attributes: Mapping[str, Column]
    dropped: NDArray[np.uint64] | None = None
    latest: NDArray[np.int64] | None = None
    key: NDArray[np.uint64] | None = None
    trace: Column | None = None

    def __len__(self) -> int:
        return len(self.seq)


def masked(bits: NDArray[np.uint64], slot: int) -> NDArray[np.bool_]:
    """[n] whether the bit of this slot is set: of `Columns.dropped`, whether the event was dropped for the query."""
    set_there: NDArray[np.bool_] = (bits >> np.uint64(slot)) & np.uint64(1) != 0
    return set_there
