"""Exact comparisons of numbers beyond float64, by pairs of the nearest float64 and the rest (`schema.numbers`).

Engines compute in float64, and compare int64 with int64. This module expands every other comparison of a plan:
a < b becomes a.nearest < b.nearest or a.nearest = b.nearest and a.rest < b.rest. The rest of an attribute is an
attribute under a name that no event can have (`rest_name`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from saffron.language.plan.clauses import Window
from saffron.language.plan.expressions import Aggregate, Attribute, Binary, Call, Const, Expr, In, Length, Unary
from saffron.language.plan.limits import KEPT
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Absence
from saffron.language.plan.trend_plan import Template, TrendPlan
from saffron.schema.functions.built_in import CHOICES
from saffron.schema.numbers import EXACT
from saffron.schema.schema import Kind

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
NEAREST, REST = "nearest", "rest"
"""Calls that only this module makes: the nearest float64 of an int64, and the rest."""
OF_EXTREME = {"min": "rest of min", "max": "rest of max"}
"""Aggregates that only this module makes: the rest of a list's least or greatest value."""
_MARK = "\udc00"  # half a surrogate, which no JSON text has
_NO_REST = Const(0.0)
_OF_ONE = ("first", "last")


def rest_name(name: str) -> str:
    """The name under which the rest of an attribute is read."""
    return _MARK + name


def rest_of_name(name: str) -> str | None:
    """The attribute whose rest has this name; None if it is the name of an attribute itself."""
    return name[1:] if name.startswith(_MARK) else None


@lru_cache(maxsize=KEPT)
def exact_match(plan: MatchPlan) -> MatchPlan:
    """The plan with its comparisons expanded, except those in RETURN, which Python computes exactly."""
    conditions = tuple(replace(one, expr=exact(one.expr)) for one in plan.conditions)
    checks = tuple(replace(one, expr=exact(one.expr)) for one in plan.checks)
    return replace(
        plan,
        conditions=conditions,
        checks=checks,
        absences=tuple(map(_exact_absence, plan.absences)),
        window=_exact_window(plan.window, whole=True),
    )


def exact_trend(plan: TrendPlan, kinds: Mapping[str, Kind]) -> TrendPlan:
    """The plan with its comparisons expanded to float64; the engine of trends compares nothing else.

    Conditions on adjacent events stay as they are: trees compare pairs by codes, and `Graphs.asked_of` expands others.
    `kinds`: of the schema's attributes. The rest of each key of kind NUMBER becomes a key too, behind it.
    """
    return replace(
        plan,
        key=key_names(plan.key, kinds),
        group=key_names(plan.group, kinds),
        template=_exact_template(plan.template),
        negatives=tuple(map(_exact_template, plan.negatives)),
        sides=tuple(map(_exact_template, plan.sides)),
        window=_exact_window(plan.window, whole=False),
    )


def key_names(key: Sequence[str], kinds: Mapping[str, Kind]) -> tuple[str, ...]:
    """The attributes of a key, each of kind NUMBER followed by its rest."""
    pairs = ((name, rest_name(name)) if kinds.get(name) is Kind.NUMBER else (name,) for name in key)
    return tuple(name for pair in pairs for name in pair)


def _exact_absence(absence: Absence) -> Absence:
    return replace(absence, checks=tuple(replace(one, expr=exact(one.expr)) for one in absence.checks))


def _exact_template(template: Template) -> Template:
    return replace(template, local=tuple(tuple(exact(one, whole=False) for one in exprs) for exprs in template.local))


def _exact_window(window: Window, *, whole: bool) -> Window:
    if window.opens is None or window.opens.expr is None:
        return window
    return replace(window, opens=replace(window.opens, expr=exact(window.opens.expr, whole=whole)))


def exact(expr: Expr, *, whole: bool = True) -> Expr:
    """The expression with every comparison expanded that float64 does not decide. The function is idempotent.

    `whole`: the engine compares int64 with int64, so such comparisons stay.
    """
    match expr:
        case Binary(operator=operator, left=left, right=right) if operator in COMPARISONS:
            return _compared(operator, left, right, whole=whole)
        case Binary(left=left, right=right):
            return replace(expr, left=exact(left, whole=whole), right=exact(right, whole=whole))
        case Unary(operand=operand):
            return replace(expr, operand=exact(operand, whole=whole))
        case Call() if _is_choice(expr):
            return _nearest(expr, whole=whole)
        case Call(arguments=arguments):
            return replace(expr, arguments=tuple(exact(one, whole=whole) for one in arguments))
        case In(operand=operand, choices=choices):
            found = [_compared("=", operand, choice, whole=whole) for choice in choices]
            plain = all(isinstance(one, Binary) and one.operator == "=" for one in found)
            return replace(expr, operand=exact(operand, whole=whole)) if plain else _any(found)
        case Attribute() | Aggregate() if expr.kind is Kind.NUMBER or expr.kind is (Kind.NULL if whole else Kind.LONG):
            return replace(expr, kind=Kind.FLOAT)
    return expr


def nearest_and_rest(side: Expr) -> tuple[Expr, Expr]:
    """One side of a comparison as a pair: its nearest float64, and the rest, the constant 0 where it has none."""
    return _nearest(side, whole=False), _rest(side, whole=False)


