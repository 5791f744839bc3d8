"""Parsers of calls, and of SQL's forms in words: CASE, CAST, POSITION, TIMESTAMP '...'."""

from __future__ import annotations

from collections.abc import Callable

from saffron.language.syntax.hints import suggestion
from saffron.language.syntax.lexing.cursor import RESERVED, Cursor
from saffron.language.syntax.lexing.tokens import Token
from saffron.language.syntax.parsing.references import parse_next
from saffron.language.syntax.sql import HINTS, foreign_function, is_null
from saffron.language.syntax.tree import Call, Expression, Literal, Name, Operation, Span, Star
from saffron.schema.functions.casts import NAMES
from saffron.schema.iso_times import parse_iso

Parse = Callable[[Cursor], Expression]
"""The parser of whole expressions."""

CASE_LIMIT = 100
"""Most WHENs of a CASE."""
NULL = Name("null")
"""The value of a CASE without ELSE."""
_BEHIND_VALUE = RESERVED | {
    "as", "between", "confidence", "consume", "exact", "from", "group", "group-by", "into", "is", "like", "output",
    "query", "regexp", "rlike", "then", "time", "weight",
}  # fmt: skip
"""Words behind which `case` is a name: those that follow a value."""


def parse_call(cursor: Cursor, parse: Parse, parse_operand: Parse) -> Expression:
    """A function call; NEXT(...), CAST(...), and min and max of several arguments, have their own nodes or names.

    `parse_operand`: the parser of an operand of a comparison, as that before the IN of POSITION.
    """
    name = cursor.advance()
    cursor.enter(cursor.advance())
    if name.lower == "next":
        cursor.leave()
        return parse_next(cursor, name)
    if name.lower == "cast":
        return _cast(cursor, name, parse)
    if name.lower == "position":
        return _position(cursor, name, parse, parse_operand)
    arguments = [] if cursor.token.is_symbol(")") else [_argument(cursor, parse)]
    while arguments and cursor.accept(","):
        arguments.append(_argument(cursor, parse))
    before = cursor.tokens[cursor.index - 1].lower
    hint = HINTS[before] if before == "distinct" else foreign_function(name.lower)
    cursor.expect(")", f"after the arguments of {name.value[:20]}", hint=hint)
    cursor.leave()
    function = name.lower
    if cursor.token.is_symbol("."):
        hint = foreign_function(function) or f"An attribute stands in the brackets: {name.value[:20]}(a.x)."
        raise cursor.error("the value of a function has no attributes", cursor.span_from(name.start), hint=hint)
    if len(arguments) > 1:
        function = {"min": "least", "max": "greatest"}.get(function, function)
    return Call(function, tuple(arguments), span=cursor.span_from(name.start))


def _argument(cursor: Cursor, parse: Parse) -> Expression:
    star = cursor.accept("*")
    return Star(span=Span(star.start, star.end)) if star else parse(cursor)


def _position(cursor: Cursor, name: Token, parse: Parse, parse_operand: Parse) -> Call:
    """The rest of POSITION(part IN text), or of position(text, part), behind its opening bracket."""
    arguments = [] if cursor.token.is_symbol(")") else [parse_operand(cursor)]
    if arguments and cursor.accept_word("in"):
        arguments.insert(0, parse(cursor))
    else:
        while arguments and cursor.accept(","):
            arguments.append(parse(cursor))
    cursor.expect(")", "after the arguments of position")
    cursor.leave()
    return Call("position", tuple(arguments), span=cursor.span_from(name.start))


def _cast(cursor: Cursor, name: Token, parse: Parse) -> Call:
    """The rest of CAST(x AS type), behind its opening bracket: a call of the function that it is."""
    operand, function = parse(cursor), _type(cursor)
    cursor.expect(")", "after the type of CAST")
    cursor.leave()
    return Call(function, (operand,), span=cursor.span_from(name.start))


def _type(cursor: Cursor) -> str:
    """The name of the function that a CAST with this AS type is."""
    if not cursor.accept_word("as"):
        cursor.fail("expected AS and a type in CAST", hint="Write CAST(a.x AS number).")
    token = cursor.token
    if token.lower not in NAMES:
        hint = f"Types: number, integer, string, boolean, timestamp. {suggestion(token.value, NAMES)}".rstrip()
        cursor.fail("expected a type after AS", hint=hint)
    cursor.advance()
    return NAMES[token.lower]


def is_case(cursor: Cursor) -> bool:
    """True if the word at the cursor begins CASE ... END, and is no name."""
    follower = cursor.peek()
    if cursor.token.lower != "case" or follower.kind == "end":
        return False
    if follower.kind == "word":
        return follower.lower not in _BEHIND_VALUE
    return follower.kind in ("number", "string")


def parse_case(cursor: Cursor, parse: Parse) -> Expression:
    """CASE [x] WHEN c THEN v ... [ELSE v] END, as a call of case(c, v, ..., v)."""
    start = cursor.advance()
    cursor.enter(start)
    operand = None if cursor.token.lower == "when" else parse(cursor)
    parts: list[Expression] = []
    while when := cursor.accept_word("when"):
        test = parse(cursor)
        if operand is not None:
            test = Operation("=", operand, test, span=test.span)
        if not cursor.accept_word("then"):
            cursor.fail("expected THEN after the condition of WHEN")
        parts += [test, parse(cursor)]
        if len(parts) > 2 * CASE_LIMIT:
            raise cursor.error(f"a CASE of more than {CASE_LIMIT} WHENs", when)
    if not parts:
        cursor.fail("expected WHEN after CASE", hint="Write CASE WHEN a.x > 1 THEN 'high' ELSE 'low' END.")
    otherwise = parse(cursor) if cursor.accept_word("else") else NULL
    end = cursor.token
    if not cursor.accept_word("end"):
        cursor.fail("expected WHEN, ELSE or END", hint="Every CASE has an END.")
    cursor.leave()
    if isinstance(otherwise, Name) and is_null(otherwise.name):
        otherwise = Name(NULL.name, span=Span(end.start, end.end))
    return Call("case", (*parts, otherwise), span=cursor.span_from(start.start))


def is_timestamp(cursor: Cursor) -> bool:
    """True if TIMESTAMP '...' stands at the cursor."""
    return cursor.token.lower == "timestamp" and cursor.peek().kind == "string"


def parse_timestamp(cursor: Cursor) -> Literal:
    """TIMESTAMP '2026-05-01 12:00:00+02:00': ms since 1970; without an offset it is in UTC."""
    start, text = cursor.advance(), cursor.advance()
    value = parse_iso(text.value.strip())
    if value is None:
        hint = "Write it as in TIMESTAMP '2026-05-01 12:00:00.250+02:00'; without an offset it is in UTC."
        raise cursor.error("this is no time", text, hint=hint)
    return Literal(value, span=Span(start.start, text.end))
