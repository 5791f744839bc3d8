"""The papers' baselines: shedders that the papers' systems are compared with (P10, G9). No user chooses them.

pspice--   partial matches, by utility without the time that they still cost
pm-bl      partial matches, by a draw
espice     events, by their type and their position in the window
bl, e-bl   events, by their type; a draw within one type
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.models.transitions.partial_match import PartialMatchModel, partial_match_models
from saffron.engine.shed.drops.shedders import BY_UTILITY, GSPICE_H, POSITIONS, PSPICE, SHEDDERS, PartialOrder, Shedder
from saffron.errors import InputError
from saffron.experiments.kind_dropping import KindDropping
from saffron.experiments.kind_rates import KindRates
from saffron.language.syntax.hints import suggestion


def _without_time(models: Sequence[TransitionModel], weights: Mapping[str, float]) -> Mapping[str, PartialMatchModel]:
    """U = w * P."""
    return partial_match_models([replace(one, remaining_ns=np.zeros((0, one.states))) for one in models], weights)


@dataclass(frozen=True)
class Acting:
    """The shedder of a run. `name`: that under which queries are registered, of the paper's system beside which a
    baseline stands. `shedder`: the one that acts under this name."""

    name: str
    shedder: Shedder

    @property
    def shedders(self) -> Mapping[str, Shedder]:
        """The shedders of the product, and this one."""
        return {**SHEDDERS, self.name: self.shedder}


def acting(name: str, rates: Mapping[str, KindRates]) -> Acting:
    """The shedder of this name, a baseline or not. `rates`: of kinds of events, by query. InputError: there is none."""
    if name in SHEDDERS:
        return Acting(name, SHEDDERS[name])

    def by_kind(model: EventModel) -> KindDropping | None:
        return KindDropping(model, rates[model.query]) if model.query in rates else None

    baselines = {
        "pspice--": Acting(PSPICE.name, Shedder(name, partial=PartialOrder(_without_time))),
        "pm-bl": Acting(PSPICE.name, Shedder(name, partial=replace(BY_UTILITY, ranks=False))),
        "espice": Acting(GSPICE_H.name, Shedder(name, (POSITIONS,))),
        **dict.fromkeys(("bl", "e-bl"), Acting(GSPICE_H.name, Shedder(name, (by_kind,)))),
    }
    if name not in baselines:
        known = (*SHEDDERS, *baselines)
        raise InputError(f"there is no shedder {name!r}; there are {', '.join(known)}. {suggestion(name, known)}")
    return baselines[name]
