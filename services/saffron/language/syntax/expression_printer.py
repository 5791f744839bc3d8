"""The printer of expressions: each with only the brackets that it needs, and one spelling for each meaning."""

from __future__ import annotations

from dataclasses import replace

from saffron.language.syntax.lexing.cursor import RESERVED
from saffron.language.syntax.lexing.tokens import name_text, string_text
from saffron.language.syntax.parsing.calls import NULL
from saffron.language.syntax.parsing.expressions import ADD, AND, COMPARE, NEGATE, NOT, OR, PRECEDENCE
from saffron.language.syntax.paths import BUILT_IN, OF_VARIABLE, attribute_text, steps_text
from saffron.language.syntax.tree import (
    Call,
    Expression,
    Index,
    Key,
    KeyAttribute,
    Literal,
    Logic,
    Membership,
    Name,
    Next,
    Operation,
    Prefix,
    Reference,
    Star,
    references,
)
from saffron.schema.functions.casts import TYPES
from saffron.schema.numbers import EXACT, plain
from saffron.schema.table_names import Lookup

TREND_FUNCTIONS = ("count", "min", "max", "sum", "avg")
_ATOM = NEGATE + 1
"""The precedence of an operand without an operator."""
_VALUES = RESERVED | {"true", "false", "case"}
"""Words that need double quotes as a name that is a value."""


def event_name(name: str) -> str:
    """The text of a type's or a variable's name, in double quotes if it is a reserved word."""
    return name_text(name, taken=RESERVED)


def expression_text(expression: Expression, loosest: int = OR) -> str:
    """An expression, in brackets if its precedence is below `loosest`."""
    text, binding = _expression(expression)
    return text if binding >= loosest else f"({text})"


def _expression(expression: Expression) -> tuple[str, int]:
    """The text, and the precedence of its outermost operator."""
    match expression:
        case Literal(value=value):
            return literal_text(value), _ATOM
        case Name(name=name):
            return name_text(name, taken=_VALUES), _ATOM
        case Star():
            return "*", _ATOM
        case Reference(attribute=str() as name) | Next(attribute=name) if (one := Lookup.of_name(name)) is not None:
            operand = expression_text(replace(expression, attribute=one.attribute))
            return f"{operand} IN {name_text(one.table, taken=RESERVED)}", COMPARE
        case Reference():
            return reference_text(expression), _ATOM
        case Next(variable=variable, attribute=attribute, steps=steps):
            return f"NEXT({event_name(variable)}).{attribute_text(attribute)}{steps_text(steps)}", _ATOM
        case Key(attributes=attributes):
            return "[" + ", ".join(map(key_attribute_text, attributes)) + "]", _ATOM
        case Prefix(operator="not", operand=Call(function="is_null", arguments=(operand,))):
            return f"{expression_text(operand, COMPARE + 1)} IS NOT NULL", COMPARE
        case Prefix(operator="not", operand=operand):
            return "NOT " + expression_text(operand, NOT), NOT
        case Prefix(operand=operand):
            return "-" + _negated(operand), NEGATE
        case Operation(operator=operator, left=left, right=right):
            binding = PRECEDENCE[operator]
            tight = binding + 1 if binding == COMPARE else binding
            return f"{expression_text(left, tight)} {operator} {expression_text(right, binding + 1)}", binding
        case Logic(operator=operator, operands=operands):
            binding = OR if operator == "or" else AND
            return f" {operator.upper()} ".join(expression_text(part, binding + 1) for part in operands), binding
        case Membership(operand=operand, choices=choices):
            listed = ", ".join(literal_text(choice.value) for choice in choices)
            return f"{expression_text(operand, ADD)} IN ({listed})", COMPARE
        case Call(function="is_null", arguments=(operand,)):
            return f"{expression_text(operand, COMPARE + 1)} IS NULL", COMPARE
        case Call(function="like" | "regexp", arguments=(operand, Literal(), *_)):
            return _like(expression), COMPARE
        case Call():
            return _call(expression), _ATOM


def _negated(operand: Expression) -> str:
    """The operand of a minus, with a space before another minus, as -- begins a comment."""
    text = expression_text(operand, NEGATE)
    return f" {text}" if text.startswith("-") else text


def _like(call: Call) -> str:
    """LIKE or REGEXP."""
    operand, pattern, *escape = (expression_text(argument, COMPARE + 1) for argument in call.arguments)
    return f"{operand} {call.function.upper()} {pattern}" + "".join(f" ESCAPE {one}" for one in escape)


def _case(call: Call) -> str:
    """CASE WHEN ... END."""
    *parts, otherwise = call.arguments
    pairs = zip(parts[::2], parts[1::2], strict=True)
    whens = "".join(f" WHEN {expression_text(test)} THEN {expression_text(value)}" for test, value in pairs)
    return f"CASE{whens}{'' if otherwise == NULL else f' ELSE {expression_text(otherwise)}'} END"


def _call(call: Call) -> str:
    """A call: aggregates over trends, such as COUNT(*) and AVG(S.price), in capitals; others in lower case."""
    if call.function == "case" and len(call.arguments) % 2 and len(call.arguments) > 1:
        return _case(call)
    if call.function in TYPES and len(call.arguments) == 1:
        return f"CAST({expression_text(call.arguments[0])} AS {TYPES[call.function]})"
    plain = len(call.arguments) == 1 and isinstance(call.arguments[0], Star | Name)
    if len(call.arguments) == 1 and (read := list(references(call.arguments[0]))):
        plain = all(one.index is Index.NONE for one in read)
    name = call.function.upper() if plain and call.function in TREND_FUNCTIONS else call.function
    return f"{name}({', '.join(map(expression_text, call.arguments))})"


def reference_text(reference: Reference) -> str:
    """The text of a reference: a.x, b[i-1].x, b[] and so on."""
    index = {
        Index.NONE: "",
        Index.ALL: "[]",
        Index.PREVIOUS: f"[i-{reference.back}]",
        Index.NTH: f"[{reference.back}]",
    }.get(reference.index, f"[{reference.index.value}]")
    built_in = OF_VARIABLE if reference.index is Index.NONE else BUILT_IN
    if reference.index is Index.NONE and reference.attribute is None:
        return attribute_text(reference.variable) + steps_text(reference.steps)
    attribute = "" if reference.attribute is None else f".{attribute_text(reference.attribute, built_in)}"
    return name_text(reference.variable) + index + attribute + steps_text(reference.steps)


def key_attribute_text(attribute: KeyAttribute) -> str:
    """An attribute of a key: a name, a.x, or an expression."""
    if attribute.expression is not None:
        return expression_text(attribute.expression, ADD)
    if attribute.owner is None:
        return name_text(attribute.name)  # a path in quotes as a whole has no owner
    return f"{name_text(attribute.owner)}.{attribute_text(attribute.name)}"


def literal_text(value: float | str | bool) -> str:
    """A literal as a query writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return string_text(value)
    return number_text(value)


def number_text(value: float | str) -> str:
    """A number as a query writes it: all its digits, where its shortest text could be that of another whole number."""
    if isinstance(value, str):
        return value
    return repr(plain(value) if isinstance(value, float) and abs(value) >= EXACT else value)
