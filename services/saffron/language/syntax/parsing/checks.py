"""Rules for a query's expressions beyond the grammar: nesting depth, and where [attr] and * may stand."""

from __future__ import annotations

from collections.abc import Iterator

from saffron.errors import QueryError
from saffron.language.syntax.lexing.cursor import DEPTH_LIMIT
from saffron.language.syntax.tree import Call, Expression, Key, Query, Star, operands

PARTS_LIMIT = 10_000
"""Most parts of an expression, which BETWEEN and CASE x WHEN multiply where they are nested."""


def check_expressions(query: Query) -> None:
    """Raise QueryError (stage "syntax") at the first expression of a query that breaks a rule."""
    for root, is_condition in _roots(query):
        check_expression(query.text, root, is_condition=is_condition)


def check_expression(text: str, root: Expression, *, is_condition: bool) -> None:
    """Raise QueryError (stage "syntax") if an expression of the text breaks a rule. `is_condition`: it may be a key.

    The traversal keeps its own stack, because a chain of 10,000 additions is a tree of that depth.
    """
    stack = [(root, 1)]
    visited = 0
    while stack:
        expression, depth = stack.pop()
        visited += 1
        if visited > PARTS_LIMIT:
            hint = "What stands between CASE and WHEN, or before BETWEEN, is compared once for each value behind it."
            _refuse(text, root, f"a condition of more than {PARTS_LIMIT:,} parts", hint)
        if depth > DEPTH_LIMIT:
            hint = "Write it with fewer operators in a row."
            _refuse(text, expression, f"nested deeper than {DEPTH_LIMIT} levels", hint)
        if isinstance(expression, Key) and not (is_condition and depth == 1):
            _refuse(text, expression, "[...] is a condition of its own", "Join it to the others by AND, in WHERE.")
        if isinstance(expression, Key):
            stack.extend((one.expression, depth + 1) for one in expression.attributes if one.expression is not None)
        for operand in operands(expression):
            counts = isinstance(expression, Call) and expression.function == "count"
            if isinstance(operand, Star) and not (counts and operands(expression) == (operand,)):
                _refuse(text, operand, "* stands in COUNT(*) only", "")
            stack.append((operand, depth + 1))


def _roots(query: Query) -> Iterator[tuple[Expression, bool]]:
    """(expression, is_condition) for each expression of a query; `is_condition` is true for conjuncts of WHERE."""
    for condition in query.conditions:
        yield condition, True
    for attribute in query.group:
        if attribute.expression is not None:
            yield attribute.expression, False
    if query.having is not None:
        yield query.having, False
    for item in query.returns.items if query.returns else ():
        yield item.expression, False
    if query.publish is not None and query.publish.key is not None:
        yield query.publish.key, False
    if query.within.opening and query.within.opening.condition is not None:
        yield query.within.opening.condition, False


def _refuse(text: str, expression: Expression, message: str, hint: str) -> None:
    start, end = expression.span
    raise QueryError(message, stage="syntax", text=text, start=start, end=end, hint=hint)
