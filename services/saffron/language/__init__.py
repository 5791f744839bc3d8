"""The query language: from the text of a query to its plan, in the order of the steps.

syntax     tokens -> cursor -> parser (clauses, patterns, expressions, references) -> tree; printer: tree -> text
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

from saffron.language.binder import Bound, bind, compile_query
from saffron.language.explain.explain import explain_json, explain_svg, explain_text
from saffron.language.syntax.clauses import is_name
from saffron.language.syntax.parser import parse

__all__ = ["Bound", "bind", "compile_query", "explain_json", "explain_svg", "explain_text", "is_name", "parse"]
