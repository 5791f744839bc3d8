"""Parsers of predicates behind an operand: IN, BETWEEN, LIKE, REGEXP, IS NULL, each with NOT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from saffron.language.syntax.lexing.cursor import Cursor
from saffron.language.syntax.lexing.tokens import NAME_QUOTES, string_text
from saffron.language.syntax.sql import is_null, null_hint
from saffron.language.syntax.tree import (
    Call,
    Expression,
    Literal,
    Logic,
    Membership,
    Name,
    Next,
    Operation,
    Prefix,
    Reference,
    Span,
)
from saffron.schema.table_names import Lookup

Parse = Callable[[Cursor], Expression]
"""The parser of an operand of a comparison: of all that binds more tightly."""

WORDS = ("in", "between", "like", "regexp", "rlike")
"""Words that may stand behind NOT."""


def is_predicate(cursor: Cursor) -> bool:
    """True if the word at the cursor begins a predicate on the operand before it."""
    word = cursor.token.lower
    return word in WORDS or word == "is" or (word == "not" and cursor.peek().lower in WORDS)


def parse_predicate(cursor: Cursor, operand: Expression, parse: Parse) -> Expression:
    """A predicate on an operand."""
    negated = cursor.accept_word("not") is not None
    word = cursor.advance().lower
    if word == "is":
        return _is_null(cursor, operand)
    if word == "in":
        made = _membership(cursor, operand, parse)
    elif word == "between":
        made = _between(cursor, operand, parse)
    else:
        made = _like(cursor, operand, parse) if word == "like" else _regexp(cursor, operand, parse)
    return Prefix("not", made, span=made.span) if negated else made


def _is_null(cursor: Cursor, operand: Expression) -> Expression:
    """IS NULL or IS NOT NULL, behind IS."""
    negated = cursor.accept_word("not") is not None
    if not cursor.accept_word("null"):
        hint = "IS NULL and IS NOT NULL ask whether there is a value; truth values are compared: a.x = true."
        cursor.fail("expected NULL after IS", hint=hint)
    made = Call("is_null", (operand,), span=cursor.span_from(operand.span.start))
    return Prefix("not", made, span=made.span) if negated else made


def _choice_hint(cursor: Cursor, value: Expression) -> str:
    """The hint for a value behind IN that is no literal."""
    if not isinstance(value, Name):
        return "Write numbers, 'strings', true or false."
    if cursor.text[value.span.start] in NAME_QUOTES:
        return f"What stands in double quotes is a name; strings stand in single ones: {string_text(value.name)}."
    return null_hint("a.x") if is_null(value.name) else f"Did you mean {string_text(value.name)}?"


def _membership(cursor: Cursor, operand: Expression, parse: Parse) -> Expression:
    """IN (...) or IN table, behind IN."""
    if cursor.token.kind == "word":
        return _lookup(cursor, operand)

    def choice(at: Cursor) -> Literal:
        value = parse(at)
        if not isinstance(value, Literal):
            raise at.error("IN takes literals only", value.span, hint=_choice_hint(at, value))
        return value

    cursor.expect("(", "after IN", hint="IN takes choices in brackets, or the name of a table of the stream.")
    if cursor.token.is_symbol(")"):
        cursor.fail("expected a choice of IN", hint="Write choices in the brackets: a.x IN (1, 2).")
    choices = cursor.separated(choice)
    cursor.expect(")", "after the choices of IN")
    return Membership(operand, tuple(choices), span=cursor.span_from(operand.span.start))


def _lookup(cursor: Cursor, operand: Expression) -> Expression:
    """The attribute that says whether a table has an operand; the table's name stands at the cursor."""
    table = cursor.expect_name("the name of a table after IN")
    if ":" in table.value:
        raise cursor.error("a table's name has no colon", table)
    cursor.refuse_other_signs(table, "a table's name", "-")
    attribute = operand.attribute if isinstance(operand, Reference | Next) and not operand.steps else None
    if attribute is None or attribute == "len" or Lookup.of_name(attribute) is not None:
        hint = "Write a.x IN customers. Values stand in brackets: a.x IN (1, 2)."
        raise cursor.error("only an event's attribute is looked up in a table", operand.span, hint=hint)
    assert isinstance(operand, Reference | Next)
    name = Lookup(table.value, attribute).name
    return replace(operand, attribute=name, span=cursor.span_from(operand.span.start))


def _between(cursor: Cursor, operand: Expression, parse: Parse) -> Expression:
    """BETWEEN low AND high, behind BETWEEN: both bounds included."""
    low = parse(cursor)
    if not cursor.accept_word("and"):
        cursor.fail("expected AND between the bounds of BETWEEN", hint="Write a.x BETWEEN 1 AND 5.")
    high = parse(cursor)
    span = cursor.span_from(operand.span.start)
    return Logic(
        "and", (Operation(">=", operand, low, span=span), Operation("<=", operand, high, span=span)), span=span
    )


def _like(cursor: Cursor, operand: Expression, parse: Parse) -> Expression:
    """LIKE 'pattern' [ESCAPE 'c'], behind LIKE."""
    arguments = [operand, _pattern(cursor, "LIKE", parse)]
    if cursor.accept_word("escape"):
        arguments.append(_pattern(cursor, "ESCAPE", parse))
    return Call("like", tuple(arguments), span=cursor.span_from(operand.span.start))


def _regexp(cursor: Cursor, operand: Expression, parse: Parse) -> Expression:
    """REGEXP 'expression', behind REGEXP."""
    arguments = (operand, _pattern(cursor, "REGEXP", parse))
    return Call("regexp", arguments, span=cursor.span_from(operand.span.start))


def _pattern(cursor: Cursor, word: str, parse: Parse) -> Literal:
    """The literal behind LIKE, ESCAPE or REGEXP."""
    start = cursor.token
    pattern = parse(cursor)
    if isinstance(pattern, Literal) and isinstance(pattern.value, str):
        return pattern
    hint = "It is a literal: LIKE 'abc%', REGEXP '^a+$'."
    if isinstance(pattern, Name) and cursor.text[start.start] in NAME_QUOTES:
        hint = f"Double quotes hold a name. Did you mean {string_text(pattern.name)}?"
    span = Span(start.start, pattern.span.end)
    raise cursor.error(f"{word} takes a pattern in single quotes", span, hint=hint)
