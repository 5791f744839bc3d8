"""The index by which a transition finds the predecessors of an event (T6), as its conditions allow.

If earlier events are kept in order of a value, a search answers a conjunct that compares it with the later event. So
there are four groups of conjuncts: those on one event alone, equalities, bounds of one ordered value of the earlier
event, and the rest, which is evaluated on each pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saffron.language.plan.expressions import Attribute, Binary, Const, Expr, Unary, Which
from saffron.language.plan.pairs import compared_by_pairs, exact, nearest_and_rest
from saffron.language.plan.pattern import Strategy
from saffron.language.plan.rewrite import parts, reads
from saffron.language.plan.trend_plan import Transition
from saffron.language.scope.composition import kind_of
from saffron.schema.schema import Kind


class Search(Enum):
    """The way to find the predecessors of an event (`trend_graphs.searches`)."""

    LAST = "the last event alone"  # contiguity
    TOTAL = "a running total"  # no condition on the pair
    TREE = "an ordered tree"
    SCAN = "a scan"


@dataclass(frozen=True)
class Comparison:
    """A comparison `earlier operator later` of two adjacent events.

    `earlier` reads the earlier event only, as SINGLE; `later` the later one only, as ADJACENT.
    """

    earlier: Expr
    operator: str
    later: Expr

    @property
    def is_wide(self) -> bool:
        """True if float64 does not decide the comparison."""
        return compared_by_pairs(self.earlier, self.later, whole=False)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """Both sides over float64: the nearest and the rest of each."""
        return (*nearest_and_rest(self.earlier), *nearest_and_rest(self.later))


@dataclass(frozen=True)
class EdgeIndex:
    """The conjuncts of one transition by their way of evaluation; all of them hold for an adjacent pair.

    `before`, `after`: on the earlier or the later event alone, evaluated once for each event.
    `equalities`: at most one comparison by =. `bounds`: of one expression of the earlier event, the key: an upper
    bound, a lower one, or both; a second = gives both, and != alone gives two ranges.
    `rest`: evaluated on each pair that these leave. It is () with TREE.
    `search`: the best that the conditions allow. With SCAN, equalities and bounds could narrow the scan.
    """

    search: Search
    before: tuple[Expr, ...] = ()
    after: tuple[Expr, ...] = ()
    equalities: tuple[Comparison, ...] = ()
    bounds: tuple[Comparison, ...] = ()
    rest: tuple[Expr, ...] = ()

    @property
    def key(self) -> Expr | None:
        """The expression of the earlier event that orders the tree, behind the values of equalities."""
        return self.bounds[0].earlier if self.bounds else None


def edge_index(transition: Transition) -> EdgeIndex:
    """The index that the conditions of a transition allow. NOT, waiting and TIME may still forbid it."""
    conjuncts = [part for one in transition.conditions for part in _conjuncts(one)]
    before = tuple(one for one in conjuncts if _sides(one) <= {Which.SINGLE})
    after = tuple(one for one in conjuncts if _sides(one) == {Which.ADJACENT})
    pairs = [one for one in conjuncts if len(_sides(one)) > 1]
    if transition.strategy in (Strategy.STRICT, Strategy.PARTITION):
        return EdgeIndex(Search.LAST, before, after, rest=tuple(exact(one, whole=False) for one in pairs))
    if not pairs:
        return EdgeIndex(Search.TOTAL, before, after)
    compared = [(one, found) for one in pairs if (found := _comparison(one)) is not None]
    equalities = [(one, found) for one, found in compared if found.operator == "="]
    equal, bounds = equalities[:1], _bounds(compared)
    if len(equalities) > 1 and not any(found.operator in (*_BELOW, *_ABOVE) for _, found in bounds):
        one, found = equalities[1]  # both bounds are what it compares with
        bounds = [(one, Comparison(found.earlier, operator, found.later)) for operator in ("<=", ">=")]
    served = [one for one, _ in (*equal, *bounds)]
    rest = tuple(exact(one, whole=False) for one in pairs if one not in served)
    search = Search.SCAN if rest or transition.strategy is Strategy.NEXT else Search.TREE
    return EdgeIndex(
        search, before, after, tuple(found for _, found in equal), tuple(found for _, found in bounds), rest
    )


def _bounds(compared: list[tuple[Expr, Comparison]]) -> list[tuple[Expr, Comparison]]:
    """(conjunct, comparison) of an upper and a lower bound of one expression of the earlier event; else of one !=."""
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
    """The conjuncts of a condition, those over float64 that are no comparison of two events."""
    if isinstance(expr, Binary) and expr.operator == "and":
        return _conjuncts(expr.left) + _conjuncts(expr.right)
    expanded = expr if _comparison(expr) is not None else exact(expr, whole=False)
    return [expr] if expanded == expr else _conjuncts(expanded)


def _sides(expr: Expr) -> frozenset[Which]:
    """The events of an adjacent pair that an expression reads: SINGLE the earlier, ADJACENT the later one."""
    return frozenset(leaf.which for leaf in reads(expr) if isinstance(leaf, Attribute))


_BELOW, _ABOVE = ("<", "<="), (">", ">=")
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


def _comparison(expr: Expr) -> Comparison | None:
    """A conjunct as a comparison of the two events, None if it is not one.

    Strings compare by = and != only, as the engine numbers them in no lasting order.
    """
    if not isinstance(expr, Binary) or expr.operator not in _FLIPPED:
        return None
    left, operator, right = _by_event(expr)
    if _sides(left) == {Which.ADJACENT} and _sides(right) == {Which.SINGLE}:
        left, operator, right = right, _FLIPPED[operator], left
    if _sides(left) != {Which.SINGLE} or _sides(right) != {Which.ADJACENT}:
        return None
    kinds = {Kind.FLOAT if (kind := kind_of(side)).is_number else kind for side in (left, right)} - {Kind.NULL}
    kinds = kinds or {Kind.FLOAT}  # the order of vertices must not depend on whether an attribute had a value yet
    if len(kinds) > 1 or (operator not in ("=", "!=") and kinds != {Kind.FLOAT}):
        return None
    return Comparison(left, operator, right)


def _by_event(comparison: Binary) -> tuple[Expr, str, Expr]:
    """(left, operator, right) of a comparison, with sums of times rearranged so that each side reads one event.

    NEXT(A).ts - A.ts < 5 becomes A.ts > NEXT(A).ts - 5. Only sums of `ts` and whole numbers are rearranged, as they
    never round.
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
    """The sum of (term, sign) and a constant as one expression."""
    first = next((term for term in terms if term[1] > 0), None)
    total: Expr = Const(0) if first is None else first[0]
    for term in terms:
        if term is not first:
            total = Binary("+" if term[1] > 0 else "-", total, term[0])
    return total if constant == 0 else Binary("+" if constant > 0 else "-", total, Const(abs(constant)))


def _is_time(expr: Expr) -> bool:
    """True if an expression has only ts, whole numbers below 2^50, + and -, so that its sums never round."""
    match expr:
        case Attribute(name=name):
            return name == "ts"
        case Const(value=value):
            return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**50
        case Unary(operator="-") | Binary(operator="+" | "-"):
            return all(map(_is_time, parts(expr)))
    return False


def _terms(expr: Expr, sign: int) -> list[tuple[Expr, int]]:
    """(term, 1 or -1) of a sum that is added with `sign`."""
    match expr:
        case Unary(operand=operand):
            return _terms(operand, -sign)
        case Binary(operator=operator, left=left, right=right):
            return _terms(left, sign) + _terms(right, sign if operator == "+" else -sign)
    return [(expr, sign)]
