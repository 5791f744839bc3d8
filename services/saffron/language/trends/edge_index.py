"""How the predecessors of an event are found (T6): what the conditions of a transition let an index do.

A conjunct that compares a value of the earlier event with one of the later event can be answered by a search, if all
earlier events are kept in order of their value. So a transition's conditions fall into those of one event alone,
equalities, comparisons with one ordered value of the earlier event, and the rest, which is asked pair by pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saffron.language.plan.pairs import exact
from saffron.language.plan.plan import Attribute, Binary, Const, Expr, Strategy, Transition, Unary, Which
from saffron.language.plan.rewrite import parts, reads
from saffron.language.scope.composition import kind_of
from saffron.schema.schema import Kind


class Search(Enum):
    """Where the predecessors of an event are looked for (`trend_graphs.searches`)."""

    LAST = "the last event alone"  # contiguity
    TOTAL = "a running total"  # no condition on the pair
    TREE = "an ordered tree"
    SCAN = "a scan"


@dataclass(frozen=True)
class Comparison:
    """`earlier` operator `later`: an expression of the earlier event alone, and one of the later event alone.

    `earlier` reads its component as SINGLE, `later` as ADJACENT; either may be constant, not both.
    """

    earlier: Expr
    operator: str
    later: Expr


@dataclass(frozen=True)
class EdgeIndex:
    """The conjuncts of one transition, by how they are asked; all of them hold for an adjacent pair.

    `before`: of the earlier event alone, `after`: of the later one alone: each asked once an event.
    `equalities`: one comparison by =. `bounds`: an upper and a lower bound (or one of them) of an expression of the
    earlier event, the tree's key; or a second comparison by =, which is both; or one by !=, two ranges. `rest`: asked
    of each pair that these leave. `search`: the best that the conditions allow; with TREE there is no rest, with SCAN
    equalities and bounds might narrow the scan, with LAST the rest is asked of the one pair.
    """

    search: Search
    before: tuple[Expr, ...] = ()
    after: tuple[Expr, ...] = ()
    equalities: tuple[Comparison, ...] = ()
    bounds: tuple[Comparison, ...] = ()
    rest: tuple[Expr, ...] = ()

    @property
    def key(self) -> Expr | None:
        """What the tree is ordered by, after the equalities' values."""
        return self.bounds[0].earlier if self.bounds else None


def edge_index(transition: Transition) -> EdgeIndex:
    """How the conditions of a transition let its predecessors be found; NOT, waiting and TIME may forbid it."""
    conjuncts = [part for one in transition.conditions for part in _conjuncts(exact(one, whole=False))]
    before = tuple(one for one in conjuncts if _sides(one) <= {Which.SINGLE})
    after = tuple(one for one in conjuncts if _sides(one) == {Which.ADJACENT})
    pairs = [one for one in conjuncts if len(_sides(one)) > 1]
    if transition.strategy in (Strategy.STRICT, Strategy.PARTITION):
        return EdgeIndex(Search.LAST, before, after, rest=tuple(pairs))
    if not pairs:
        return EdgeIndex(Search.TOTAL, before, after)
    compared = [(one, found) for one in pairs if (found := _comparison(one)) is not None]
    equalities = [(one, found) for one, found in compared if found.operator == "="]
    equal, bounds = equalities[:1], _bounds(compared)
    if len(equalities) > 1 and not any(found.operator in (*_BELOW, *_ABOVE) for _, found in bounds):
        one, found = equalities[1]  # both bounds are what it compares with
        bounds = [(one, Comparison(found.earlier, operator, found.later)) for operator in ("<=", ">=")]
    served = [one for one, _ in (*equal, *bounds)]
    rest = tuple(one for one in pairs if one not in served)
    search = Search.SCAN if rest or transition.strategy is Strategy.NEXT else Search.TREE
    return EdgeIndex(
        search, before, after, tuple(found for _, found in equal), tuple(found for _, found in bounds), rest
    )


