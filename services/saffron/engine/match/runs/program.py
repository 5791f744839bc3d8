"""A match plan compiled: its automaton and kernels. Compiling takes a second or so, the cache on disk much less."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels import lanes, plain_lanes
from saffron.engine.kernels.jit import Function, load
from saffron.engine.match.core import arithmetic, due, runs
from saffron.engine.match.core.automaton import State, build
from saffron.engine.match.core.classify import bit_tests, classify_source, type_masks
from saffron.engine.match.core.kernel_layout import Names, begin_bit
from saffron.engine.match.core.user_functions import called
from saffron.engine.match.flat import find
from saffron.engine.match.flat.scan_source import ScanSource
from saffron.engine.match.flat.step_source import StepSource
from saffron.engine.match.flat.walking import walks_table
from saffron.engine.match.general import automaton as general
from saffron.engine.match.general import expiry, pending, watched
from saffron.engine.match.general.classify import component_masks, component_tests
from saffron.engine.match.general.closing import Closing, closing
from saffron.engine.match.general.step_source import GeneralSource
from saffron.engine.match.merging import HELPERS
from saffron.engine.match.merging.plans import deferring, mergeable
from saffron.engine.match.selection.choice import Choice
from saffron.errors import SaffronError
from saffron.language.plan.plan import MAX_COMPONENTS, Expr, MatchPlan, Strategy


@dataclass(frozen=True)
class Program:
    """`step`, `classify` (None: the type says all): kernels. `*_names`: columns and strings that each of them reads.

    `states`: the pools of runs that `step` needs; `tables`: arrays that it takes after them. `begins`: the bits of
    events that may begin a run, `founds`: of those from which on a key is known. `every`: it is to be told of all
    events of a key, wanted or not. `pending`: the first state of runs that are matches waiting for the end of their
    window; None where nothing waits for that. `late`: there are such matches. `closing`: how windows close for the runs
    of a plan WITH TIMEOUTS. `uncounted`: results of other queries are to be marked so in their masks. `merging`: the
    state whose equivalent runs merge (N7); the pool of their followers is one more after those of `states`. `trailing`:
    of a table, by ending which trailing NOTs its matches wait for, -1 for none.
    """

    plan: MatchPlan
    states: tuple[State, ...]
    type_masks: Mapping[str, int]
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

    @property
    def flat(self) -> bool:
        """Whether runs are in the pool of the component bound last; else all are in one, and walk a table."""
        return not self.tables

    def may_begin(self, component: int) -> bool:
        """Whether an event may begin a run by being bound to this component."""
        return bool(self.begins & (begin_bit(component) if self.flat else 1 << component))

    @property
    def defers(self) -> bool:
        """Whether matches of merged runs are read off the chain that these share."""
        return deferring(self.plan, self.merging)

    @property
    def waits(self) -> bool:
        """Whether some results are known only when a window has closed."""
        return Choice.waits(self.plan, late=self.late)

    @property
    def lag(self) -> int:
        """How long after its own windows an event may still be needed, in the window's clock."""
        return Choice.lag(self.plan, late=self.late)


def compile_program(
    plan: MatchPlan,
    *,
    compiled: bool = True,
    general_too: bool = False,
    derived: frozenset[str] = frozenset(),
    merges: bool = True,
    scans: bool = False,
) -> Program:
    """The program of a plan. A shell calls this in a subprocess first, so that the stream never waits for the compiler.

    `compiled` False: the same kernels as plain Python, for tests. `general_too`: a flat plan walks a table as well, as
    it always does WITH TIMEOUTS. `derived`: types of events that are results of other queries. `merges`: equivalent
    runs go on as one where that can pay (N7); the matches are the same without. `scans`: the step kernel of a flat plan
    is to be one for `ScanRuns`.
    SaffronError where the pattern is too long.
    """
    if len(plan.components) > MAX_COMPONENTS:
        message = (
            f"query {plan.name}: a pattern has at most {MAX_COMPONENTS} components, this one {len(plan.components)}"
        )
        raise SaffronError(message)
    uncounted = derived if counts_events(plan) else frozenset()
    table = general_too or bool(uncounted) or walks_table(plan)
    return _general(plan, compiled, uncounted) if table else _flat(plan, compiled, merges, scans)


def counts_events(plan: MatchPlan) -> bool:
    """Whether the query asks which events stand next to each other."""
    return bool({Strategy.STRICT, Strategy.PARTITION} & {plan.strategy, *plan.begins, *plan.continues})


def _flat(plan: MatchPlan, compiled: bool, merges: bool, scans: bool) -> Program:
    automaton = build(plan)
    names = Names()
    merging = mergeable(plan) if merges else None
    helpers = (arithmetic, runs, due, lanes if compiled else plain_lanes, *(HELPERS if merging is not None else ()))
    source: type[StepSource] = ScanSource if scans else StepSource
    helpers += (find,) if scans else ()
    step = load(source(automaton, names, merging=merging).text(), helpers=helpers, compiled=compiled)
    classify, classify_names = _classifier(bit_tests(automaton), compiled)
    return Program(
        plan=plan,
        states=automaton.states,
        type_masks=type_masks(automaton),
        begins=begin_bit(0),
        founds=begin_bit(0),
        every=plan.strategy is Strategy.PARTITION,
        step=step.step,
        step_names=names,
        classify=classify,
        classify_names=classify_names,
        merging=merging,
    )


def _general(plan: MatchPlan, compiled: bool, uncounted: frozenset[str]) -> Program:
    automaton = general.build(plan, uncounted)
    names = Names()
    source = GeneralSource(automaton, names)
    helpers = (arithmetic, runs, lanes if compiled else plain_lanes, pending, expiry, watched)
    functions = called(automaton.state.features, compiled=compiled)
    step = load(source.text(), helpers=helpers, functions=functions, compiled=compiled)
    classify, classify_names = _classifier(component_tests(automaton), compiled)
    table = automaton.table
    return Program(
        plan=plan,
        states=(automaton.state,),
        type_masks=component_masks(plan),
        begins=source.begins,
        founds=source.begins | sum(1 << one for one in automaton.leading_components),
        every=source.partitions,
        step=step.step,
        step_names=names,
        classify=classify,
        classify_names=classify_names,
        tables=(table.states, table.edges, table.targets),
        pending=len(table.states) if automaton.trailing or plan.timeouts else None,
        late=bool(automaton.trailing),
        closing=closing(automaton) if plan.timeouts else None,
        uncounted=automaton.uncounted,
        trailing=tuple(automaton.trailing.index(one.trailing) if one.trailing else -1 for one in table.endings),
    )


def _classifier(tests: Mapping[int, list[Expr]], compiled: bool) -> tuple[Function | None, Names]:
    names = Names()
    source = classify_source(tests, names)
    return None if source is None else load(source, helpers=(arithmetic,), compiled=compiled).classify, names
