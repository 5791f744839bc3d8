"""A match plan compiled: its automaton and kernels. Compiling takes a second or so, the cache on disk much less."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels import functions
from saffron.engine.kernels.generated import loaded
from saffron.engine.kernels.jit import Function
from saffron.engine.kernels.kernel_source import KernelSource
from saffron.engine.kernels.vectors import lanes
from saffron.engine.match.compressed.build import Builder
from saffron.engine.match.core import due, key_table, runs
from saffron.engine.match.core.automaton import State, build
from saffron.engine.match.core.classifier import classifier_of
from saffron.engine.match.core.classify import TypeMasks, bit_tests, type_masks
from saffron.engine.match.core.kernel_layout import Names, begin_bit
from saffron.engine.match.core.source import arithmetic
from saffron.engine.match.core.source.user_functions import called
from saffron.engine.match.core.step_text import StepText
from saffron.engine.match.flat.given_events import GivenEvents
from saffron.engine.match.flat.scanned_events import ScannedEvents
from saffron.engine.match.flat.step_source import StepSource
from saffron.engine.match.general import automaton as general
from saffron.engine.match.general import expiry, pending, watched
from saffron.engine.match.general.classify import component_masks, component_tests
from saffron.engine.match.general.closing import Closing, closing
from saffron.engine.match.general.pending import UNTIMED
from saffron.engine.match.general.source.step_source import GeneralSource
from saffron.engine.match.general.source.table_text import TableText
from saffron.engine.match.merging import HELPERS
from saffron.engine.match.merging.plans import deferring
from saffron.engine.match.planning.flat_or_table import counts_events
from saffron.engine.match.selection.choice import Choice
from saffron.engine.operators import aggregates
from saffron.engine.operators.engine_choice import Engine, EngineChoice
from saffron.engine.windows import bounds
from saffron.language.plan.limits import KEPT
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy


@dataclass(frozen=True)
class Program:
    """The compiled form of a match plan: its kernels, and the arrays and facts that they need.

    - `step`, `classify` (None: an event's type is enough): kernels. `sources`: their texts. `step_names`,
      `classify_names`: the columns and strings that each reads. `builder`: of a plan run as graphs, the kernel that
      builds them, also `step`.
    - `states`: the pools of runs that `step` needs. `tables`: the arrays after them.
    - `begins`: the bits of events that may begin a run. `founds`: of those from which on a key is known. `every`:
      `step` takes all events of a key, wanted or not.
    - `pending`: the first state of matches that wait for the end of their window; None without any. `late`: there are
      such matches. `trailing`: of a table, the trailing NOTs that matches wait for, by ending; -1 for none. `due`: see
      `pending.close`.
    - `closing`: the windows of a plan WITH TIMEOUTS. `leads`: the time (ms) that a NOT looks back from the first event.
    - `uncounted`: results of other queries are marked so in their masks.
    - `merging`: the state whose equivalent runs merge (N7). The pool of their followers is behind those of `states`.
    """

    plan: MatchPlan
    states: tuple[State, ...]
    type_masks: TypeMasks
    begins: int
    founds: int
    every: bool
    step: Function
    step_names: Names
    classify: Function | None
    classify_names: Names
    tables: tuple[NDArray[np.int64], ...] = ()
    pending: int | None = None
    late: bool = False
    closing: Closing | None = None
    uncounted: bool = False
    merging: int | None = None
    trailing: tuple[int, ...] = ()
    due: tuple[int, int] = UNTIMED
    leads: int = 0
    builder: Builder | None = None
    sources: tuple[KernelSource, ...] = ()

    @property
    def flat(self) -> bool:
        """True if runs are in the pool of the component bound last; else all are in one, and walk a table."""
        return not self.tables

    def may_begin(self, component: int) -> bool:
        """True if an event may begin a run by being bound to this component."""
        return bool(self.begins & (begin_bit(component) if self.flat else 1 << component))

    @property
    def defers(self) -> bool:
        """True if matches of merged runs are read off the chain that these share."""
        return deferring(self.plan, self.merging)

    @property
    def waits(self) -> bool:
        """True if some results are known only when a window has closed."""
        return Choice.waits(self.plan, late=self.late)

    @property
    def lag(self) -> int:
        """The time after its own windows in which an event may still be needed, in the window's clock."""
        return max(self.leads, Choice.lag(self.plan, late=self.late))


def compile_program(
    plan: MatchPlan, choice: EngineChoice, *, compiled: bool = True, derived: frozenset[str] = frozenset()
) -> Program:
    """The program of a plan that runs match. A shell calls this in a subprocess first, so that the stream never waits
    for the compiler. The last ones are kept: every partition asks for the same.

    `choice`: SCAN, FLAT or TABLE (`planning.engine`). `compiled` False: the same kernels as plain Python.
    `derived`: types of events that are results of other queries.
    """
    return _kept(plan, choice, compiled, derived, aggregates.changes())


@lru_cache(maxsize=KEPT)
def _kept(
    plan: MatchPlan, choice: EngineChoice, compiled: bool, derived: frozenset[str], aggregates_known: int
) -> Program:
    """`aggregates_known`: the number of their changes; kernels call them."""
    del aggregates_known
    if choice.engine is Engine.TABLE:
        return _general(plan, compiled, derived if counts_events(plan) else frozenset())
    return _flat(plan, compiled, choice)


def _flat(plan: MatchPlan, compiled: bool, choice: EngineChoice) -> Program:
    """The program of a flat plan: the text of its kernel has a part for each state. `choice`: SCAN or FLAT.

    The kernel of SCAN picks its events itself; that of FLAT is given stored rows.
    """
    automaton = build(plan)
    names = Names()
    merging, scans = choice.merging, choice.engine is Engine.SCAN
    helpers = (arithmetic, functions, runs, due, lanes, *(HELPERS if merging is not None else ()))
    text = StepText(automaton, names, merging)
    events = ScannedEvents(text) if scans else GivenEvents(text)
    helpers += (key_table,) if scans else ()
    source = KernelSource("step", StepSource(text, events).module(), helpers)
    classifier = classifier_of(bit_tests(automaton))
    return Program(
        plan=plan,
        states=automaton.states,
        type_masks=type_masks(automaton),
        begins=begin_bit(0),
        founds=begin_bit(0),
        every=plan.strategy is Strategy.PARTITION,
        step=loaded(source, compiled=compiled),
        step_names=names,
        classify=classifier.load(compiled=compiled),
        classify_names=classifier.names,
        merging=merging,
        sources=(*classifier.sources, source),
    )


def _general(plan: MatchPlan, compiled: bool, uncounted: frozenset[str]) -> Program:
    """The program of a plan that walks a table of states.

    `uncounted`: types of events that are results of other queries, which contiguity does not count.
    """
    automaton = general.build(plan, uncounted)
    names = Names()
    made = GeneralSource(TableText(automaton, names))
    helpers = (arithmetic, functions, runs, lanes, bounds, pending, expiry, watched)
    source = KernelSource("step", made.module(), helpers)
    own = called(automaton.state.features, compiled=compiled)
    classifier = classifier_of(component_tests(automaton))
    table = automaton.table
    return Program(
        plan=plan,
        states=(automaton.state,),
        type_masks=component_masks(plan),
        begins=made.begins,
        founds=made.begins | sum(1 << one for one in automaton.leading_components),
        every=made.partitions,
        step=loaded(source, functions=own, compiled=compiled),
        step_names=names,
        classify=classifier.load(compiled=compiled),
        classify_names=classifier.names,
        sources=(*classifier.sources, source),
        tables=(table.states, table.edges, table.targets),
        pending=len(table.states) if automaton.trailing or plan.timeouts else None,
        late=bool(automaton.trailing),
        closing=closing(automaton) if plan.timeouts else None,
        uncounted=automaton.uncounted,
        due=automaton.due,
        leads=automaton.lag,
        trailing=tuple(automaton.trailing.index(one.trailing) if one.trailing else -1 for one in table.endings),
    )
