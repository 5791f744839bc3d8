"""The parser: a query's text to its syntax tree, by recursive descent.

`patterns`, `expressions`, `references` and `clauses` parse the parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from saffron.language.syntax.lexing.cursor import Cursor
from saffron.language.syntax.parsing import clauses
from saffron.language.syntax.parsing.checks import check_expression, check_expressions
from saffron.language.syntax.parsing.expressions import parse_expression
from saffron.language.syntax.parsing.misplaced import hint_of_misplaced
from saffron.language.syntax.parsing.patterns import parse_pattern
from saffron.language.syntax.parsing.publish import parse_emit, parse_publish
from saffron.language.syntax.tree import Expression, Query, Span

_PARTS: dict[str, tuple[tuple[str, ...], Callable[[Cursor], Any]]] = {
    "query": (("name",), lambda cursor: clauses.parse_name(cursor, "the query")),
    "from": (("stream",), lambda cursor: clauses.parse_name(cursor, "the stream")),
    "pattern": (("pattern",), lambda cursor: parse_pattern(cursor, clauses.is_clause)),
    "where": (("strategies", "conditions"), clauses.parse_where),
    "group": (("group",), clauses.parse_group),
    "having": (("having",), parse_expression),
    "within": (("within",), clauses.parse_within),
    "return": (("returns",), clauses.parse_returns),
    "output": (("output",), clauses.parse_output),
    "consume": (("consume",), clauses.parse_consume),
    "confidence": (("confidence",), clauses.parse_confidence),
    "time": (("time",), clauses.parse_time),
    "weight": (("weight",), clauses.parse_weight),
    "exact": (("exact",), clauses.parse_exact),
    "emit": (("emit",), parse_emit),
    "publish": (("publish",), parse_publish),
}
"""Clause -> the fields of Query that it fills, and its parser."""


@lru_cache(maxsize=64)
def parse(text: str) -> Query:
    """The syntax tree of one query. It is immutable and cached, so a text that is bound often is parsed once.

    Raises QueryError (stage "syntax") for every text that is no query, and no other error.
    """
    cursor = Cursor(text)
    found: dict[str, Any] = {}
    while cursor.token.kind != "end" and not _final_semicolon(cursor):
        clause = _clause(cursor, found)
        cursor.advance()
        fields, parse_part = _PARTS[clause]
        value = parse_part(cursor)
        found.update(zip(fields, value if len(fields) > 1 else (value,), strict=True))
    for clause, example in (("pattern", "PATTERN SEQ(A a, B b)"), ("within", "WITHIN 1 hour")):
        if clause not in found:
            end = cursor.tokens[-1].end
            message = f"the query has no {clause.upper()}"
            raise cursor.error(message, Span(end, end), hint=f"Every query needs one, as in: {example}.")
    query = Query(**found, text=text, span=Span(cursor.tokens[0].start, cursor.tokens[-1].end))
    check_expressions(query)
    return query


def parse_condition(text: str) -> Expression:
    """The syntax tree of a condition on one event, outside of a query. QueryError (stage "syntax"): it is none.

    A path in it is a Reference without an attribute: its variable is the whole dotted name.
    """
    cursor = Cursor(text, paths=True)
    expression = parse_expression(cursor)
    if cursor.token.kind != "end":
        cursor.fail("expected an operator, or the end of the condition")
    check_expression(text, expression, is_condition=False)
    return expression


def _clause(cursor: Cursor, found: dict[str, Any]) -> str:
    """The clause that starts at the cursor. QueryError if none starts there, or if `found` has that clause."""
    token = cursor.token
    clause = "group" if token.lower == "group-by" else token.lower
    if clause not in _PARTS:
        hint = hint_of_misplaced(cursor, next(reversed(found), ""))
        cursor.fail(
            "expected a clause" if not found else "expected the next clause, or the end of the query", hint=hint
        )
    if any(field in found for field in _PARTS[clause][0]):
        hint = "A file holds one query." if clause in ("query", "pattern") else "Each clause stands once."
        raise cursor.error(f"a second {token.value.upper()}", token, hint=hint)
    return clause


def _final_semicolon(cursor: Cursor) -> bool:
    """True if a semicolon, which is a comma to the tokenizer, ends the text."""
    token = cursor.token
    return token.is_symbol(",") and cursor.text[token.start] == ";" and cursor.peek().kind == "end"
