"""The parser of expressions, by precedence climbing: three stack frames for each level of nesting."""

from __future__ import annotations

from fractions import Fraction

from saffron.carets import quoted
from saffron.durations import UNITS, scaled
from saffron.language.syntax.lexing.cursor import RESERVED, Cursor
from saffron.language.syntax.lexing.tokens import Token
from saffron.language.syntax.parsing.calls import is_case, is_timestamp, parse_call, parse_case, parse_timestamp
from saffron.language.syntax.parsing.predicates import is_predicate, parse_predicate
from saffron.language.syntax.parsing.references import is_reference, parse_reference
from saffron.language.syntax.parsing.sizes import unit_suggestion
from saffron.language.syntax.paths import forces_path, parse_path, parse_steps, rest_of_path
from saffron.language.syntax.sql import HINTS
from saffron.language.syntax.tree import (
    Call,
    Expression,
    Index,
    Key,
    KeyAttribute,
    Literal,
    Logic,
    Name,
    Operation,
    Prefix,
    Reference,
    Span,
)

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
OR, AND, NOT, COMPARE, ADD, MULTIPLY, NEGATE = range(1, 8)
"""Precedences, the loosest first."""
CONCAT = "||"
PRECEDENCE = {"+": ADD, "-": ADD, CONCAT: ADD, "*": MULTIPLY, "/": MULTIPLY, "%": MULTIPLY} | dict.fromkeys(
    COMPARISONS, COMPARE
)
"""Operator sign -> its precedence."""


def parse_expression(cursor: Cursor, loosest: int = OR) -> Expression:
    """An expression of operators that bind at least as tightly as `loosest`.

    [attr] is accepted wherever an operand may stand; `checks` refuses it where it is no condition of its own.
    """
    left = _prefix(cursor)
    while True:
        token = cursor.token
        binding = _binding(cursor, token)
        if binding < loosest:
            return left
        if binding in (OR, AND):
            left = _logic(cursor, left, binding)
        elif binding == COMPARE:
            left = _comparison(cursor, left)
        else:
            cursor.advance()
            right = parse_expression(cursor, binding + 1)
            span = Span(left.span.start, right.span.end)
            join = token.value == CONCAT
            left = _joined(left, right, span) if join else Operation(token.value, left, right, span=span)


def _joined(left: Expression, right: Expression, span: Span) -> Call:
    """Texts joined by ||, in a row."""
    row = left.arguments if isinstance(left, Call) and left.function == "concat" else (left,)
    return Call("concat", (*row, right), span=span)


def _binding(cursor: Cursor, token: Token) -> int:
    """The precedence of the operator at `token`; 0 if there is no operator."""
    if token.kind == "symbol":
        return OR if token.value == "|" else AND if token.value == "&" else PRECEDENCE.get(token.value, 0)
    if is_predicate(cursor):
        return COMPARE
    return {"or": OR, "and": AND}.get(token.lower, 0)


def _logic(cursor: Cursor, first: Expression, binding: int) -> Expression:
    """One node for a row of ANDs or of ORs, with all its operands; `first` is parsed already."""
    operator = "and" if binding == AND else "or"
    operands: list[Expression] = [first]
    while _binding(cursor, cursor.token) == binding:
        sign = cursor.advance()
        operands.append(parse_expression(cursor, binding + 1))
        if cursor.text[sign.start] in "&|^":
            _refuse_bits(cursor, sign, operands)
    flat: list[Expression] = []
    for operand in operands:
        flat.extend(operand.operands if isinstance(operand, Logic) and operand.operator == operator else (operand,))
    return Logic(operator, tuple(flat), span=Span(first.span.start, operands[-1].span.end))


def _refuse_bits(cursor: Cursor, sign: Token, operands: list[Expression]) -> None:
    """Raise QueryError for flags & 4 = 4, which would read as flags AND (4 = 4), and for flags & 4."""
    last = operands[-1]
    compared = isinstance(last, Operation) and isinstance(last.left, Literal) and isinstance(last.right, Literal)
    if compared or (isinstance(last, Literal) and _is_number(last.value)):
        word = "AND" if sign.value == "&" else "OR"
        span = Span(operands[-2].span.start, last.span.end)
        raise cursor.error(
            f"{cursor.text[sign.start]} is {word}, which joins two conditions",
            span,
            hint="Bits are joined by functions: bit_and(a.x, 4) = 4."
            + (" A power is power(a.x, 2)." if cursor.text[sign.start] == "^" else ""),
        )


