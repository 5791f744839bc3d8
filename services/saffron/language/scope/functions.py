"""The binding of function calls: kinds checked, and each call placed where it is computed.

A function of numbers is computed by kernels, of whichever events. Every other function of one event is a computed value
of it (`schema.computed`), which engines read as an attribute. Of several events it is computed in RETURN only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from saffron.language.plan.expressions import Aggregate, Attribute, Call, Const, Expr, GroupValue, TrendValue
from saffron.language.plan.rewrite import parts, reads
from saffron.language.plan.trees import tree_of
from saffron.language.scope.array_elements import is_open, settled
from saffron.language.scope.scope import Scope
from saffron.language.scope.sorts import GUESS, OF_ELEMENT, SORTS, Sort, Typed
from saffron.language.syntax import tree
from saffron.language.syntax.sql import is_null
from saffron.schema.computed import Applied, Computed, evaluated, of_kind
from saffron.schema.functions import network, own, text, times
from saffron.schema.functions.built_in import CHOICES
from saffron.schema.functions.function import Function, Takes
from saffron.schema.schema import Kind

_SORTS = {Takes.TEXT: Sort.STRING, Takes.NUMBER: Sort.NUMBER, Takes.TRUTH: Sort.BOOLEAN, Takes.SERIES: Sort.ARRAY}
_NOUNS = {Takes.TEXT: "text", Takes.NUMBER: "numbers", Takes.TRUTH: "truth values", Takes.SERIES: "text or an array"}
_CHOSEN = ("coalesce", "nullif", "case")
"""Functions whose value is one of their arguments."""
_CASTS = {"to_number": Sort.NUMBER, "to_string": Sort.STRING, "to_boolean": Sort.BOOLEAN, "to_timestamp": Sort.NUMBER}
"""CAST to a type -> the type of values that it leaves as they are."""
_RIGHT: Mapping[Callable[[str], str], str] = {
    text.wrong_regexp: "It is an expression of RE2, which has no back references and no looking ahead or behind.",
    times.wrong_zone: "Zones have their names in the tz database, as in hour(a.ts, 'Europe/Berlin').",
    network.wrong_cidr: "Write a subnet as in '10.0.0.0/8' or '2001:db8::/32'.",
}
"""Check of a literal -> the right form."""
_WRITTEN = {"like": "a.x LIKE 'abc%'", "regexp": "a.x REGEXP '^abc'"}
"""Function that is written as an operator -> as it is written."""

Bind = Callable[[tree.Expression], Typed]


def settle(typed: Typed, sort: Sort) -> Typed:
    """The expression, with an attribute's unknown kind guessed from the `sort` that is wanted of it."""
    expr = typed.expr
    if is_open(expr):
        assert isinstance(expr, Attribute)
        return Typed(settled(expr, OF_ELEMENT[sort]), sort) if sort in OF_ELEMENT else typed
    if typed.sort is Sort.UNKNOWN and isinstance(expr, Attribute) and expr.kind is not Kind.NULL and sort in GUESS:
        return Typed(replace(expr, kind=GUESS[sort]), sort)
    return typed


def bind_function(call: tree.Call, row: Function, bind: Bind, scope: Scope, *, returned: bool) -> Typed:
    """A bound call of a function. `returned`: it stands in RETURN or HAVING, which may compute with several events."""
    _check_count(call, row, scope)
    arguments = [_argument(row, place, one, bind, scope) for place, one in enumerate(call.arguments)]
    kind = row.gives
    if call.function in _CHOSEN:
        arguments, kind = _chosen(call, arguments, scope)
    if call.function in _CASTS and arguments[0].sort is _CASTS[call.function]:
        return arguments[0]
    # An element of unknown kind is read as it is.
    arguments = [settle(one, Sort.ARRAY) for one in arguments]
    assert kind is not None
    made = _placed(call, row, [one.expr for one in arguments], kind, scope, returned=returned)
    return Typed(made, SORTS[kind])


