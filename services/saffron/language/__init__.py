"""The query language: text -> tokens -> syntax tree -> bound plan, with caret errors, and explanations of plans."""

from saffron.language.binder import Bound, bind, compile_query
from saffron.language.explain import explain_text
from saffron.language.parser import parse

__all__ = ["Bound", "bind", "compile_query", "explain_text", "parse"]