def _bounds(compared: list[tuple[Expr, Comparison]]) -> list[tuple[Expr, Comparison]]:
    """A lower and an upper bound of one expression of the earlier event; else one comparison by !=."""
    found: list[tuple[Expr, Comparison]] = []
    for operators in (_BELOW, _ABOVE):
        matching = (
            (one, comparison)
            for one, comparison in compared
            if comparison.operator in operators and (not found or comparison.earlier == found[0][1].earlier)
        )
        found += [one for one in [next(matching, None)] if one is not None]
    return found or [(one, comparison) for one, comparison in compared if comparison.operator == "!="][:1]


def _conjuncts(expr: Expr) -> list[Expr]:
    if isinstance(expr, Binary) and expr.operator == "and":
        return _conjuncts(expr.left) + _conjuncts(expr.right)
    return [expr]


def _sides(expr: Expr) -> frozenset[Which]:
    """Which of the two events an expression reads."""
    return frozenset(leaf.which for leaf in reads(expr) if isinstance(leaf, Attribute))


_BELOW, _ABOVE = ("<", "<="), (">", ">=")
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


def _comparison(expr: Expr) -> Comparison | None:
    """A conjunct that splits into a value of the earlier and one of the later event; strings have no lasting order."""
    if not isinstance(expr, Binary) or expr.operator not in _FLIPPED:
        return None
    left, operator, right = _apart(expr)
    if _sides(left) == {Which.ADJACENT} and _sides(right) == {Which.SINGLE}:
        left, operator, right = right, _FLIPPED[operator], left
    if _sides(left) != {Which.SINGLE} or _sides(right) != {Which.ADJACENT}:
        return None
    kinds = {Kind.FLOAT if (kind := kind_of(side)).is_number else kind for side in (left, right)} - {Kind.NULL}
    kinds = kinds or {Kind.FLOAT}  # how vertices stand must not depend on whether an attribute had a value yet
    if len(kinds) > 1 or (operator not in ("=", "!=") and kinds != {Kind.FLOAT}):
        return None
    return Comparison(left, operator, right)


def _apart(comparison: Binary) -> tuple[Expr, str, Expr]:
    """The sides of a comparison; sums of times are sorted by event: NEXT(A).ts - A.ts < 5 is A.ts > NEXT(A).ts - 5.

    Only of `ts` and whole numbers, where no order of adding rounds.
    """
    left, right = comparison.left, comparison.right
    mixed = any(len(_sides(side)) > 1 for side in (left, right)) or _sides(left) == _sides(right)
    if not mixed or not all(_is_time(side) for side in (left, right)):
        return left, comparison.operator, right
    terms = [*_terms(left, 1), *_terms(right, -1)]
    earlier = [(term, sign) for term, sign in terms if _sides(term) == {Which.SINGLE}]
    later = [(term, -sign) for term, sign in terms if _sides(term) == {Which.ADJACENT}]
    constant = -sum(sign * int(term.value or 0) for term, sign in terms if isinstance(term, Const))
    if len(earlier) != 1 or not later:
        return left, comparison.operator, right
    (read, turned), operator = earlier[0], comparison.operator
    if turned < 0:
        operator, constant = _FLIPPED[operator], -constant
        later = [(term, -sign) for term, sign in later]
    return read, operator, _sum(later, constant)


def _sum(terms: list[tuple[Expr, int]], constant: int) -> Expr:
    first = next((term for term in terms if term[1] > 0), None)
    total: Expr = Const(0) if first is None else first[0]
    for term in terms:
        if term is not first:
            total = Binary("+" if term[1] > 0 else "-", total, term[0])
    return total if constant == 0 else Binary("+" if constant > 0 else "-", total, Const(abs(constant)))


def _is_time(expr: Expr) -> bool:
    """Whether an expression is a sum of ts and whole numbers, or a difference."""
    match expr:
        case Attribute(name=name):
            return name == "ts"
        case Const(value=value):
            return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**50
        case Unary(operator="-") | Binary(operator="+" | "-"):
            return all(map(_is_time, parts(expr)))
    return False


def _terms(expr: Expr, sign: int) -> list[tuple[Expr, int]]:
    match expr:
        case Unary(operand=operand):
            return _terms(operand, -sign)
        case Binary(operator=operator, left=left, right=right):
            return _terms(left, sign) + _terms(right, sign if operator == "+" else -sign)
    return [(expr, sign)]
