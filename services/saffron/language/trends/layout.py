"""The layout of an aggregate query's pattern: its sides (AND) and its NOTs, each with its own shape (T4, T10)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from saffron.language.patterns.layout import Layout, Leaf, loops_of, paths
from saffron.language.patterns.shapes import Builder
from saffron.language.patterns.successors import MOST_PLACES, TOO_MANY
from saffron.language.plan.pattern import Shape
from saffron.language.scope.scope import Scope
from saffron.language.syntax import tree


@dataclass(frozen=True)
class PatternPart:
    """A side or a NOT: its shape, its components (a range of indices), and its place in the text.

    `repeated`: it is a NOT in a repetition, so conditions may call its components n[i].
    """

    shape: Shape
    components: range
    span: tree.Span
    repeated: bool = False


@dataclass(frozen=True)
class TrendLayout:
    """The parts of a pattern. `sides`: the pattern, or the two sides of its AND.

    `negatives`: by number of a NOT, its content; a NOT inside a NOT has a higher number.
    `layout`: all components, positive ones first (see patterns.layout.Layout), without absences.
    """

    sides: tuple[PatternPart, ...]
    negatives: tuple[PatternPart, ...]
    layout: Layout

    @property
    def parts(self) -> tuple[PatternPart, ...]:
        """All parts, sides first."""
        return (*self.sides, *self.negatives)

    def part_of(self, component: int) -> PatternPart:
        """The part that a component stands in."""
        return next(part for part in self.parts if component in part.components)


def build_trend_layout(pattern: tree.Pattern, scope: Scope) -> TrendLayout:
    """The layout of a pattern; QueryError (stage "plan") for patterns whose trends are not defined."""
    both = pattern.parts if isinstance(pattern, tree.Conjunction) else (pattern,)
    if len(both) > 2:
        hint = "Join two of them by AND, and add a query for the others."
        raise scope.plan_error("AND counts pairs of trends: it has two sides here", pattern.span, hint)
    for side in both:
        _check(side, scope, inside_not=False)
    builder = Builder(scope)
    sides = [_part(builder, side, side.span, outermost=True) for side in both]
    negatives: list[PatternPart] = []
    repeated = [bool(one.loops) for one in builder.negated]
    while len(negatives) < len(builder.negated):
        written = builder.negated[len(negatives)].negations
        inner = [negation.pattern for negation in written]
        span = tree.Span(written[0].span.start, written[-1].span.end)
        whole = inner[0] if len(inner) == 1 else tree.Sequence(tuple(inner), span=span)
        own = repeated[len(negatives)]
        negatives.append(replace(_part(builder, whole, span, outermost=False), repeated=own))
        repeated += [own or bool(one.loops) for one in builder.negated[len(repeated) :]]
    parts = [*((part, None) for part in sides), *((part, number) for number, part in enumerate(negatives))]
    leaves: list[Leaf] = []
    for part, absence in parts:
        for component, path in paths(part.shape).items():
            leaves.append(Leaf(builder.events[component], loops_of(path), path, absence))
    return TrendLayout(tuple(sides), tuple(negatives), Layout(sides[0].shape, tuple(leaves), (), ()))


def _part(builder: Builder, pattern: tree.Pattern, span: tree.Span, *, outermost: bool) -> PatternPart:
    """A part for a pattern, whose events `builder` numbers."""
    before = len(builder.events)
    shape = builder.shape(pattern, (), outermost=outermost)
    return PatternPart(shape, range(before, len(builder.events)), span)


def _check(pattern: tree.Pattern, scope: Scope, *, inside_not: bool) -> int:
    """The most places that a pattern has (see `successors`); QueryError beyond MOST_PLACES, or without trends."""

    def inner(part: tree.Pattern) -> int:
        return _check(part, scope, inside_not=inside_not)

    match pattern:
        case tree.Event():
            return 1
        case tree.Repeat(until=tree.Event() as until):
            hint = "Match the pattern: RETURN without COUNT(*)."
            raise scope.plan_error("UNTIL belongs to match queries, and trends are counted here", until.span, hint)
        case tree.Repeat(low=low, high=high):
            size = inner(pattern.pattern) * (max(low, 1) if high is None else max(high, 1))
        case tree.Negation():
            if isinstance(pattern.pattern, tree.Negation):
                raise scope.plan_error("a NOT of a NOT", pattern.pattern.span, "Leave both out.")
            if pattern.due is not None:
                hint = "Match the pattern: RETURN without COUNT(*); or leave the time out."
                message = "trends are counted when a window closes, and this NOT ends before that"
                raise scope.plan_error(message, pattern.due.span, hint)
            _check(pattern.pattern, scope, inside_not=True)
            return 0
        case tree.Conjunction(parts=parts):
            if not inside_not:
                hint = f"Write ANY({len(parts)}, ...) for parts in any order; or put AND around the whole pattern."
                raise scope.plan_error("AND inside another pattern counts no pairs of trends", pattern.span, hint)
            size = _in_any_order([inner(part) for part in parts], len(parts))
        case tree.AnyOf(count=count, parts=parts, distinct=distinct):
            if distinct is not None:
                hint = "Leave DISTINCT out, or match the pattern: RETURN without COUNT(*)."
                message = "DISTINCT compares events that are not adjacent, and GRETA sees pairs of adjacent ones only"
                raise scope.plan_error(message, pattern.span, hint)
            sizes = [inner(part) for part in parts]
            size = sizes[0] * count if len(parts) == 1 else _in_any_order(sizes, count)
        case tree.Sequence(parts=parts) | tree.Disjunction(parts=parts):
            size = sum(inner(part) for part in parts)
    if size > MOST_PLACES:
        raise scope.plan_error(f"the pattern has more than {MOST_PLACES} places", pattern.span, TOO_MANY)
    return size


def _in_any_order(sizes: list[int], count: int) -> int:
    """The most places of `count` parts in any order. `sizes`: places by part.

    A place says where each begun part is, and which of them took the last event.
    """
    ways = [1] + [0] * count
    for size in sizes:
        for begun in range(count, 0, -1):
            ways[begun] += ways[begun - 1] * size
    return sum(begun * number for begun, number in enumerate(ways))