def _comparison(cursor: Cursor, left: Expression) -> Expression:
    """A comparison or a predicate behind its left operand; QueryError for a chain such as 1 < a.x < 5."""
    if is_predicate(cursor):
        return parse_predicate(cursor, left, _compared)
    token = cursor.advance()
    right = _compared(cursor)
    if _binding(cursor, cursor.token) == COMPARE:
        joins = isinstance(right, Call) and right.function == "concat"
        hint = "|| joins texts; conditions are joined by OR." if joins else _CHAIN
        cursor.fail("expected the end of the comparison", hint=hint)
    return Operation(token.value, left, right, span=Span(left.span.start, right.span.end))


_KEY_HINT = "A key has attributes, or functions of them without a variable: [user], [lower(user), host]."
_CHAIN = "Join two comparisons by AND: 1 < a.x AND a.x < 5."


def _compared(cursor: Cursor) -> Expression:
    """An operand of a comparison."""
    return parse_expression(cursor, COMPARE + 1)


def _prefix(cursor: Cursor) -> Expression:
    """An operand with its prefixes: not x, -x, +x."""
    token = cursor.token
    if token.lower == "not" or token.is_symbol("!"):
        return _prefixed(cursor, "not", NOT)
    if token.is_symbol("-", "+"):
        return _prefixed(cursor, token.value, NEGATE)
    return _operand(cursor)


def _prefixed(cursor: Cursor, operator: str, loosest: int) -> Expression:
    """An operand behind the prefix `operator`; a minus before a number becomes part of the number."""
    token = cursor.advance()
    cursor.enter(token)
    operand = parse_expression(cursor, loosest)
    cursor.leave()
    span = cursor.span_from(token.start)
    if operator == "+":
        return operand
    if operator == "-" and isinstance(operand, Literal) and _is_number(operand.value):
        assert not isinstance(operand.value, str)
        return Literal(-operand.value, span=span)
    return Prefix(operator, operand, span=span)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _operand(cursor: Cursor) -> Expression:
    """A literal, a bracket, a key, a call, a reference or a name."""
    token = cursor.token
    if token.kind == "number":
        return _number(cursor)
    if token.kind == "string":
        cursor.advance()
        return Literal(token.value, span=Span(token.start, token.end))
    if token.is_symbol("("):
        return _parenthesised(cursor)
    if token.is_symbol("["):
        return parse_key(cursor)
    if token.kind == "word":
        return _word(cursor)
    return cursor.fail("expected a value", hint=_hint_of_sign(cursor))


def _hint_of_sign(cursor: Cursor) -> str:
    """The hint for a sign of another language where a value should stand: the second character of &&, << and =>."""
    if not cursor.index:
        return ""
    before = cursor.tokens[cursor.index - 1]
    pair = cursor.text[before.start : cursor.token.end]
    return "An attribute stands behind a dot: a.x." if pair == "->" else HINTS.get(pair) or _hint_of_nothing(cursor)


def _hint_of_nothing(cursor: Cursor) -> str:
    """The hint where a value is missing: something should stand behind the token before the cursor."""
    before = cursor.tokens[cursor.index - 1] if cursor.index else cursor.token
    if before.is_symbol(","):
        return "Leave the comma out, or write a value behind it."
    if before.kind == "word" or before.is_symbol(*COMPARISONS):
        example = "x > 1" if cursor.paths else "a.x > 1"
        return (
            f"Write a value behind {cursor.text[before.start : before.end].upper()}, as in {example}, or leave it out."
        )
    return ""


def _parenthesised(cursor: Cursor) -> Expression:
    cursor.enter(cursor.advance())
    inner = parse_expression(cursor)
    hint = "Brackets hold one value: write a.x, b.x without them." if cursor.token.is_symbol(",") else ""
    cursor.expect(")", "to close the bracket", hint=hint)
    cursor.leave()
    return inner


def parse_key(cursor: Cursor) -> Key:
    """A key: [x, Type.y]."""
    start = cursor.advance().start
    if cursor.token.is_symbol("]"):
        cursor.fail("expected an attribute that all events share", hint=_KEY_HINT)
    attributes = cursor.separated(parse_key_attribute)
    cursor.expect("]", "after the attributes on which all events agree", hint=_KEY_HINT)
    return Key(tuple(attributes), span=cursor.span_from(start))


