"""The layout of a pattern: the path to each component, and the order of events that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saffron.language.plan import pattern as plan_pattern
from saffron.language.plan.pattern import Absent, InOrder, Interleaved, Loop, Shape, Take
from saffron.language.syntax import tree


class Branch(Enum):
    """The kind of an inner node of a pattern."""

    SEQ = "SEQ"
    OR = "OR"
    AND = "AND"
    ANY = "ANY"
    LOOP = "repetition"


@dataclass(frozen=True)
class PathStep:
    """A step of a path: the kind of a node, and the index of the part taken (`part`); a repetition has its number."""

    branch: Branch
    part: int


Path = tuple[PathStep, ...]


@dataclass(frozen=True)
class Leaf:
    """A component and its place in the pattern.

    `loops`: numbers of the repetitions around it, outermost first; with any, it binds a list.
    `path`: from the pattern's root, () inside a NOT. `absence`: the number of its NOT, None for a positive component.
    `rounds`: by repetition inside that NOT, the iteration of this component, as each has components of its own.
    """

    event: tree.Event
    loops: tuple[int, ...]
    path: Path = ()
    absence: int | None = None
    rounds: tuple[int, ...] = ()

    @property
    def own(self) -> tuple[int, ...]:
        """The part of `loops` inside the NOT."""
        return self.loops[len(self.loops) - len(self.rounds) :]

    @property
    def certain(self) -> bool:
        """True if every match binds the component."""
        return self.absence is None and not any(step.branch in (Branch.OR, Branch.ANY) for step in self.path)

    @property
    def copy(self) -> bool:
        """True if the component belongs to a later iteration inside a NOT."""
        return any(number > 1 for number in self.rounds)


@dataclass(frozen=True)
class Choice:
    """ANY ... DISTINCT: the components (indices) whose events differ in an attribute, and the syntax node."""

    components: tuple[int, ...]
    written: tree.AnyOf
    loops: tuple[int, ...]


@dataclass(frozen=True)
class NotLayout:
    """A NOT: its components, the sequences of them that it rules out (see Absence), and its DISTINCTs.

    `due`: its FOR or EVERY. `rivals`: of a NOT in an OR, (component inside the NOT, component of the other side) for
    each other side. `or_else`, `until`: see Absence.
    """

    components: tuple[int, ...]
    sequences: tuple[tuple[int, ...], ...]
    distinct: tuple[Choice, ...]
    loops: tuple[int, ...]
    span: tree.Span
    due: tree.Due | None = None
    rivals: tuple[tuple[int, int], ...] = ()
    or_else: bool = False
    until: bool = False


@dataclass(frozen=True)
class Layout:
    """A pattern's shape and components. `leaves`: positive ones in pattern order, then those of each NOT."""

    shape: Shape
    leaves: tuple[Leaf, ...]
    absences: tuple[NotLayout, ...]
    distinct: tuple[Choice, ...]

    @property
    def positive(self) -> int:
        """The number of positive components."""
        return sum(leaf.absence is None for leaf in self.leaves)


class Order(Enum):
    """The order of two components' events in a match, within one iteration of the repetitions around both."""

    BEFORE = "before"
    AFTER = "after"
    EITHER = "either"
    NEVER = "never both"


def loops_of(path: Path) -> tuple[int, ...]:
    """Numbers of the repetitions that a path leads into, outermost first."""
    return tuple(step.part for step in path if step.branch is Branch.LOOP)


def paths(shape: Shape, above: Path = ()) -> dict[int, Path]:
    """Component -> path, in the order of the shape."""
    match shape:
        case Take(component=component):
            return {component: above}
        case Absent():
            return {}
        case Loop(number=number, body=body):
            return paths(body, (*above, PathStep(Branch.LOOP, number)))
        case InOrder():
            branch = Branch.SEQ
        case plan_pattern.Choice():
            branch = Branch.OR
        case Interleaved(parts=parts, count=count):
            branch = Branch.AND if count == len(parts) else Branch.ANY
    found: dict[int, Path] = {}
    for index, part in enumerate(shape.parts):
        found |= paths(part, (*above, PathStep(branch, index)))
    return found


def order(one: Path, other: Path) -> Order:
    """The order of the events of `one` relative to those of `other`."""
    step, against = next((a, b) for a, b in zip(one, other, strict=False) if a != b)
    if step.branch is Branch.SEQ:
        return Order.BEFORE if step.part < against.part else Order.AFTER
    return Order.NEVER if step.branch is Branch.OR else Order.EITHER


def surely_in(one: Path, around: Path) -> bool:
    """True if every match that takes events inside the node at path `around` takes one of the component at `one`."""
    shared = next((at for at, (a, b) in enumerate(zip(one, around, strict=False)) if a != b), len(around))
    return not any(step.branch in (Branch.OR, Branch.ANY) for step in one[shared:])


def surely_begun(one: Path, other: Path) -> bool:
    """True if, when `other` takes an event, the first event of `one` is bound already, or never will be."""
    if order(one, other) is not Order.BEFORE:
        return False
    shared = next(at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    again = any(step.branch is Branch.LOOP for step in one[:shared])
    return not again or not any(step.branch in (Branch.OR, Branch.ANY) for step in one[shared:])
