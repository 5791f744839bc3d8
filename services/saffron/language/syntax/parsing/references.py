"""The parser of references to bound events: a.x, b[i].x, b[..i-1].x, b[].x, a.(x, y), NEXT(A).x."""

from __future__ import annotations

from saffron.language.syntax.lexing.cursor import Cursor
from saffron.language.syntax.lexing.tokens import Token, name_text
from saffron.language.syntax.paths import BUILT_IN, OF_VARIABLE, parse_path, parse_steps
from saffron.language.syntax.tree import Expression, Index, Key, KeyAttribute, Next, Reference

FORMS = "In brackets stand: a number, first, i, i-1, last, ..i-1, ..i, or nothing."


def is_reference(cursor: Cursor) -> bool:
    """True if the word at the cursor is the variable of a reference."""
    return cursor.peek().is_symbol(".", "[")


def parse_reference(cursor: Cursor) -> Expression:
    """A reference; for a.(x, y) the Key [a.x, a.y], which RETURN splits into its attributes."""
    variable = cursor.advance()
    index, back = _index(cursor, variable)
    if not cursor.accept("."):
        return Reference(variable.value, index, None, back, span=cursor.span_from(variable.start))
    if index is Index.NONE and cursor.token.is_symbol("("):
        return _spread(cursor, variable)
    built_in = OF_VARIABLE if index is Index.NONE else BUILT_IN
    name, _ = parse_path(cursor, f"of {variable.value[:20]}", built_in)
    steps = parse_steps(cursor)
    return Reference(variable.value, index, name, back, steps, span=cursor.span_from(variable.start))


def _spread(cursor: Cursor, variable: Token) -> Key:
    """The attributes of a.(x, y), behind the dot."""
    cursor.advance()
    paths = cursor.separated(lambda at: parse_path(at, f"of {variable.value[:20]}"))
    attributes = [KeyAttribute(variable.value, name, span=span) for name, span in paths]
    cursor.expect(")", "after the attributes")
    return Key(tuple(attributes), span=cursor.span_from(variable.start))


def _index(cursor: Cursor, variable: Token) -> tuple[Index, int]:
    """The index in the brackets, if there are any, and k of i-k (else 0)."""
    if not cursor.accept("["):
        return Index.NONE, 0
    if cursor.accept("]"):
        return Index.ALL, 0
    token = cursor.token
    if token.is_symbol("..") or (token.value == "1" and cursor.peek().is_symbol("..")):
        index, back = _before(cursor), 0
    elif token.kind == "number":
        index, back = _nth(cursor)
    elif token.lower == "i":
        index, back = _current(cursor)
    elif token.lower in ("first", "last") and not cursor.peek().is_symbol("."):
        cursor.advance()
        index, back = (Index.FIRST if token.lower == "first" else Index.LAST), 0
    else:
        index, back = _length(cursor, variable), 0
    cursor.expect("]", "to close the brackets of " + variable.value[:20], hint=FORMS)
    return index, back


def _before(cursor: Cursor) -> Index:
    """..i-1 or ..i, with or without a 1 before them."""
    start = cursor.token.start
    if cursor.token.kind == "number":
        cursor.advance()
    cursor.advance()
    current = cursor.accept_word("i")
    if current and not cursor.accept("-"):
        return Index.THROUGH
    if not current or cursor.token.value != "1":
        raise cursor.error(
            "a range runs over the events taken so far",
            cursor.span_from(start),
            hint="Write b[..i-1] for those before b[i], b[..i] for those with it, b[] for the finished closure.",
        )
    cursor.advance()
    return Index.BEFORE


def _nth(cursor: Cursor) -> tuple[Index, int]:
    """A number, counted from 1; the first event has an index of its own. QueryError for other numbers."""
    token, number = cursor.expect_number("the number of an event")
    if not isinstance(number, int) or not 1 <= number <= NUMBER_LIMIT:
        hint = f"The events of a list are counted from 1, up to {NUMBER_LIMIT:,}. {FORMS}"
        raise cursor.error(f"no event of a closure has the number {token.value}", token, hint=hint)
    return (Index.FIRST, 0) if number == 1 else (Index.NTH, number)


NUMBER_LIMIT = 1_000_000
"""Largest n of b[n]."""


def _current(cursor: Cursor) -> tuple[Index, int]:
    """The index i or i-k."""
    cursor.advance()
    if not cursor.accept("-"):
        return Index.CURRENT, 0
    token, back = cursor.expect_number("how many events to look back")
    if not isinstance(back, int) or not 1 <= back <= LOOK_BACK_LIMIT:
        hint = f"k of b[i-k] is a whole number from 1 to {LOOK_BACK_LIMIT}."
        raise cursor.error("cannot look back so far", token, hint=hint)
    return Index.PREVIOUS, back


LOOK_BACK_LIMIT = 1000
"""Largest k of b[i-k]: each run keeps that many events at hand."""


def _length(cursor: Cursor, variable: Token) -> Index:
    """The index b.len, where b is the `variable` outside of the brackets."""
    token = cursor.token
    if token.kind != "word" or not cursor.peek().is_symbol(".") or cursor.peek(2).lower != "len":
        quoted_name = token.kind == "string" or (token.kind == "word" and not token.lower)
        hint = (
            f"An attribute stands behind a dot: {variable.value[:20]}.{name_text(token.value)}."
            if quoted_name
            else FORMS
        )
        raise cursor.error(f"expected the number of an event, found {cursor.described(token)}", token, hint=hint)
    cursor.advance()
    cursor.advance()
    cursor.advance()
    if token.value != variable.value:
        span = cursor.span_from(token.start)
        raise cursor.error("the length of another closure", span, hint=f"Write {variable.value[:40]}[last].")
    return Index.LAST


def parse_next(cursor: Cursor, keyword: Token) -> Next:
    """The rest of NEXT(A).x, after the opening bracket."""
    variable = cursor.expect_name("a variable or a type in NEXT(...)")
    if cursor.accept("["):
        cursor.expect("]", "in NEXT(...)")
    shown = variable.value[:20]
    cursor.expect(")", f"after NEXT({shown}", hint=f"Write NEXT({shown}).x for an attribute.")
    cursor.expect(".", "and an attribute after NEXT(...)")
    name, _ = parse_path(cursor, f"of {variable.value[:20]}")
    return Next(variable.value, name, parse_steps(cursor), span=cursor.span_from(keyword.start))
