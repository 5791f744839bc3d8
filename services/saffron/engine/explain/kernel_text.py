"""The text of the kernels that run a plan, with a legend of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from saffron.carets import printable
from saffron.engine.events.strings import Strings
from saffron.engine.explain import legend
from saffron.engine.explain.chosen import choice_of
from saffron.engine.kernels.kernel_source import KernelSource
from saffron.engine.match.core.kernel_layout import Names
from saffron.engine.match.queries.kinds import start
from saffron.engine.match.runs.runs import Runs
from saffron.engine.trends.queries.trend_query import TrendQuery
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.language.plan.trend_plan import TrendPlan
from saffron.schema.schema import Schema

_WHAT = {
    "classify": "clears in `masks` what an event cannot be to the query, by its own attributes",
    "step": "takes the key's runs through each event: they bind it, split, end or expire (NFA^b)",
    "graphs": "builds the graph of all matches that end with each event of `ends`",
    "search": "searches the matches that a new event completes, as far as their confidence lasts",
    "select": "conditions of the query: which earlier events an event may follow, and of single events",
    "advance": "takes events through the graphs of trends (GRETA), and closes windows",
}
"""The purpose of each kernel, by its entry point."""


def kernel_text(plan: Plan, schema: Schema, shed: str) -> str:
    """The generated kernels of a plan under a shedder, as Python with a heading each. SaffronError where nothing can
    run the plan. Nothing is compiled."""
    choice = choice_of(plan, schema, shed)
    head = [f"query {plan.name}: {plan.text}", f"engine {choice.engine.value}: {choice.reason}"]
    if isinstance(plan, MatchPlan):
        parts = list(_of_matches(_matching(plan, schema, shed)))
    else:
        parts = [_titled(one, ()) for one in _trends(plan, schema).sources()]
    return "\n\n\n".join([_comment(head), *parts]) + "\n"


def kernel_sources(plan: Plan, schema: Schema, shed: str) -> tuple[KernelSource, ...]:
    """The texts of the kernels for a plan under a shedder. SaffronError if no engine can run it. Compiles nothing."""
    if isinstance(plan, MatchPlan):
        return tuple(_matching(plan, schema, shed).program.sources)
    return _trends(plan, schema).machine_sources()


def _matching(plan: MatchPlan, schema: Schema, shed: str) -> Runs:
    return start(plan, schema, Strings(), slot=0, compiled=False, shed=shed)


def _trends(plan: TrendPlan, schema: Schema) -> TrendQuery:
    return TrendQuery(plan, schema.kinds, 0, compiled=False)


def _of_matches(runs: Runs) -> Iterator[str]:
    names = {"classify": runs.program.classify_names, runs.program.sources[-1].entry: runs.program.step_names}
    for source in runs.program.sources:
        yield _titled(source, _legend(runs, source, names[source.entry]))


def _legend(runs: Runs, source: KernelSource, names: Names) -> Iterator[str]:
    flat = runs.program.flat
    yield from legend.components(runs.plan, flat=flat)
    if source.entry == "step":
        yield from legend.states(runs.plan, runs.program.states, flat=flat)
    yield from legend.attributes(names)
    yield from legend.constants(names)


def _titled(source: KernelSource, names: Iterable[str]) -> str:
    """A kernel's text below a comment: its purpose, the meanings of names, and the modules of others."""
    told = [f"{source.entry}: {_WHAT[source.entry]}", *names]
    if source.helpers:
        told.append("other names are those of")
        told += [f"  {helper.__name__}" for helper in source.helpers]
    return f"{_comment(told)}\n{source.text.rstrip()}"


def _comment(lines: Iterable[str]) -> str:
    """Lines as comments; names come from users, and stay on their line."""
    return "\n".join(f"# {printable(line)}" for line in lines)
