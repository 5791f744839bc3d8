"""A match plan compiled: its automaton and kernels. Compiling takes a second or so, the cache on disk much less."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from saffron.engine.jit import Function, load
from saffron.engine.match import arithmetic, lanes, plain_lanes, runs
from saffron.engine.match.automaton import Automaton, build
from saffron.engine.match.classify import classify_source, type_masks
from saffron.engine.match.layout import Names
from saffron.engine.match.source import StepSource
from saffron.errors import SaffronError
from saffron.language.plan import MAX_COMPONENTS, MatchPlan


@dataclass(frozen=True)
class Program:
    """`step`, `classify` (None: the type says all): kernels. `*_names`: columns and strings that each of them reads."""

    automaton: Automaton
    type_masks: Mapping[str, int]
    step: Function
    step_names: Names
    classify: Function | None
    classify_names: Names


def compile_program(plan: MatchPlan, *, compiled: bool = True) -> Program:
    """The program of a plan. A shell calls this in a subprocess first, so that the stream never waits for the compiler.

    `compiled` False: the same kernels as plain Python, for tests. SaffronError where the pattern is too long.
    """
    if len(plan.components) > MAX_COMPONENTS:
        message = (
            f"query {plan.name}: a pattern has at most {MAX_COMPONENTS} components, this one {len(plan.components)}"
        )
        raise SaffronError(message)
    automaton = build(plan)
    step_names, classify_names = Names(), Names()
    helpers = (arithmetic, runs, lanes if compiled else plain_lanes)
    step = load(StepSource(automaton, step_names).text(), helpers=helpers, compiled=compiled)
    source = classify_source(automaton, classify_names)
    classify = None if source is None else load(source, helpers=(arithmetic,), compiled=compiled).classify
    return Program(automaton, type_masks(automaton), step.step, step_names, classify, classify_names)
