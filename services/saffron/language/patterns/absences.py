"""The expansion of a NOT to the sequences of single events that it rules out (see Absence)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product

from saffron.errors import QueryError
from saffron.language.patterns.layout import Choice, Leaf, NotLayout
from saffron.language.plan.limits import MAX_COMPONENTS, MAX_SEQUENCES
from saffron.language.scope.scope import Scope
from saffron.language.syntax import tree

Sequence = tuple[int, ...]
Sequences = tuple[Sequence, ...]


def expand_not(
    negations: list[tree.Negation],
    loops: tuple[int, ...],
    number: int,
    leaves: list[Leaf],
    first_loop: int,
    scope: Scope,
) -> NotLayout:
    """The layout of NOT `number`, one or several neighbouring `negations` with `loops` around them.

    `leaves`: its components are appended. `first_loop`: the first free number for a repetition.

    Raises QueryError (stage "plan") for a NOT inside a NOT, and for more than MAX_SEQUENCES sequences.
    """
    span = tree.Span(negations[0].span.start, negations[-1].span.end)
    expander = _Expander(scope, loops, number, leaves, first_loop, span)
    before = len(leaves)
    found = [expander.expand(negation.pattern, (), ()) for negation in negations]
    sequences = expander.row(found)[1]
    ruled = tuple(range(before, len(leaves)))
    return NotLayout(ruled, sequences, tuple(expander.distinct), loops, span, negations[0].due)


class _Expander:
    """The recursive expansion of a pattern to (all, some): its shortest sequences, and the shortest with an event.

    They differ for an optional pattern only: there `all` is the empty sequence alone.
    `own`: numbers of the repetitions inside the NOT; `rounds`: the iteration of each.
    """

    def __init__(
        self, scope: Scope, around: tuple[int, ...], number: int, leaves: list[Leaf], first_loop: int, span: tree.Span
    ) -> None:
        self.scope, self.around, self.number, self.leaves, self.span = scope, around, number, leaves, span
        self.first_loop = first_loop
        self.numbers: dict[int, int] = {}
        self.distinct: list[Choice] = []

    def expand(
        self, pattern: tree.Pattern, own: tuple[int, ...], rounds: tuple[int, ...]
    ) -> tuple[Sequences, Sequences]:
        """(all, some) of a pattern; QueryError for a NOT inside."""
        match pattern:
            case tree.Event():
                return self._event(pattern, own, rounds)
            case tree.Repeat(until=tree.Event() as until):
                hint = "Leave it out: inside a NOT a repetition is there as often as it must be, and no more."
                raise self.scope.plan_error("UNTIL inside a NOT", until.span, hint)
            case tree.Repeat(pattern=inner, low=low):
                if not tree.is_repetition(pattern, inside=bool(self.around or own)):
                    found = self.expand(inner, own, rounds)
                    return found if low == 1 else (((),), found[1])
                return self._repeat(pattern, inner, low, own, rounds)
            case tree.AnyOf():
                return self._any(pattern, own, rounds)
            case tree.Negation():
                hint = "Leave it out, or ask for what it means by two queries."
                raise self.scope.plan_error("a NOT inside a NOT", pattern.span, hint)
            case tree.Sequence(parts=parts):
                return self.row([self.expand(part, own, rounds) for part in parts])
            case tree.Conjunction(parts=parts):
                return self._mixed([self.expand(part, own, rounds) for part in parts], len(parts))
            case tree.Disjunction(parts=parts):
                return self._either([self.expand(part, own, rounds) for part in parts])

    def _event(self, event: tree.Event, own: tuple[int, ...], rounds: tuple[int, ...]) -> tuple[Sequences, Sequences]:
        """(all, some) of a single event, which becomes a component."""
        if len(self.leaves) == MAX_COMPONENTS:
            hint = "A repetition inside a NOT counts for as many as must be there."
            message = f"a pattern of this kind has at most {MAX_COMPONENTS} components"
            raise self.scope.plan_error(message, event.span, hint)
        self.leaves.append(Leaf(event, self.around + own, (), self.number, rounds))
        one = ((len(self.leaves) - 1,),)
        return one, one

    def _repeat(
        self, key: tree.Pattern, inner: tree.Pattern, low: int, own: tuple[int, ...], rounds: tuple[int, ...]
    ) -> tuple[Sequences, Sequences]:
        """The least number of iterations. An optional repetition has none in `all`, and one in `some`."""
        loop = self.numbers.setdefault(id(key), self.first_loop + len(self.numbers))
        found = [self.expand(inner, (*own, loop), (*rounds, 1))]
        if low == 0 or found[0][0] == ((),):
            return ((),), found[0][1]
        found.extend(self.expand(inner, (*own, loop), (*rounds, number)) for number in range(2, low + 1))
        return self.row(found)

    def _any(self, pattern: tree.AnyOf, own: tuple[int, ...], rounds: tuple[int, ...]) -> tuple[Sequences, Sequences]:
        """(all, some) of ANY; its DISTINCT is added to `distinct`."""
        before = len(self.leaves)
        if len(pattern.parts) == 1:
            found = self._repeat(pattern, pattern.parts[0], pattern.count, own, rounds)
        else:
            found = self._mixed([self.expand(part, own, rounds) for part in pattern.parts], pattern.count)
        if pattern.distinct is not None:
            components = tuple(range(before, len(self.leaves)))
            self.distinct.append(Choice(components, pattern, self.around + own))
        return found

    # -------------------------------------------------------- combining parts

    def row(self, parts: list[tuple[Sequences, Sequences]]) -> tuple[Sequences, Sequences]:
        """The sequences of the parts in order; if all are optional, `some` has the sequences of each by itself."""
        found: Sequences = ((),)
        for part in parts:
            found = self._shortest(head + tail for head, tail in product(found, part[0]))
        return found, found if found != ((),) else self._shortest(one for part in parts for one in part[1])

    def _either(self, parts: list[tuple[Sequences, Sequences]]) -> tuple[Sequences, Sequences]:
        """(all, some) of OR."""
        found = self._shortest(one for part in parts for one in part[0])
        return found, self._shortest(one for part in parts for one in part[1])

    def _mixed(self, parts: list[tuple[Sequences, Sequences]], count: int) -> tuple[Sequences, Sequences]:
        """`count` of the parts, in every order of their events."""
        found: list[Sequence] = []
        for chosen in combinations([part[0] for part in parts], count):
            ways: Sequences = ((),)
            for part in chosen:
                ways = self._shortest(one for head, tail in product(ways, part) for one in _shuffled(head, tail))
            found.extend(ways)
            self._check(len(found))
        shortest = self._shortest(found)
        if shortest != ((),):
            return shortest, shortest
        return shortest, self._shortest(one for part in parts for one in part[1])

    def _shortest(self, sequences: Iterable[Sequence]) -> Sequences:
        """The sequences without those that contain another one, as each match of them matches that one."""
        found: dict[Sequence, None] = {}
        for sequence in sequences:
            found[sequence] = None
            self._check(len(found))
        if () in found:
            return ((),)
        return tuple(one for one in found if not any(len(two) < len(one) and _holds(one, two) for two in found))

    def _check(self, size: int) -> None:
        """Raise QueryError for more than MAX_SEQUENCES sequences."""
        if size > MAX_SEQUENCES:
            raise self._too_many()

    def _too_many(self) -> QueryError:
        message = f"a NOT of more than {MAX_SEQUENCES} sequences of events"
        hint = "AND and ANY inside a NOT count once for each order of their events: list fewer there."
        return self.scope.plan_error(message, self.span, hint)


def _holds(longer: Sequence, shorter: Sequence) -> bool:
    """True if `shorter` is a subsequence of `longer`."""
    rest = iter(longer)
    return all(one in rest for one in shorter)


def _shuffled(one: Sequence, other: Sequence) -> Iterable[Sequence]:
    """All interleavings of two sequences."""
    if not one or not other:
        yield one + other
        return
    for rest in _shuffled(one[1:], other):
        yield one[:1] + rest
    for rest in _shuffled(one, other[1:]):
        yield other[:1] + rest