def refuse_own(expression: tree.Expression, scope: Scope) -> None:
    """Raise QueryError for a function of a user's own where its failure would stop more than its query."""
    if isinstance(expression, tree.Call) and own.find(expression.function) is not None:
        hint = "Functions of your own stand in WHERE, RETURN, keys, GROUP BY and HAVING of a query."
        message = f"{expression.function} is a function of your own, and cannot be called here"
        raise scope.plan_error(message, expression.span, hint)
    for operand in tree.operands(expression):
        refuse_own(operand, scope)


def _check_count(call: tree.Call, row: Function, scope: Scope) -> None:
    count = len(call.arguments)
    if row.least <= count and (row.most is None or count <= row.most):
        return
    need = f"{row.least}" if row.most == row.least else f"{row.least} to {row.most}"
    need = f"{row.least} or more" if row.most is None else need
    plural = "argument" if need == "1" else "arguments"
    raise scope.schema_error(f"{call.function} takes {need} {plural}, not {count}", call.span, f"It is {row.form}.")


def _argument(row: Function, place: int, argument: tree.Expression, bind: Bind, scope: Scope) -> Typed:
    """A bound argument; QueryError for one of a wrong kind, or a literal that is wrong."""
    if (wrong := row.literal(place)) is not None:
        return _literal(row, argument, wrong, scope)
    if isinstance(argument, tree.Name) and is_null(argument.name) and not row.strict:
        return Typed(Const(None), Sort.UNKNOWN)
    typed, takes = bind(argument), row.taken(place)
    if takes is Takes.VALUE:
        return typed
    wanted = _SORTS[takes]
    typed = settle(typed, wanted)
    fits = typed.sort in (wanted, Sort.UNKNOWN) or (takes is Takes.SERIES and typed.sort is Sort.STRING)
    if not fits:
        word = row.name.upper() if row.name in _WRITTEN else row.name
        message = f"{word} takes {_NOUNS[takes]}, this is {typed.sort.noun}"
        hint = f"It is {_WRITTEN.get(row.name, row.form)}."
        if row.name == "concat" and typed.sort is Sort.BOOLEAN:
            hint = "|| joins texts; conditions are joined by OR."
        elif takes in (Takes.TEXT, Takes.SERIES) and typed.sort is Sort.NUMBER:
            hint = "A number as text: CAST(a.x AS string)."
        raise scope.schema_error(message, argument.span, hint)
    return typed


def _literal(row: Function, argument: tree.Expression, wrong: Callable[[str], str], scope: Scope) -> Typed:
    """An argument that must be a string in the query."""
    word = row.form[len(row.name) :]
    if not isinstance(argument, tree.Literal) or not isinstance(argument.value, str):
        hint = f"It is {row.name}{word}; what stands in quotes there is a literal: 'abc'."
        raise scope.schema_error(f"{row.name} takes a string in single quotes here", argument.span, hint)
    if message := wrong(argument.value):
        raise scope.schema_error(message, argument.span, _RIGHT.get(wrong, f"It is {row.form}."))
    if row.name == "like" and "*" in argument.value and not set(argument.value) & {"%", "_"}:
        scope.warn("* has no meaning in a pattern of LIKE", argument.span, "% is any text, _ is one character.")
    return Typed(Const(argument.value), Sort.STRING)


def _chosen(call: tree.Call, arguments: Sequence[Typed], scope: Scope) -> tuple[list[Typed], Kind]:
    """The arguments of a choice, settled, and the kind of its value, NULL if nothing tells it.

    QueryError: its values are of several types.
    """
    places = range(len(arguments))
    tests = [place for place in places if call.function == "case" and place % 2 == 0 and place != len(arguments) - 1]
    values = [place for place in places if place not in tests]
    made = list(arguments)
    for place in tests:
        made[place] = settle(made[place], Sort.BOOLEAN)
        if made[place].sort not in (Sort.BOOLEAN, Sort.UNKNOWN):
            message = f"WHEN takes what is true or false, this is {made[place].sort.noun}"
            raise scope.schema_error(message, call.arguments[place].span, "Compare it with something.")
    known = [made[place].sort for place in values if made[place].sort is not Sort.UNKNOWN]
    if not known:
        return made, Kind.NULL  # as for an element of an array: its use decides the kind
    sort = known[0]
    for place in values:
        made[place] = settle(made[place], sort)
        if made[place].sort not in (sort, Sort.UNKNOWN):
            message = f"{call.function.upper()} mixes {sort.noun} with {made[place].sort.noun}"
            raise scope.schema_error(message, call.arguments[place].span, "All its values are of one kind.")
    if sort is not Sort.NUMBER:
        return made, OF_ELEMENT[sort]
    wide = any(is_wide(made[place].expr) for place in values)
    return made, Kind.NUMBER if wide else Kind.FLOAT


