"""Where the components of a match query stand in its pattern, and what can be told from that."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saffron.language import plan, tree


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

    `absence`: the NOT that it stands in, None for a positive one. `path` of such a one leads to its NOT.
    `own`: repetitions inside that NOT around it; `rounds`: for each of them, which iteration this one belongs to, as
    each iteration that must be there has components of its own.
    """

    event: tree.Event
    path: Path
    absence: int | None = None
    own: tuple[int, ...] = ()
    rounds: tuple[int, ...] = ()

    @property
    def loops(self) -> tuple[int, ...]:
        """Numbers of the repetitions around it, outermost first: it is a list if there is any."""
        return loops_of(self.path) + self.own

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
    return tuple(step.part for step in path if step.branch is Branch.LOOP)


def order(one: Leaf, other: Leaf) -> Order:
    """Where the events of `one` stand, seen from those of `other`; both positive, not the same."""
    step, against = next((a, b) for a, b in zip(one.path, other.path, strict=False) if a != b)
    if step.branch is Branch.SEQ:
        return Order.BEFORE if step.part < against.part else Order.AFTER
    return Order.NEVER if step.branch is Branch.OR else Order.EITHER


def surely_begun(one: Leaf, other: Leaf) -> bool:
    """Whether the first event of `one` is bound, or never will be, whenever `other` takes an event."""
    if order(one, other) is not Order.BEFORE:
        return False
    shared = next(at for at, (a, b) in enumerate(zip(one.path, other.path, strict=False)) if a != b)
    again = any(step.branch is Branch.LOOP for step in one.path[:shared])
    return not again or not any(step.branch in (Branch.OR, Branch.ANY) for step in one.path[shared:])
