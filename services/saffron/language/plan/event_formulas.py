"""Formulas of one event, over which an aggregate runs: `b[].qty * b[].price` in sum(b[].qty * b[].price).

A plan reads a formula as an attribute of kind FLOAT, under a name that holds the expression. No event can have such a
name. Engines add the formula's values to the columns of a block.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from saffron.language.plan.plan import Attribute, Binary, Call, Const, Expr, In, Unary, Which
from saffron.language.plan.rewrite import reads
from saffron.schema.computed import Computed
from saffron.schema.schema import COMPUTED_MARK, Kind

_MARK = COMPUTED_MARK + "="
COUNTED = "counted"
"""A call that only this module makes: 1 where a condition holds, else null."""


def formula_name(expr: Expr) -> str:
    """The name of a formula. `expr`: over attributes of one event, whatever its component."""
    return _MARK + json.dumps(_written(expr), separators=(",", ":"))


def formula_of_name(name: str) -> Expr | None:
    """The formula of this name; None if the name is no formula's.

    Its attributes are of component 0, SINGLE. Their kinds are not in the name, which stays the same when they widen.
    """
    return _read(json.loads(name.removeprefix(_MARK))) if name.startswith(_MARK) else None


def counted(condition: Expr) -> Expr:
    """The formula that is 1 where a condition holds, else null."""
    return Call(COUNTED, (condition,))


def attributes_of_name(name: str) -> tuple[str, ...]:
    """The attributes of an event that the value of this name is made of: its own, or those that it is computed from."""
    formula = formula_of_name(name)
    if formula is not None:
        inner = (leaf.name for leaf in reads(formula) if isinstance(leaf, Attribute))
        return tuple(dict.fromkeys(one for attribute in inner for one in attributes_of_name(attribute)))
    computed = Computed.of_name(name)
    return (name if computed is None else computed.attribute,)


def computed_kinds(names: Iterable[str]) -> dict[str, Kind]:
    """The kind of each computed value among the names; a formula's is FLOAT."""
    found = {name: Kind.FLOAT if name.startswith(_MARK) else _kind(name) for name in names}
    return {name: kind for name, kind in found.items() if kind is not None}


def _kind(name: str) -> Kind | None:
    one = Computed.of_name(name)
    return None if one is None else one.kind


def _written(expr: Expr) -> Any:
    """An expression as JSON."""
    match expr:
        case Const(value=value):
            return ["const", value]
        case Attribute(name=name):
            return ["attribute", name]
        case Unary(operator=operator, operand=operand):
            return ["unary", operator, _written(operand)]
        case Binary(operator=operator, left=left, right=right):
            return ["binary", operator, _written(left), _written(right)]
        case Call(function=function, arguments=arguments):
            return ["call", function, *map(_written, arguments)]
        case In(operand=operand, choices=choices):
            return ["in", _written(operand), *(choice.value for choice in choices)]
    raise ValueError(f"no formula of one event: {expr}")


def _read(body: Any) -> Expr:
    """The expression of its JSON."""
    match body:
        case ["const", value]:
            return Const(value)
        case ["attribute", name]:
            return Attribute(0, Which.SINGLE, name, Kind.FLOAT)
        case ["unary", operator, operand]:
            return Unary(operator, _read(operand))
        case ["binary", operator, left, right]:
            return Binary(operator, _read(left), _read(right))
        case ["call", function, *arguments]:
            return Call(function, tuple(map(_read, arguments)))
        case ["in", operand, *choices]:
            return In(_read(operand), tuple(map(Const, choices)))
    raise ValueError(f"no formula: {body}")
