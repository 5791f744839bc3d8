"""The query language, in the order of a query's life.

text      tokens -> cursor -> parser (clauses, patterns, expressions, references) -> tree; printer: tree -> text
meaning   binder -> match_plan or trend_plan, by way of scope, typed, aggregates, keys, strategies, windows, names,
          shapes, layout; refusals: clauses out of place -> plan
          match_plan: shapes (absences: NOT) -> layout; conditions -> meaning (what is refused), placing (flat plans),
          ruling (conditions of a NOT), agreement (keys and DISTINCT as checks)
          trend_plan: trend_layout -> walks over positions -> template; edges (conditions), conjunction (AND),
          trend_values (RETURN, HAVING) -> trend_graphs (edge_index, ranges): how the engine finds predecessors;
          sharing: which queries one graph serves
words     explain (automaton or outline, links, asking; complexity, growth; formulas, drawing) and explain_trends
          (template_words); errors: the carets
"""

from saffron.language.binder import Bound, bind, compile_query
from saffron.language.explain.explain import explain_json, explain_svg, explain_text
from saffron.language.syntax.clauses import is_name
from saffron.language.syntax.parser import parse

__all__ = ["Bound", "bind", "compile_query", "explain_json", "explain_svg", "explain_text", "is_name", "parse"]