def compared_by_pairs(left: Expr, right: Expr, *, whole: bool) -> bool:
    """True if a comparison needs pairs, as float64 does not decide it (`whole`: nor int64).

    What is null so far may be any number: engines keep values, to be compared later. With `whole` an int64 is kept.
    """
    kinds = _kind(left), _kind(right)
    if None in kinds or not any(kind is not None and kind.is_wide for kind in kinds):
        return False
    if whole and Kind.NULL in kinds and Kind.NUMBER not in kinds:
        return False
    if whole and all(kind is not None and kind.is_whole for kind in kinds):
        return False
    return not any(_is_small(side) for side in (left, right))


def _compared(operator: str, left: Expr, right: Expr, *, whole: bool) -> Expr:
    """A comparison, expanded to pairs if it needs them."""
    if not compared_by_pairs(left, right, whole=whole):
        return Binary(operator, exact(left, whole=whole), exact(right, whole=whole))
    nearest = _nearest(left, whole=whole), _nearest(right, whole=whole)
    rests = _rest(left, whole=whole), _rest(right, whole=whole)
    same = Binary("=", *nearest)
    if operator == "=":
        return Binary("and", same, Binary("=", *rests))
    # Where the nearest are equal the rests decide, as the operator says.
    strict = operator.rstrip("=") if operator != "!=" else operator
    return Binary("or", Binary(strict, *nearest), Binary("and", same, Binary(operator, *rests)))


def _nearest(side: Expr, *, whole: bool) -> Expr:
    """The nearest float64 of one side of a comparison."""
    match side:
        case Const(value=int() | float() as value):
            return Const(_float(value))
        case Attribute(kind=Kind.LONG) | Aggregate(kind=Kind.LONG) if _reads_values(side):
            return Call(NEAREST, (side,)) if whole else replace(side, kind=Kind.FLOAT)
        case Call() if _is_choice(side):
            return _chosen(side, _nearest, whole=whole)
    return exact(side, whole=whole)


def _rest(side: Expr, *, whole: bool) -> Expr:
    """The rest of one side of a comparison; the constant 0 where it has none."""
    kind = _kind(side)
    match side:
        case Const(value=int() as value) if abs(_float(value)) < float("inf"):
            return Const(float(value - int(_float(value))))
        case Attribute() | Aggregate() if kind is not None and kind.is_wide:
            if kind is Kind.LONG and whole:
                return Call(REST, (side,))
            if isinstance(side, Aggregate) and side.function not in _OF_ONE:
                return replace(side, function=OF_EXTREME[side.function], kind=Kind.FLOAT)
            assert side.name is not None
            return replace(side, name=rest_name(side.name), kind=Kind.FLOAT)
        case Call() if _is_choice(side):
            return _chosen(side, _rest, whole=whole)
    return _NO_REST


def _is_choice(expr: Call) -> bool:
    """True if an expression chooses among values of which float64 may not hold some."""
    return expr.kind.is_wide and expr.function in CHOICES


def _chosen(choice: Call, part: Callable[..., Expr], *, whole: bool) -> Expr:
    """The part of a choice's value, as a CASE whose tests are of whole values: a rest does not tell that it is null."""
    arguments = choice.arguments
    match choice.function:
        case "coalesce":
            tests: Sequence[Expr] = [Unary("not", Call("is_null", (one,), Kind.BOOL)) for one in arguments[:-1]]
            values = arguments
        case "nullif":
            tests, values = [Binary("=", *arguments)], (Const(None), arguments[0])
        case _:
            tests, values = arguments[:-1:2], (*arguments[1:-1:2], arguments[-1])
    pairs = ((exact(test, whole=whole), part(value, whole=whole)) for test, value in zip(tests, values, strict=False))
    return Call("case", (*(one for pair in pairs for one in pair), part(values[-1], whole=whole)), Kind.FLOAT)


def _kind(expr: Expr) -> Kind | None:
    """The kind of an expression's value; None if it is no number."""
    match expr:
        case Const(value=bool() | str() | None):
            return None
        case Const(value=int() as value):
            exactly = abs(_float(value)) == float("inf") or int(_float(value)) == value
            inside = abs(value) < 2**63
            return (Kind.INT if inside else Kind.FLOAT) if exactly else (Kind.LONG if inside else Kind.NUMBER)
        case Attribute(kind=kind):
            return kind if kind.is_number or kind is Kind.NULL else None
        case Aggregate() if _reads_values(expr):
            return expr.kind if expr.kind is not None and expr.kind.is_number else None
        case Length() | Aggregate(name=None):
            return Kind.INT
        case Call() if _is_choice(expr):
            return expr.kind
        case In() | Unary(operator="not") | Call(kind=Kind.BOOL | Kind.STRING):
            return None
        case Binary(operator=operator) if operator in (*COMPARISONS, "and", "or"):
            return None
    return Kind.FLOAT


def _reads_values(expr: Expr) -> bool:
    """True if an expression is a value of one event, unchanged by arithmetic."""
    return isinstance(expr, Attribute) or (
        isinstance(expr, Aggregate) and expr.name is not None and expr.function in (*OF_EXTREME, *_OF_ONE)
    )


def _is_small(side: Expr) -> bool:
    """True if one side is a literal so small that rounding another number never moves it across."""
    value = side.value if isinstance(side, Const) else None
    return isinstance(value, int | float) and abs(value) < EXACT


def _float(value: float) -> float:
    """The nearest float64 of a number, infinite beyond its range."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else -float("inf")


def _any(tests: Sequence[Expr]) -> Expr:
    """A disjunction of all `tests`, as a tree of logarithmic depth."""
    if len(tests) == 1:
        return tests[0]
    middle = len(tests) // 2
    return Binary("or", _any(tests[:middle]), _any(tests[middle:]))
