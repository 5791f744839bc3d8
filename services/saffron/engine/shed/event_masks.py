"""Masks of events: the events of a block that each query does not see, and the loss of its matches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.shed.belief.belief import SHARE, beyond
from saffron.engine.shed.belief.beliefs import Beliefs
from saffron.engine.shed.drops.chance import exempt
from saffron.engine.shed.drops.evenly import UNKNOWN
from saffron.engine.shed.known import Known, Queries
from saffron.engine.shed.means import promised

Bits = NDArray[np.uint64]
Marks = NDArray[np.bool_]

_SPAN = 65_536
"""Events of a span that is exempt as a whole, where windows are not known."""
_LEAST_SPAN, _WINDOWS_A_SPAN = 256, 4


@dataclass(frozen=True)
class Masked:
    """The dropped events of a block. `mask`: bits to set in `Columns.dropped`, None: no event goes.

    By query: `gone`, the part of what its matches need of the block that goes; `promised`, the same by the curve that
    chose the share; `masked`, the share of its events that goes; `fitting`, the same of the events that it can take;
    `false`, matches found too many for each true one, as models expect.
    """

    mask: Bits | None = None
    gone: Mapping[str, float] = field(default_factory=dict)
    promised: Mapping[str, float] = field(default_factory=dict)
    masked: Mapping[str, float] = field(default_factory=dict)
    fitting: Mapping[str, float] = field(default_factory=dict)
    false: Mapping[str, float] = field(default_factory=dict)


def mask_events(known: Known, block: Block, shares: Mapping[str, float], queueing: float) -> Masked:
    """The drop masks of a block's events for each query.

    `shares`: query -> the share of its events to drop. `queueing`: the block's wait in ms. No event is dropped in
    exempt spans of the stream. They are not exempt once the wait is halfway between the start of dropping and the
    bound.
    """
    settings, seq = known.settings, block.columns.seq
    kept = np.zeros(len(seq), np.bool_)
    if queueing < (1 + settings.start) / 2 * settings.bound:
        kept = exempt(settings.seed, seq, _span(known.queries.models), settings.exempt)
    mask, left = np.zeros(len(seq), np.uint64), float(1 - kept.mean())
    gone, promises, masked, fitting, false = {}, {}, {}, {}, {}
    for name, share in shares.items():
        traits = known.queries.traits[name]
        marks = known.events.marks(block.columns, name, traits, share, known.believed[name].events)
        going = marks & ~kept
        mask[going] |= np.uint64(1 << known.queries.slots[name])
        gone[name] = _needed(known, name, share, marks) * left
        promises[name] = _of_each(promised(known, name).at(share), known.queries.length(name)) * left
        fits = known.events.taking.fits(name, len(seq))
        masked[name], fitting[name] = float(going.mean()), float(going[fits].mean()) if fits.any() else 0.0
        false[name] = known.events.false(name, traits.by, share) * left
    return Masked(mask if mask.any() else None, gone, promises, masked, fitting, false)


def mask_all(block: Block, queries: Queries) -> Masked:
    """All events go, of each query that may lose anything."""
    bits = np.uint64(sum(1 << queries.slots[name] for name in queries.at_all))
    whole = dict.fromkeys(queries.at_all, 1.0)
    return Masked(
        np.full(len(block.columns), bits, np.uint64) if bits else None, gone=whole, masked=whole, fitting=whole
    )


def note_trials(known: Known, block: Block, shares: Mapping[str, float], beliefs: Beliefs) -> None:
    """Remember which events learned orders alone would drop, for trials of them."""
    for name in known.queries.by_events:
        traits = known.queries.traits[name]
        if name in known.events.models and traits.by.evenly:
            even = known.events.even(name, traits.by)
            least = beyond(even.spare, SHARE) if even.spare > 0 else 0.0
            goes = known.events.marks(block.columns, name, traits, max(shares.get(name) or SHARE, least))
            beliefs.saw(name, block.columns.seq, goes, even, known.queries.models.get(name))


def _needed(known: Known, name: str, share: float, marks: Marks) -> float:
    """The dropped share of the block's contributions to the query's matches.

    It follows from the model as far as that is believed, and from even dropping for the rest. It is 0 where only events
    go that the query cannot take: most shedders drop these first, which models do not know.
    """
    by, length, belief = known.queries.traits[name].by, known.queries.length(name), known.believed[name].events
    if by.evenly and not marks[known.events.taking.fits(name, len(marks))].any():
        return 0.0
    parts, even = known.events.parts(name, by, share, marks, length), known.events.even(name, by)
    if belief == 1.0 or even is UNKNOWN:
        return parts
    return float(belief * parts + (1.0 - belief) * _of_each(even.lost(share, length), length))


def _of_each(lost: float, length: float) -> float:
    """The share of each of a match's events that goes where this share of matches is lost."""
    return float(1.0 - (1.0 - lost) ** (1.0 / length))


def _span(models: Mapping[str, TransitionModel]) -> int:
    """The length of a span: much shorter than a stream, and much longer than windows, to hold some whole."""
    if not models:
        return _SPAN
    return max(_LEAST_SPAN, int(_WINDOWS_A_SPAN * max(model.expected_events for model in models.values())))
