"""The pattern of a plan: its components and their order, its NOTs, and the conditions on them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saffron.language.plan.expressions import Expr
from saffron.schema.event_types import EventTypes
from saffron.schema.schema import Kind


class Strategy(Enum):
    """Event selection strategies (N2)."""

    STRICT = "strict-contiguity"
    PARTITION = "partition-contiguity"
    NEXT = "skip-till-next-match"
    ANY = "skip-till-any-match"


class Edge(Enum):
    """The edge of the automaton on which a condition stands (N3)."""

    BEGIN = "begin"  # of a singleton's state or of p[1]
    TAKE = "take"  # of p[i]; a condition on b[i] stands on begin of p[1] too (see Condition)
    PROCEED = "proceed"  # leaving p[i]


@dataclass(frozen=True)
class Condition:
    """A conjunct of WHERE on one edge of the state of its last identifier.

    A conjunct on b[i] becomes two conditions: one on TAKE, and one on BEGIN, where b[i] is the first event. Those that
    look back (b[i-1], b[..i-1]) have none on BEGIN. A condition holds where b[i-k], k > 1, does not exist.
    `local`: it reads the event being taken only, so a whole block can be tested at once.
    `text`: the conjunct as written, for `explain`.
    """

    component: int
    edge: Edge
    expr: Expr
    local: bool
    text: str


@dataclass(frozen=True)
class Component:
    """A step of the pattern, which takes an event of one of `types`. `variable`: its name in results, unique.

    `closure`: it stands in a repetition, so it binds a list of events in order. Components are in pattern order, with
    negated ones behind all others: those of NOT k are `MatchPlan.absences[k].components`, and no match binds them.
    """

    variable: str
    types: EventTypes
    closure: bool


@dataclass(frozen=True)
class Take:
    """One event of a component."""

    component: int


@dataclass(frozen=True)
class InOrder:
    """SEQ: the parts one after the other. Only this shape, and a `Choice` in it, may have `Absent` parts."""

    parts: tuple[Shape, ...]


@dataclass(frozen=True)
class Loop:
    """The body repeated `low` to `high` times, `high` None for no bound: + is (1, None).

    `low` is at least 1: ?, * and {0,m} are a `Choice` between an empty InOrder and the body or its loop. `number`
    counts loops from 0, outer ones first. `until`: the number of the `Absence` that ends it (UNTIL).
    """

    number: int
    body: Shape
    low: int
    high: int | None
    until: int | None = None


@dataclass(frozen=True)
class Choice:
    """OR: one of the parts. InOrder(()) as a part stands for nothing."""

    parts: tuple[Shape, ...]


@dataclass(frozen=True)
class Interleaved:
    """AND, ANY: `count` of the parts (AND: all), interleaved in any order, without a common event."""

    parts: tuple[Shape, ...]
    count: int


@dataclass(frozen=True)
class Absent:
    """NOT: no match of `MatchPlan.absences[number]` here. Neighbouring NOTs are one, the NOT of their SEQ.

    `since`: of a NOT with a time in an AND, the components before the AND: the time begins with the last of their
    events. () begins it with the event before the NOT.
    """

    number: int
    since: frozenset[int] = frozenset()


Shape = Take | InOrder | Loop | Choice | Interleaved | Absent


@dataclass(frozen=True)
class Absence:
    """A NOT: none of `sequences` may occur. A sequence is a tuple of components (indices), one event each, in order.

    The shortest sequences suffice, as any match violates a NOT: a repetition has its least number of iterations, an
    option none, AND every order. `checks`: conditions on its components, which are read as SINGLE, and on components
    that the match binds; a check on an unbound component holds. `loops`: the repetitions around it, which evaluate it
    in each iteration.

    `duration`: the time (ms) of NOT ... FOR. The NOT rules out events up to `duration` behind the event before it, and
    the event after it comes later. At the beginning of a pattern it rules out events up to `duration` before the first
    event. `every`: a match is reported again each `duration`, until the window's end or until one of `sequences`
    occurs. `or_else`: the NOT stands in an OR with a NOT ... FOR, before an event, and rules nothing out. An event
    behind the due time needs one of `sequences` up to the due time; else the NOT ... FOR came first. It has no
    components of its own. `until`: the NOT is an UNTIL, which ends the last of `loops`. That loop takes no event behind
    its first one if one of `sequences` lies between the event taken before and this event, or is this event itself.
    """

    components: tuple[int, ...]
    sequences: tuple[tuple[int, ...], ...]
    checks: tuple[Check, ...]
    loops: tuple[int, ...] = ()
    duration: int | None = None
    every: bool = False
    or_else: bool = False
    until: bool = False


@dataclass(frozen=True)
class Check:
    """A conjunct of WHERE, evaluated as soon as all its variables are bound.

    CURRENT, PREVIOUS, BEFORE and THROUGH relate to the event being taken; several components read so are read in one
    iteration of the repetitions that they share. LAST, CLOSED and Length read a finished list. NTH is known once the
    list has n events. A check holds if it reads a component that the match has not bound, or an event that a list
    does not have.
    """

    expr: Expr
    text: str


@dataclass(frozen=True)
class Distinct:
    """ANY ... DISTINCT attr: the events of the components have different values of the attribute, none null.

    `loops`: the repetitions around the ANY; the rule applies to each iteration by itself.
    """

    components: tuple[int, ...]
    attribute: str
    kind: Kind
    loops: tuple[int, ...] = ()
