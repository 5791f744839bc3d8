"""The shape of a pattern: its components numbered from the left, repetitions numbered, NOTs kept with their SEQ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from saffron.language.syntax import tree
from tests.reference.match.events import Event


@dataclass(frozen=True, eq=False)
class Leaf:
    """A component. `types`: of its events, () for ANY.

    `loops`: the repetitions around it, outermost first; it is a list if there is any.
    """

    number: int
    variable: str
    types: tuple[str, ...]
    loops: tuple[int, ...]

    def takes(self, event: Event) -> bool:
        """Whether the event is of its types; ANY takes no result of another query."""
        return event.type in self.types if self.types else event.counter == 0


@dataclass(frozen=True, eq=False)
class Take:
    leaf: Leaf


@dataclass(frozen=True, eq=False)
class Seq:
    """`absent`: (how many parts stand before it, what must not be there). `due`: by that number, its FOR or EVERY."""

    parts: tuple[Shape, ...]
    absent: tuple[tuple[int, Shape], ...]
    due: tuple[tuple[int, tree.Due], ...] = ()


@dataclass(frozen=True, eq=False)
class Either:
    """OR; with an empty Seq as one side it is `?`. `absent`: what must not be there for a time, of a side that is NOT;
    that side is an empty Seq among the parts."""

    parts: tuple[Shape, ...]
    absent: tuple[Shape, tree.Due] | None = None


@dataclass(frozen=True, eq=False)
class Both:
    """AND, and ANY over several units: `count` of the parts, interleaved in any way. `absent`: of an AND, what must not
    be there for a time."""

    count: int
    parts: tuple[Shape, ...]
    absent: tuple[Shape, tree.Due] | None = None


@dataclass(frozen=True, eq=False)
class Loop:
    """low to high (None: any number) iterations, at least one; an iteration takes at least one event.

    `until`: the component whose event ends it, which no match binds.
    """

    number: int
    body: Shape
    low: int
    high: int | None
    until: Leaf | None = None


Shape = Take | Seq | Either | Both | Loop
NOTHING = Seq((), ())


@dataclass(frozen=True)
class Distinct:
    """DISTINCT: the events of these leaves differ in the attribute, within one iteration of the loops around ANY."""

    attribute: str
    leaves: frozenset[int]
    loops: tuple[int, ...]


@dataclass(frozen=True)
class Pattern:
    """`leaves`: by number, the positive ones first (`positive` of them), then those inside NOT.

    `closures`: leaves that are the whole of the only repetition around them, as in `A+`.
    """

    root: Shape
    leaves: tuple[Leaf, ...]
    positive: int
    distinct: tuple[Distinct, ...]
    closures: frozenset[int]

    @property
    def owners(self) -> set[str]:
        """The variables, and the types that are the only one of a component."""
        return {name for leaf in self.leaves for name in (leaf.variable, *(leaf.types if len(leaf.types) == 1 else ()))}

    def leaf(self, name: str) -> Leaf:
        """The component that a variable names, or the only one of a type of that name."""
        named = [leaf for leaf in self.leaves if leaf.variable == name]
        found = named or [leaf for leaf in self.leaves if leaf.types == (name,)]
        if len(found) != 1:
            raise ValueError(f"{name} names {len(found)} components")
        return found[0]


def leaves_of(shape: Shape) -> Iterator[Leaf]:
    """The components of a shape, but for those inside its NOTs."""
    if isinstance(shape, Take):
        yield shape.leaf
    elif isinstance(shape, Loop):
        yield from leaves_of(shape.body)
    else:
        for part in shape.parts:
            yield from leaves_of(part)


def nullable(shape: Shape) -> bool:
    """Whether it can be over without an event."""
    match shape:
        case Take():
            return False
        case Either(parts=parts):
            return any(map(nullable, parts))
        case Loop(body=body):
            return nullable(body)
        case Both(count=needed, parts=parts):
            return sum(map(nullable, parts)) >= needed
        case Seq(parts=parts):
            return all(map(nullable, parts))


def shape_of(pattern: tree.Pattern) -> Pattern:
    """Raises ValueError for a NOT out of place."""
    builder = _Builder(names_of(pattern))
    root = builder.shape(pattern, (), outermost=True)
    leaves = sorted(builder.leaves, key=lambda leaf: leaf.number)
    return Pattern(
        root, tuple(leaves), len(list(leaves_of(root))), tuple(builder.distinct), frozenset(builder.closures)
    )


def _components(pattern: tree.Pattern, absent: bool = False) -> Iterator[tuple[tree.Event, bool]]:
    if isinstance(pattern, tree.Event):
        yield pattern, absent
    elif isinstance(pattern, tree.Repeat | tree.Negation):
        yield from _components(pattern.pattern, absent or isinstance(pattern, tree.Negation))
        if isinstance(pattern, tree.Repeat) and pattern.until is not None:
            yield pattern.until, True
    else:
        for part in pattern.parts:
            yield from _components(part, absent)


def names_of(pattern: tree.Pattern) -> dict[int, tuple[int, str]]:
    """id of the tree's event -> number and variable; those inside NOT are numbered and named last."""
    components = sorted(_components(pattern), key=lambda pair: pair[1])
    taken = {event.variable for event, _ in components if event.variable}
    if len(taken) < sum(event.variable is not None for event, _ in components):
        raise ValueError("two components have the same variable")
    result, seen = {}, dict.fromkeys((_type(event) for event, _ in components), 0)
    for number, (event, _) in enumerate(components):
        name = event.variable
        if name is None:
            kind = _type(event)
            seen[kind] += 1
            if kind in taken and seen[kind] == 1:
                seen[kind] = 2
            name = kind if seen[kind] == 1 else f"{kind}#{seen[kind]}"
        result[id(event)] = number, name
    return result


