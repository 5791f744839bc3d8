"""The shape of a match query's pattern: components numbered, NOTs taken out, repetitions and choices made explicit."""

from __future__ import annotations

from saffron.language import plan, tree
from saffron.language.absences import rule_out
from saffron.language.layout import Branch, Choice, Layout, Leaf, Path, Ruled, Step, loops_of
from saffron.language.plan import InOrder, Shape
from saffron.language.scope import Scope

NOTHING = InOrder(())


def build_layout(pattern: tree.Pattern, scope: Scope) -> Layout:
    """The layout of a pattern; QueryError (stage "plan") for a NOT out of place."""
    builder = _Builder(scope)
    shape = builder.shape(pattern, (), outermost=True)
    leaves: list[Leaf] = list(builder.leaves)
    absences: list[Ruled] = []
    for negations, path in builder.negated:
        absences.append(rule_out(negations, path, len(absences), leaves, builder.loops, scope))
    return Layout(shape, tuple(leaves), tuple(absences), tuple(builder.distinct))


def nullable(shape: Shape) -> bool:
    """Whether a shape can be over without an event."""
    match shape:
        case plan.Take():
            return False
        case plan.Loop(body=body):
            return nullable(body)
        case plan.Choice(parts=parts):
            return any(map(nullable, parts))
        case plan.Together(parts=parts, count=count):
            return sum(map(nullable, parts)) >= count
        case InOrder(parts=parts):
            return all(map(nullable, parts))
        case plan.Absent():
            return True


def is_flat(shape: Shape) -> bool:
    """Whether a shape is a SEQ of single events and Kleene plus, which the flat plans run."""
    if isinstance(shape, InOrder):
        return bool(shape.parts) and all(not isinstance(part, InOrder) and is_flat(part) for part in shape.parts)
    if isinstance(shape, plan.Loop):
        return (shape.low, shape.high) == (1, None) and isinstance(shape.body, plan.Take)
    return isinstance(shape, plan.Take)


class _Builder:
    """`negated`: for each NOT (neighbouring ones are one), the negations as written and the path to it."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.leaves: list[Leaf] = []
        self.negated: list[tuple[list[tree.Negation], Path]] = []
        self.distinct: list[Choice] = []
        self.loops = 0

    def shape(self, pattern: tree.Pattern, path: Path, *, outermost: bool = False) -> Shape:
        match pattern:
            case tree.Event():
                self.leaves.append(Leaf(pattern, path))
                return plan.Take(len(self.leaves) - 1)
            case tree.Sequence(parts=parts):
                return self._sequence(parts, path, outermost)
            case tree.Repeat(low=low, high=1):
                if low == 1:
                    return self.shape(pattern.pattern, path)
                return plan.Choice((NOTHING, self.shape(pattern.pattern, (*path, Step(Branch.OR, 1)))))
            case tree.Repeat(low=low, high=high):
                inner = pattern.pattern
                while low <= 1 and high is None and isinstance(inner, tree.Repeat) and _is_open(inner):
                    low, inner = min(low, inner.low), inner.pattern
                return self._loop(inner, low, high, path)
            case tree.Disjunction(parts=parts):
                return plan.Choice(self._parts(parts, path, Branch.OR))
            case tree.Conjunction(parts=parts):
                return plan.Together(self._parts(parts, path, Branch.AND), len(parts))
            case tree.AnyOf():
                return self._any(pattern, path)
            case tree.Negation():
                hint = "NOT stands between, before or after the components of a SEQ: SEQ(A a, NOT B b, C c)."
                raise self.scope.refused("a NOT outside of SEQ", pattern.span, hint)

    def _parts(self, parts: tuple[tree.Pattern, ...], path: Path, branch: Branch) -> tuple[Shape, ...]:
        return tuple(self.shape(part, (*path, Step(branch, index))) for index, part in enumerate(parts))

    def _loop(self, inner: tree.Pattern, low: int, high: int | None, path: Path) -> Shape:
        """A repetition; where it need not be there at all, a choice of nothing or at least once."""
        number, before = self.loops, len(self.leaves)
        self.loops += 1
        outside = (*path, Step(Branch.LOOP, number))
        body = self.shape(inner, outside)
        if low > 0 and not nullable(body):
            return plan.Loop(number, body, low, high)
        self._make_optional(before, len(path))
        return plan.Choice((NOTHING, plan.Loop(number, _something(body), 1, high)))

    def _make_optional(self, first: int, depth: int) -> None:
        """The leaves from `first` on stand in an option after all, at `depth` of their paths."""
        option = Step(Branch.OR, 1)

        def inside(path: Path) -> Path:
            return (*path[:depth], option, *path[depth:])

        for index in range(first, len(self.leaves)):
            self.leaves[index] = Leaf(self.leaves[index].event, inside(self.leaves[index].path))

    def _any(self, pattern: tree.AnyOf, path: Path) -> Shape:
        before = len(self.leaves)
        count, parts = pattern.count, pattern.parts
        if len(parts) == 1:
            shape = self._loop(parts[0], count, count, path)
        elif count == 1:
            shape = plan.Choice(self._parts(parts, path, Branch.OR))
        else:
            branch = Branch.AND if count == len(parts) else Branch.ANY
            shape = plan.Together(self._parts(parts, path, branch), count)
        if pattern.distinct is not None:
            self.distinct.append(Choice(tuple(range(before, len(self.leaves))), pattern, loops_of(path)))
        return shape

    def _sequence(self, parts: tuple[tree.Pattern, ...], path: Path, outermost: bool) -> Shape:
        self._check_nots(parts, outermost)
        found: list[Shape] = []
        waiting: list[tree.Negation] = []
        for index, part in enumerate(parts):
            if isinstance(part, tree.Negation):
                waiting.append(part)
                continue
            found.extend(self._absent(waiting, path))
            waiting = []
            shape = self.shape(part, (*path, Step(Branch.SEQ, index)))
            plain = isinstance(shape, InOrder) and not any(isinstance(one, plan.Absent) for one in shape.parts)
            found.extend(shape.parts if plain and isinstance(shape, InOrder) else (shape,))
        found.extend(self._absent(waiting, path))
        return found[0] if len(found) == 1 else InOrder(tuple(found))

    def _absent(self, negations: list[tree.Negation], path: Path) -> list[Shape]:
        if not negations:
            return []
        self.negated.append((negations, path))
        return [plan.Absent(len(self.negated) - 1)]

    def _check_nots(self, parts: tuple[tree.Pattern, ...], outermost: bool) -> None:
        if all(isinstance(part, tree.Negation) for part in parts):
            hint = "A match needs an event: SEQ(A a, NOT B b, C c)."
            raise self.scope.refused("a SEQ of nothing but NOTs", parts[0].span, hint)
        for part in (parts[0], parts[-1]):
            if isinstance(part, tree.Negation) and not outermost:
                hint = "Put it between two components, or into the outermost SEQ."
                message = "a NOT that begins or ends a SEQ stands in the outermost SEQ only"
                raise self.scope.refused(message, part.span, hint)


def _something(body: Shape) -> Shape:
    """The body of a repetition without its choice of nothing, as an iteration takes at least one event."""
    if not isinstance(body, plan.Choice) or NOTHING not in body.parts:
        return body
    parts = tuple(part for part in body.parts if part != NOTHING)
    return parts[0] if len(parts) == 1 else plan.Choice(parts)


def _is_open(repeat: tree.Repeat) -> bool:
    """Whether it is + or *: one of them inside the other is one of them."""
    return repeat.low <= 1 and repeat.high is None
