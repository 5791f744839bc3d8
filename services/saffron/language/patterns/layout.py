"""Where the components of a match query stand in its pattern, and what can be told from that."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saffron.language.plan import plan
from saffron.language.syntax import tree


class Branch(Enum):
    """A node of the pattern that a path leads through."""

    SEQ = "SEQ"
    OR = "OR"
    AND = "AND"
    ANY = "ANY"
    LOOP = "repetition"


@dataclass(frozen=True)
class Step:
    """`part`: which part of the node; for a repetition its number."""

    branch: Branch
    part: int


Path = tuple[Step, ...]


@dataclass(frozen=True)
class Leaf:
    """A component: its place from the pattern's root.

    `loops`: numbers of the repetitions around it, outermost first: it is a list if there is any.
    `absence`: the NOT that it stands in, None for a positive one (only these have a `path`).
    `rounds`: for each repetition inside that NOT around it, which iteration this one belongs to: each iteration that
    must be there has components of its own.
    """

    event: tree.Event
    loops: tuple[int, ...]
    path: Path = ()
    absence: int | None = None
    rounds: tuple[int, ...] = ()

    @property
    def own(self) -> tuple[int, ...]:
        """Those of `loops` that are inside the NOT."""
        return self.loops[len(self.loops) - len(self.rounds) :]

    @property
    def certain(self) -> bool:
        """Whether every match binds it."""
        return self.absence is None and not any(step.branch in (Branch.OR, Branch.ANY) for step in self.path)

    @property
    def copy(self) -> bool:
        """Whether this stands for a later iteration inside a NOT."""
        return any(number > 1 for number in self.rounds)


@dataclass(frozen=True)
class Choice:
    """ANY ... DISTINCT: components (indices) whose events differ in an attribute, and the ANY as written."""

    components: tuple[int, ...]
    written: tree.AnyOf
    loops: tuple[int, ...]


@dataclass(frozen=True)
class Ruled:
    """What a NOT rules out: components, sequences of them (see plan.Absence), and its DISTINCTs."""

    components: tuple[int, ...]
    sequences: tuple[tuple[int, ...], ...]
    distinct: tuple[Choice, ...]
    loops: tuple[int, ...]
    span: tree.Span


@dataclass(frozen=True)
class Layout:
    """`leaves`: positive components in pattern order, then those of each NOT."""

    shape: plan.Shape
    leaves: tuple[Leaf, ...]
    absences: tuple[Ruled, ...]
    distinct: tuple[Choice, ...]

    @property
    def positive(self) -> int:
        return sum(leaf.absence is None for leaf in self.leaves)


class Order(Enum):
    """How the events of two components of a match stand to each other, within one iteration of what they share."""

    BEFORE = "before"
    AFTER = "after"
    EITHER = "either"
    NEVER = "never both"


def loops_of(path: Path) -> tuple[int, ...]:
    """Numbers of the repetitions that a path leads into, outermost first."""
    return tuple(step.part for step in path if step.branch is Branch.LOOP)


def paths(shape: plan.Shape, above: Path = ()) -> dict[int, Path]:
    """The path to each component of a shape, in the order in which they stand there."""
    match shape:
        case plan.Take(component=component):
            return {component: above}
        case plan.Absent():
            return {}
        case plan.Loop(number=number, body=body):
            return paths(body, (*above, Step(Branch.LOOP, number)))
        case plan.InOrder():
            branch = Branch.SEQ
        case plan.Choice():
            branch = Branch.OR
        case plan.Together(parts=parts, count=count):
            branch = Branch.AND if count == len(parts) else Branch.ANY
    found: dict[int, Path] = {}
    for index, part in enumerate(shape.parts):
        found |= paths(part, (*above, Step(branch, index)))
    return found


def order(one: Path, other: Path) -> Order:
    """Where the events of one component stand, seen from those of another one."""
    step, against = next((a, b) for a, b in zip(one, other, strict=False) if a != b)
    if step.branch is Branch.SEQ:
        return Order.BEFORE if step.part < against.part else Order.AFTER
    return Order.NEVER if step.branch is Branch.OR else Order.EITHER


def surely_begun(one: Path, other: Path) -> bool:
    """Whether the first event of one component is bound, or never will be, whenever another one takes an event."""
    if order(one, other) is not Order.BEFORE:
        return False
    shared = next(at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    again = any(step.branch is Branch.LOOP for step in one[:shared])
    return not again or not any(step.branch in (Branch.OR, Branch.ANY) for step in one[shared:])
