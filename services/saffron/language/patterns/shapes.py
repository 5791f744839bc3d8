"""The builder of a pattern's shape: components are numbered, NOTs taken out, repetitions and choices explicit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from saffron.language.patterns.absences import expand_not
from saffron.language.patterns.due import check_alternatives, check_conjunction, check_due, check_no_due, nots_of
from saffron.language.patterns.layout import Choice, Layout, Leaf, NotLayout, loops_of, paths
from saffron.language.plan import pattern as plan_pattern
from saffron.language.plan.pattern import Absent, InOrder, Interleaved, Loop, Shape, Take
from saffron.language.scope.scope import Scope
from saffron.language.syntax import tree

NOTHING = InOrder(())

Loops = tuple[int, ...]
"""Numbers of the repetitions around a node, outermost first."""


def build_layout(pattern: tree.Pattern, scope: Scope) -> Layout:
    """The layout of a pattern; QueryError (stage "plan") for a NOT out of place."""
    builder = Builder(scope)
    shape = builder.shape(pattern, (), outermost=True)
    leaves = [Leaf(builder.events[index], loops_of(path), path) for index, path in paths(shape).items()]
    absences: list[NotLayout] = []
    for one in builder.negated:
        if one.or_else_of is not None:
            beside = absences[one.or_else_of]
            ruled = tuple(sequence for sequence in beside.sequences if not _is_rival(sequence, beside))
            absences.append(NotLayout((), ruled, (), (), beside.span, beside.due, or_else=True))
            continue
        found = expand_not(one.negations, one.loops, len(absences), leaves, builder.loops, scope)
        if one.ends is not None:
            found = replace(found, loops=(*one.loops, one.ends), until=True)
        absences.append(_with_rivals(found, one.rivals, len(absences), leaves))
    return Layout(shape, tuple(leaves), tuple(absences), tuple(builder.distinct))


def _with_rivals(ruled: NotLayout, rivals: tuple[int, ...], number: int, leaves: list[Leaf]) -> NotLayout:
    """A NOT in an OR, which also rules out the events of the other sides: they come first."""
    copies = []
    for component in rivals:
        copies.append((len(leaves), component))
        leaves.append(Leaf(leaves[component].event, (), (), number))
    own = tuple(copy for copy, _ in copies)
    sequences = (*ruled.sequences, *((copy,) for copy in own))
    return replace(ruled, components=(*ruled.components, *own), sequences=sequences, rivals=tuple(copies))


def _is_rival(sequence: tuple[int, ...], ruled: NotLayout) -> bool:
    """True if a NOT rules a sequence out because the other side of its OR takes it."""
    return any(copy in sequence for copy, _ in ruled.rivals)


def nullable(shape: Shape) -> bool:
    """True if a shape can match without an event."""
    return least_events(shape) == 0


def least_events(shape: Shape) -> int:
    """The least number of events that match a shape."""
    match shape:
        case Take():
            return 1
        case Loop(body=body, low=low):
            return low * least_events(body)
        case plan_pattern.Choice(parts=parts):
            return min(map(least_events, parts))
        case Interleaved(parts=parts, count=count):
            return sum(sorted(map(least_events, parts))[:count])
        case InOrder(parts=parts):
            return sum(map(least_events, parts))
        case Absent():
            return 0


def is_flat(shape: Shape) -> bool:
    """True if a shape is a SEQ of single events and Kleene plus, as flat plans require."""
    if isinstance(shape, InOrder):
        return bool(shape.parts) and all(not isinstance(part, InOrder) and is_flat(part) for part in shape.parts)
    if isinstance(shape, Loop):
        return (shape.low, shape.high, shape.until) == (1, None, None) and isinstance(shape.body, Take)
    return isinstance(shape, Take)


@dataclass(frozen=True)
class Negated:
    """A NOT: its syntax nodes (neighbouring ones are one), and the repetitions around it.

    `rivals`: the components of the other sides of an OR. `or_else_of`: the number of the NOT beside which the events
    of these sides stand; None: it is a NOT of its own. `ends`: of an UNTIL, the repetition that it ends.
    """

    negations: list[tree.Negation]
    loops: Loops
    rivals: tuple[int, ...] = ()
    or_else_of: int | None = None
    ends: int | None = None

    @property
    def due(self) -> tree.Due | None:
        """The FOR or EVERY of the NOT, which then has no neighbour."""
        return self.negations[0].due


class Builder:
    """The builder of shapes, which numbers components, repetitions and NOTs in the order of the text."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.events: list[tree.Event] = []
        self.negated: list[Negated] = []
        self.distinct: list[Choice] = []
        self.loops = 0

    def shape(self, pattern: tree.Pattern, loops: Loops, *, outermost: bool = False) -> Shape:
        """The shape of a pattern inside the repetitions `loops`. `outermost`: NOT may begin or end its SEQ."""
        match pattern:
            case tree.Event():
                self.events.append(pattern)
                return Take(len(self.events) - 1)
            case tree.Sequence(parts=parts):
                return self._sequence(parts, loops, outermost)
            case tree.Repeat(low=low) if not tree.is_repetition(pattern, inside=bool(loops)):
                if low == 1:
                    return self.shape(pattern.pattern, loops)
                return plan_pattern.Choice((NOTHING, _something(self.shape(pattern.pattern, loops))))
            case tree.Repeat(low=low, high=high):
                inner = pattern.pattern
                while low <= 1 and high is None and isinstance(inner, tree.Repeat) and _is_open(inner):
                    low, inner = min(low, inner.low), inner.pattern
                return self._loop(inner, low, high, loops, pattern.until)
            case tree.Disjunction(parts=parts):
                return plan_pattern.Choice(self._parts(parts, loops))
            case tree.Conjunction(parts=parts):
                check_no_due(parts, self.scope)
                return Interleaved(self._parts(parts, loops), len(parts))
            case tree.AnyOf():
                return self._any(pattern, loops)
            case tree.Negation():
                hint = "NOT stands between, before or after the components of a SEQ: SEQ(A a, NOT B b, C c)."
                if pattern.due is not None:
                    hint += (
                        " NOT ... FOR may also be a side of OR or AND there: SEQ(A a, (C c OR NOT B FOR 5 minutes))."
                    )
                raise self.scope.plan_error("a NOT outside of SEQ", pattern.span, hint)

    def _parts(self, parts: tuple[tree.Pattern, ...], loops: Loops) -> tuple[Shape, ...]:
        return tuple(self.shape(part, loops) for part in parts)

    def _loop(
        self, inner: tree.Pattern, low: int, high: int | None, loops: Loops, until: tree.Event | None = None
    ) -> Shape:
        """A repetition; an optional one is a choice of nothing or at least one iteration."""
        number = self.loops
        self.loops += 1
        body = self.shape(inner, (*loops, number))
        ended = None if until is None else len(self.negated)
        if until is not None:
            self.negated.append(Negated([tree.Negation(until, span=until.span)], loops, ends=number))
        if low > 0 and not nullable(body):
            return Loop(number, body, low, high, ended)
        return plan_pattern.Choice((NOTHING, Loop(number, _something(body), 1, high, ended)))

    def _any(self, pattern: tree.AnyOf, loops: Loops) -> Shape:
        """The shape of ANY; its DISTINCT is added to `distinct`."""
        before = len(self.events)
        count, parts = pattern.count, pattern.parts
        if len(parts) == 1:
            shape = self._loop(parts[0], count, count, loops)
        elif count == 1:
            shape = plan_pattern.Choice(self._parts(parts, loops))
        else:
            shape = Interleaved(self._parts(parts, loops), count)
        if pattern.distinct is not None:
            self.distinct.append(Choice(tuple(range(before, len(self.events))), pattern, loops))
        return shape

    def _sequence(self, parts: tuple[tree.Pattern, ...], loops: Loops, outermost: bool) -> Shape:
        """The shape of SEQ: nested sequences flattened, neighbouring NOTs joined. QueryError for a NOT out of place."""
        self._check_nots(parts, outermost)
        check_due(parts, self.scope)
        found: list[Shape] = []
        waiting: list[tree.Negation] = []
        for part in parts:
            if isinstance(part, tree.Negation):
                waiting.append(part)
                continue
            found.extend(self._absent(waiting, loops))
            waiting = []
            if outermost and isinstance(part, tree.Disjunction) and nots_of(part):
                check_alternatives(part, nullable=all(map(nullable, found)), scope=self.scope)
                found.append(self._alternatives(part))
                continue
            if outermost and isinstance(part, tree.Conjunction) and nots_of(part):
                found.extend(self._conjunction(part, nullable_before=all(map(nullable, found))))
                continue
            shape = self.shape(part, loops)
            plain = isinstance(shape, InOrder) and not any(isinstance(one, Absent) for one in shape.parts)
            found.extend(shape.parts if plain and isinstance(shape, InOrder) else (shape,))
        found.extend(self._absent(waiting, loops))
        return found[0] if len(found) == 1 else InOrder(tuple(found))

    def _absent(self, negations: list[tree.Negation], loops: Loops) -> list[Shape]:
        """The NOT of neighbouring negations as a list of one shape; [] without any."""
        if not negations:
            return []
        self.negated.append(Negated(negations, loops))
        return [Absent(len(self.negated) - 1)]

    def _conjunction(self, both: tree.Conjunction, *, nullable_before: bool) -> list[Shape]:
        """The shapes of an AND of parts and a NOT ... FOR: the parts, then the NOT, which counts since before them."""
        since = frozenset(range(len(self.events)))
        (written,) = check_conjunction(both, nullable=nullable_before, scope=self.scope)
        sides = tuple(self.shape(part, ()) for part in both.parts if part is not written)
        shape = sides[0] if len(sides) == 1 else Interleaved(sides, len(sides))
        if nullable(shape):
            hint = "Give it a part that is always there, or leave the NOT out of the AND."
            raise self.scope.plan_error("an AND with a NOT takes an event", both.span, hint)
        self.negated.append(Negated([written], ()))
        return [shape, Absent(len(self.negated) - 1, since)]

    def _alternatives(self, either: tree.Disjunction) -> Shape:
        """The shape of an OR of events and a NOT ... FOR. Each event stands behind the NOT's counterpart `or_else`."""
        number = len(self.negated)
        (written,) = nots_of(either)
        self.negated += [Negated([written], ()), Negated([written], (), or_else_of=number)]
        sides: list[Shape] = []
        taken: list[int] = []
        for part in either.parts:
            if part is written:
                sides.append(Absent(number))
                continue
            taken.append(len(self.events))
            sides.append(InOrder((Absent(number + 1), self.shape(part, ()))))
        self.negated[number] = replace(self.negated[number], rivals=tuple(taken))
        return plan_pattern.Choice(tuple(sides))

    def _check_nots(self, parts: tuple[tree.Pattern, ...], outermost: bool) -> None:
        """Raise QueryError for a SEQ of NOTs only, or an inner SEQ that a NOT begins or ends."""
        if all(isinstance(part, tree.Negation) for part in parts):
            hint = "A match needs an event: SEQ(A a, NOT B b, C c)."
            raise self.scope.plan_error("a SEQ of nothing but NOTs", parts[0].span, hint)
        for part in (parts[0], parts[-1]):
            if isinstance(part, tree.Negation) and not outermost:
                hint = "Put it between two components, or into the outermost SEQ."
                message = "a NOT that begins or ends a SEQ stands in the outermost SEQ only"
                raise self.scope.plan_error(message, part.span, hint)


def _something(body: Shape) -> Shape:
    """The body of a repetition without its choice of nothing, because an iteration takes at least one event."""
    if not isinstance(body, plan_pattern.Choice) or NOTHING not in body.parts:
        return body
    parts = tuple(part for part in body.parts if part != NOTHING)
    return parts[0] if len(parts) == 1 else plan_pattern.Choice(parts)


def _is_open(repeat: tree.Repeat) -> bool:
    """True if a repetition is + or *, without UNTIL. It can be merged with one of these directly around it."""
    return repeat.low <= 1 and repeat.high is None and repeat.until is None
