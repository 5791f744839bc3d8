"""The query language: from the text of a query to its plan, in the order of the steps.

syntax     parsing: tokens -> cursor -> parser (clauses, patterns, expressions, references) -> tree; printer: -> text
scope      look-up of names (scope), type check (typed), windows, names of results, INTO
patterns   shapes (absences: NOT) -> layout; positions of a run -> successors, states; links for drawings
binding    match queries: match_plan; conditions -> list_conditions and not_conditions (checks), placement (flat plans),
           keys and equality, strategies, aggregates; refusals: clauses out of place
trends     aggregate queries: plan; layout -> successors -> template; edges (conditions), conjunction (AND), values
           (RETURN, HAVING); trend_graphs (edge_index, ranges): how the engine finds predecessors; sharing of graphs
plan       the result, a MatchPlan or a TrendPlan; pairs: exact comparisons; merging, consistency: properties of a plan
cost       complexity (run_factors), and the shedders that can act on a query
explain    text, JSON and drawings of a plan
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saffron.language.binder import Bound as Bound
    from saffron.language.binder import bind as bind
    from saffron.language.binder import compile_query as compile_query
    from saffron.language.explain.explain import explain_json as explain_json
    from saffron.language.explain.explain import explain_svg as explain_svg
    from saffron.language.explain.explain import explain_text as explain_text
    from saffron.language.syntax.parsing.clauses import is_name as is_name
    from saffron.language.syntax.parsing.parser import parse as parse

_HOMES = {
    "Bound": "binder",
    "bind": "binder",
    "compile_query": "binder",
    "explain_json": "explain.explain",
    "explain_svg": "explain.explain",
    "explain_text": "explain.explain",
    "is_name": "syntax.parsing.clauses",
    "parse": "syntax.parsing.parser",
}
"""Loaded when they are first used: a command that names a shedder needs no parser."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