def parse_key_attribute(cursor: Cursor) -> KeyAttribute:
    """An attribute of a key: attr for all events, Type.attr or var.attr for those of one type or variable.

    The owner of order.id may be none: the binder, which knows the pattern, then makes it part of the name.
    """
    first = cursor.token
    if cursor.peek().is_symbol("(") or is_case(cursor):
        expression = _over_paths(cursor)
        return KeyAttribute(None, "", expression, span=expression.span)
    if forces_path(first) or not cursor.peek().is_symbol("."):
        owner = None
        name, _ = parse_path(cursor, "that all events share")
    else:
        owner = cursor.expect_attribute("that all events share").value
        cursor.advance()
        name, _ = parse_path(cursor, f"of {owner}")
    span = cursor.span_from(first.start)
    cursor.refuse_other_signs(span, "an attribute", "-")
    return KeyAttribute(owner, name, span=span)


def _over_paths(cursor: Cursor) -> Expression:
    """An expression whose words are paths, as there is one event and no variable."""
    outside, cursor.paths = cursor.paths, True
    expression = parse_expression(cursor, ADD)
    cursor.paths = outside
    return expression


def _number(cursor: Cursor) -> Expression:
    """A number, a percentage (80% is 0.8) or a duration (5 s is 5000)."""
    token = cursor.advance()
    value = cursor.number(token)
    follower = cursor.token
    if follower.is_symbol("%") and follower.start == token.end and not _starts_operand(cursor, cursor.peek(), follower):
        cursor.advance()
        return Literal(scaled(token.value, Fraction(1, 100)), span=Span(token.start, follower.end))
    if follower.kind == "word" and follower.lower in UNITS:
        cursor.advance()
        return Literal(scaled(token.value, UNITS[follower.lower]), span=Span(token.start, follower.end))
    if follower.kind == "word" and follower.lower not in RESERVED and follower.start == token.end:
        hint = f"Units: ms, s, seconds, minutes, hours, days. {unit_suggestion(follower.value)}".rstrip()
        if follower.value.startswith("_"):
            hint = "Write a number without _: 1000."
        raise cursor.error(f"unknown unit {quoted(follower.value)}", follower, hint=hint)
    return Literal(value, span=Span(token.start, token.end))


def _starts_operand(cursor: Cursor, token: Token, percent: Token) -> bool:
    """True if `token`, behind a % that touches a number, makes the % a modulo.

    It does in 80%x and 80%(x); it does not in 80% * x, 80% - x and 80%).
    """
    if token.is_symbol("-", "+"):
        return token.start == percent.end
    if token.kind == "word":
        return token.lower not in RESERVED | _AFTER_PERCENT and not _starts_clause(cursor)
    return token.kind in ("number", "string") or token.is_symbol("(", "[")


_AFTER_PERCENT = frozenset({"as", "between", "like", "regexp", "rlike", "is", "when", "then", "else", "end"})
"""Words that may stand behind an operand, such as 80%."""


def _starts_clause(cursor: Cursor) -> bool:
    """True if the word after the current token opens a clause rather than a reference (a.x, a[1].x, f(x))."""
    return not cursor.peek(2).is_symbol(".", "[", "(")


def _word(cursor: Cursor) -> Expression:
    """A truth value, a call, a reference, or a bare name."""
    token = cursor.token
    follower = cursor.peek()
    if token.lower in ("true", "false") and not follower.is_symbol(".", "["):
        cursor.advance()
        return Literal(token.lower == "true", span=Span(token.start, token.end))
    if token.lower in RESERVED and not follower.is_symbol(".", "["):
        cursor.fail("expected a value", hint=_hint_of_nothing(cursor))
    if is_case(cursor):
        return parse_case(cursor, parse_expression)
    if is_timestamp(cursor):
        return parse_timestamp(cursor)
    if follower.is_symbol("("):
        return parse_call(cursor, parse_expression, _compared)
    if cursor.paths:
        return _path(cursor)
    if forces_path(token) and follower.is_symbol("."):
        path, span = rest_of_path(cursor, cursor.advance())
        return Name(path, span=span)
    if is_reference(cursor):
        return parse_reference(cursor)
    cursor.advance()
    return Name(token.value, span=Span(token.start, token.end))


def _path(cursor: Cursor) -> Reference:
    """A path into one event, with the steps into an array behind it."""
    first = cursor.advance()
    path, _ = rest_of_path(cursor, first)
    steps = parse_steps(cursor)
    return Reference(path, Index.NONE, None, steps=steps, span=cursor.span_from(first.start))
