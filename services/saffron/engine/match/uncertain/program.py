"""A plan compiled for imprecise time: its search and its classifier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels import functions
from saffron.engine.kernels.generated import loaded
from saffron.engine.kernels.jit import Function
from saffron.engine.kernels.kernel_source import KernelSource
from saffron.engine.match.core.automaton import build
from saffron.engine.match.core.classifier import classifier_of
from saffron.engine.match.core.classify import TypeMasks, bit_tests, type_masks
from saffron.engine.match.core.kernel_layout import Names
from saffron.engine.match.core.source import arithmetic
from saffron.engine.match.planning.imprecise import is_ordered
from saffron.engine.match.uncertain import folds, search
from saffron.engine.match.uncertain.joins import Joins, joins_of
from saffron.engine.match.uncertain.search_source import asks, search_source
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pairs import exact_match


@dataclass(frozen=True)
class UncertainProgram:
    """The compiled form of a match plan over imprecise time.

    - `search`, `classify` (None: an event's type is enough): kernels. `sources`: their texts. `compiled`: they are
      machine code. `*_names`: the columns and strings that each of them reads.
    - `loose` [components]: the component is an uncorrelated closure. `asks`: see `search_state.Shape`.
    - `joins`: the order in which single events are found.
    """

    plan: MatchPlan
    type_masks: TypeMasks
    loose: NDArray[np.int64]
    asks: NDArray[np.int64]
    joins: Joins
    search: Function
    step_names: Names
    classify: Function | None
    classify_names: Names
    compiled: bool
    sources: tuple[KernelSource, ...]

    @property
    def flat(self) -> bool:
        """True if an event's bits are those of flat plans."""
        return True


def compile_uncertain(plan: MatchPlan, *, compiled: bool = True) -> UncertainProgram:
    """The program of a plan whose engine is that of imprecise time."""
    plan = exact_match(plan)
    automaton = build(plan)
    names = Names()
    source = KernelSource("search", search_source(automaton, names), (arithmetic, functions, folds, search))
    classifier = classifier_of(bit_tests(automaton))
    loose = [component.closure and not is_ordered(plan, k) for k, component in enumerate(plan.components)]
    return UncertainProgram(
        plan=plan,
        type_masks=type_masks(automaton),
        loose=np.array(loose, np.int64),
        asks=np.array(asks(automaton), np.int64),
        joins=joins_of(plan),
        search=loaded(source, compiled=compiled),
        step_names=names,
        classify=classifier.load(compiled=compiled),
        classify_names=classifier.names,
        compiled=compiled,
        sources=(*classifier.sources, source),
    )