def _type(event: tree.Event) -> str:
    """The name of an event without a variable."""
    return event.types[0] if event.types else "ANY"


class _Builder:
    def __init__(self, names: dict[int, tuple[int, str]]) -> None:
        self.names = names
        self.leaves: list[Leaf] = []
        self.distinct: list[Distinct] = []
        self.closures: list[int] = []
        self.loops = count()

    def shape(self, pattern: tree.Pattern, loops: tuple[int, ...], *, outermost: bool = False) -> Shape:
        match pattern:
            case tree.Event():
                leaf = Leaf(*self.names[id(pattern)], pattern.types, loops)
                self.leaves.append(leaf)
                return Take(leaf)
            case tree.Sequence(parts=parts):
                return self._sequence(parts, loops, outermost)
            case tree.Disjunction(parts=parts):
                return self._either(parts, loops)
            case tree.Conjunction(parts=parts):
                return self._both(parts, loops)
            case tree.Repeat(pattern=inner, low=low, high=1) if loops or not _written_as_lists(inner):
                shape = self.shape(inner, loops)
                return Either((shape, NOTHING)) if low == 0 else shape
            case tree.Repeat(pattern=inner, low=low, high=high, until=until):
                return self._loop(inner, low, high, loops, until)
            case tree.AnyOf(count=needed, parts=parts, distinct=attribute):
                if len(parts) == 1:
                    shape = self._loop(parts[0], needed, needed, loops)
                else:
                    shape = Both(needed, tuple(self.shape(part, loops) for part in parts))
                if attribute is not None:
                    numbers = frozenset(leaf.number for leaf in leaves_of(shape))
                    self.distinct.append(Distinct(attribute, numbers, loops))
                return shape
            case tree.Negation():
                raise ValueError("NOT stands inside SEQ")

    def _either(self, parts: tuple[tree.Pattern, ...], loops: tuple[int, ...]) -> Shape:
        negated = [part for part in parts if isinstance(part, tree.Negation) and part.due]
        sides = tuple(NOTHING if part in negated else self.shape(part, loops) for part in parts)
        if not negated:
            return Either(sides)
        (one,) = negated
        assert one.due is not None
        if one.due.every or not all(isinstance(side, Take) or side is NOTHING for side in sides):
            raise ValueError("beside a NOT in an OR stand single events")
        return Either(sides, (self.shape(one.pattern, loops), one.due))

    def _both(self, parts: tuple[tree.Pattern, ...], loops: tuple[int, ...]) -> Shape:
        negated = [part for part in parts if isinstance(part, tree.Negation) and part.due]
        present = tuple(self.shape(part, loops) for part in parts if part not in negated)
        if not negated:
            return Both(len(present), present)
        (one,) = negated
        assert one.due is not None
        return Both(len(present), present, (self.shape(one.pattern, loops), one.due))

    def _loop(
        self, inner: tree.Pattern, low: int, high: int | None, loops: tuple[int, ...], until: tree.Event | None = None
    ) -> Shape:
        number = next(self.loops)
        body = self.shape(inner, (*loops, number))
        ended = None if until is None else self.shape(until, loops)
        leaf = ended.leaf if isinstance(ended, Take) else None
        if isinstance(body, Take) and not loops:
            self.closures.append(body.leaf.number)
        loop = Loop(number, body, max(1, 1 if nullable(body) else low), high, leaf)
        return Either((loop, NOTHING)) if low == 0 or nullable(body) else loop

    def _sequence(self, parts: tuple[tree.Pattern, ...], loops: tuple[int, ...], outermost: bool) -> Shape:
        present: list[Shape] = []
        absent: list[tuple[int, Shape]] = []
        missing: list[Shape] = []
        due = []
        for part in parts:
            if isinstance(part, tree.Negation):
                inner = part.pattern
                if isinstance(inner, tree.Negation):
                    raise ValueError("NOT of a NOT")
                missing.append(self.shape(inner, loops))
                if part.due is not None:
                    due.append((len(present), part.due))
                continue
            if missing:
                absent.append((len(present), _joined(missing)))
                missing = []
            present.append(self.shape(part, loops))
        if missing:
            absent.append((len(present), _joined(missing)))
        if not present:
            raise ValueError("SEQ of NOTs alone")
        if not outermost and any(gap in (0, len(present)) for gap, _ in absent):
            raise ValueError("a leading or trailing NOT stands in the outermost SEQ only")
        return Seq(tuple(present), tuple(absent), tuple(due))


def _written_as_lists(pattern: tree.Pattern) -> bool:
    """Whether a variable that would be one event has brackets."""
    if isinstance(pattern, tree.Event):
        return pattern.brackets
    if isinstance(pattern, tree.Repeat | tree.Negation) or (
        isinstance(pattern, tree.AnyOf) and len(pattern.parts) == 1
    ):
        return False
    return any(map(_written_as_lists, pattern.parts))


def _joined(missing: list[Shape]) -> Shape:
    """Neighbouring NOTs are one."""
    return missing[0] if len(missing) == 1 else Seq(tuple(missing), ())
