"""The judgement of arriving events: late by the watermark at their arrival, or in the log since before a restart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.decoding.decode import Decoded

_LOWEST = -(2**63)


@dataclass(frozen=True)
class Resumption:
    """The place where an earlier owner stopped: events below offset `until` up to `released` (a key) are in the log."""

    until: int
    released: tuple[int, ...]


@dataclass(frozen=True)
class Verdict:
    """The judgement on k events: `taken`, `late` and `limits` [k], the watermark (ms) at each arrival.

    `watermark`: in force after the records. `heard`: the watermark without silence then, None as it was given.
    `silenced` [k]: the late ones that are late by silence alone.
    """

    taken: NDArray[np.bool_]
    late: NDArray[np.bool_]
    limits: NDArray[np.int64]
    watermark: int
    heard: int | None
    silenced: NDArray[np.bool_]


def judge(
    decoded: Decoded,
    first: int,
    last: int,
    events: slice,
    keys: Sequence[NDArray[np.int64]],
    watermark: int,
    disorder: int,
    resumption: Resumption | None,
    heard: int | None = None,
) -> Verdict:
    """Judge the events of records first..last-1 (`events`: their range in `decoded`; `keys`: theirs, int64 [k] each).

    An event raises the watermark to its ts - disorder, a `$watermark` to its ts. An event is late if it lies below the
    watermark that its predecessors have raised. Late events raise nothing. `heard`: the watermark without silence,
    which raises none of these; None: it is the same.
    """
    rows = decoded.rows[events] - first
    ts = decoded.ts[events]
    raised = np.full(last - first + 1, _LOWEST, dtype=np.int64)
    raised[0] = watermark
    raised[rows + 1] = ts - disorder
    for mark in decoded.watermarks:
        if first <= mark.row < last:
            raised[mark.row - first + 1] = mark.ts
    in_force = np.maximum.accumulate(raised)
    limits = in_force[rows]
    late = ts < limits
    taken = ~late
    if resumption is not None:
        known = _at_most(keys, resumption.released) & (keys[-1] < resumption.until)
        late &= ~known
        taken &= ~known
    silenced = np.zeros_like(late)
    if heard is not None:
        raised[0] = heard
        without = np.maximum.accumulate(raised)
        silenced, heard = late & (ts >= without[rows]), int(without[-1])
    return Verdict(taken, late, limits, int(in_force[-1]), heard, silenced)


def _at_most(keys: Sequence[NDArray[np.int64]], bound: Sequence[int]) -> NDArray[np.bool_]:
    """bool [n]: the keys of each event are not behind `bound`; the first key counts first."""
    found = np.ones(len(keys[0]), dtype=np.bool_)
    for key, limit in zip(reversed(keys), reversed(bound), strict=True):
        found = (key < limit) | ((key == limit) & found)
    return found