def is_wide(expr: Expr) -> bool:
    """True if a number may be one that float64 does not hold."""
    if isinstance(expr, Const):
        return isinstance(expr.value, int) and not isinstance(expr.value, bool) and float(expr.value) != expr.value
    if isinstance(expr, Attribute | Aggregate | Call):
        return expr.kind is not None and expr.kind.is_wide
    return False


def _placed(
    call: tree.Call, row: Function, arguments: Sequence[Expr], kind: Kind, scope: Scope, *, returned: bool
) -> Expr:
    """The call as a plan has it: a constant, the computed attribute of one event, or a `Call`.

    A `Call` is computed by kernels, or in Python for RETURN and HAVING (`returned`). QueryError elsewhere for a
    function of several events, or of a list, that no kernel computes.
    """
    leaves = [leaf for argument in arguments for leaf in reads(argument)]
    if not leaves and all(map(_is_constant, arguments)):
        value = evaluated(Applied(row.name, tuple(map(tree_of, arguments))), lambda _: None)
        return Const(of_kind(value, kind))
    event = _event_of(arguments)
    if kind is Kind.NULL and event is None:
        kind = Kind.FLOAT  # no event has had any of the values yet
    inline = Call(row.name, tuple(arguments), kind)
    # Numbers are inline however wide they are: runs that hold one go on when a schema grows.
    held = kind.is_number or kind is Kind.BOOL
    if row.kernel is not None or (row.name in CHOICES and held and _is_inline(row, arguments)):
        return inline
    if event is not None:
        one = Computed(Applied(row.name, tuple(map(tree_of, arguments))), kind)
        return replace(event, name=one.name, kind=kind)
    if returned:
        return inline
    names = list(dict.fromkeys(scope.places[leaf.component].written for leaf in leaves))
    lists = not all(isinstance(leaf, Attribute) for leaf in leaves)
    what = f"a list: {', '.join(names)}" if lists else f"several events: {', '.join(names)}"
    hint = "Such a function of one event can stand in a condition. Compare the parts, or compute it in RETURN."
    raise scope.plan_error(f"{call.function} reads {what}", call.span, hint)


def _event_of(exprs: Sequence[Expr]) -> Attribute | None:
    """One of the attributes that expressions read, if they are all of one event and nothing else is read."""
    leaves = [leaf for expr in exprs for leaf in reads(expr)]
    attributes = [leaf for leaf in leaves if isinstance(leaf, Attribute)]
    events = {(one.component, one.which, one.back) for one in attributes}
    return attributes[0] if len(events) == 1 and len(attributes) == len(leaves) else None


def _is_constant(expr: Expr) -> bool:
    return not isinstance(expr, TrendValue | GroupValue) and all(map(_is_constant, parts(expr)))


def _is_inline(row: Function, arguments: Sequence[Expr]) -> bool:
    """True if kernels can compute with the arguments of a choice. Of a text or an array they know if it is null."""
    return row.name == "is_null" or all(_kind_with_texts(one) is None for one in arguments)


def _kind_with_texts(expr: Expr) -> Kind | None:
    """The kind of a value that is a text or an array; None for others."""
    match expr:
        case Const(value=str()):
            return Kind.STRING
        case Attribute(kind=kind) | Aggregate(kind=kind) | Call(kind=kind) | GroupValue(kind=kind):
            return kind if kind is not None and kind.has_texts else None
    return None
