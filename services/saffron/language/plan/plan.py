"""The plan of a query, bound to a stream's schema: the contract between the language and the engines.

All dataclasses are frozen and independent of the syntax tree. A variable is the index of its component, an attribute
is a name and a kind. `explain` prints plans; `engine.match` and `engine.trends` run them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saffron.schema.event_types import EventTypes
from saffron.schema.schema import Kind

# ---------------------------------------------------------------- expressions


DEFAULT_STREAM = "events"
"""The stream of a query without FROM."""
MAX_COMPONENTS = 30
"""Most components of a match query: its engine keeps two bits of an int64 for each."""
MAX_SEQUENCES = 128
"""Most sequences in one NOT; AND inside a NOT has one for each order of its events."""
MAX_REPORTS = 10_000
"""Most times that NOT ... EVERY ends in one window, as a match is reported each time."""
MAX_TABLE_STATES = 5_000
"""Most states of the automaton of a pattern that is not flat."""
MAX_STATES = 62
"""Most states of an aggregate query: its engine keeps a bit of an int64 for each."""
MAX_WINDOWS = 10_000
"""Most windows that an event of an aggregate query lies in, as each has an aggregate of its own (T5)."""


class Which(Enum):
    """The event of a component's binding whose attribute is read."""

    SINGLE = "single"  # a.x           the event of a component that is no closure
    CURRENT = "i"  # b[i].x        the event being taken
    PREVIOUS = "i-k"  # b[i-k].x      the k-th event before it (k in `back`)
    FIRST = "1"  # b[1].x, b[first].x
    NTH = "n"  # b[n].x        the n-th event, n > 1 (n in `back`)
    LAST = "last"  # b[last].x, b[b.len].x
    ADJACENT = "next"  # NEXT(A).x    trend queries: the later event of an adjacent pair


class Scope(Enum):
    """The events of a closure that an aggregate runs over."""

    BEFORE = "..i-1"  # f(b[..i-1].x)  those taken before the current one
    THROUGH = "..i"  # f(b[..i].x)    these and the current one
    CLOSED = "[]"  # f(b[].x)       the finished closure


@dataclass(frozen=True)
class Const:
    """A literal. Numbers: int or float (durations are ms); `value` None is null."""

    value: int | float | str | bool | None


@dataclass(frozen=True)
class Attribute:
    """An attribute of one bound event. `name` "ts" and "type" are the event's own; all else is in the schema."""

    component: int
    which: Which
    name: str
    kind: Kind
    back: int = 0


@dataclass(frozen=True)
class Aggregate:
    """An aggregate over a closure's events: count, sum, avg, min, max, first, last, stddev, or a user-defined one.

    `name`: the attribute, None for count(b[]).
    """

    function: str
    component: int
    scope: Scope
    name: str | None
    kind: Kind | None


@dataclass(frozen=True)
class Length:
    """b.len: the number of events of the finished closure."""

    component: int


@dataclass(frozen=True)
class Unary:
    """operator operand; the operator is "-" or "not"."""

    operator: str
    operand: Expr


@dataclass(frozen=True)
class Binary:
    """left operator right; the operator is one of + - * / %  = != < <= > >=  and or.

    Numbers are computed as float64. A comparison with null, or between kinds, is false; arithmetic with null is
    null; x / 0 and x % 0 are null; % has the sign of the dividend (C's fmod).
    """

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Call:
    """A function of `schema.functions`: min and max of several values are least and greatest. `kind`: of its value.

    In conditions it is one that kernels compute: with `Function.kernel`, or a choice (case, coalesce, nullif, is_null)
    of numbers and truth values. RETURN and HAVING may have any.
    """

    function: str
    arguments: tuple[Expr, ...]
    kind: Kind = Kind.FLOAT


@dataclass(frozen=True)
class In:
    """operand IN (choices): literals of one kind."""

    operand: Expr
    choices: tuple[Const, ...]


@dataclass(frozen=True)
class TrendValue:
    """The value of `TrendPlan.aggregates[index]`, in RETURN and HAVING of an aggregate query."""

    index: int
    kind: Kind


@dataclass(frozen=True)
class GroupValue:
    """The value of the attribute `TrendPlan.group[index]`, in RETURN and HAVING of an aggregate query."""

    index: int
    kind: Kind


Expr = Const | Attribute | Aggregate | Length | Unary | Binary | Call | In | TrendValue | GroupValue

# ---------------------------------------------------------------- parts of a plan


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


# ---------------------------------------------------------------- shapes of patterns


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

    `duration`: of NOT ... FOR, in ms. It rules out what lies no later than that behind the event before it, and what
    follows comes later than that. Before the first event: it rules out what lies no earlier than that before it.
    `every`: a match is reported again each `duration`, until the window's end or until one of `sequences` occurs.
    `or_else`: it stands before an event beside a NOT ... FOR in an OR, and rules nothing out. Behind the due time the
    event needs one of `sequences` up to the due time; else the NOT came first. It has no components of its own.
    `until`: it is an UNTIL, the last of `loops` is what it ends. That takes no event behind its first one if one of
    `sequences` lies between the event taken before and this event, or is this event itself.
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


class Output(Enum):
    """The choice of the matches that are reported."""

    ALL = "ALL"
    NON_OVERLAP = "NON-OVERLAP"
    COMPRESSED = "COMPRESSED"
    FIRST = "FIRST"
    LONGEST = "LONGEST"


@dataclass(frozen=True)
class OpenOn:
    """OPEN ON Type [var] [WHERE expr]. `expr` reads the event as component 0, SINGLE; None without WHERE."""

    type: str
    expr: Expr | None


@dataclass(frozen=True)
class Window:
    """A window: WITHIN size [SLIDE slide] [OPEN ON ...].

    `events`: sizes count events of a partition, else ms.
    `slide`: windows [k*slide, k*slide + size) for all integers k, over ts from the epoch, or over positions, k >= 0.
    `opens`: a window [o, o + size) opens at every event o that fits.
    Both None, in match queries only: last - first <= size, counted in events <= size - 1.
    """

    size: int
    events: bool
    slide: int | None
    opens: OpenOn | None


@dataclass(frozen=True)
class ReturnItem:
    """An item of RETURN. `name`: its key in the result's "return" object."""

    name: str
    expr: Expr


# ---------------------------------------------------------------- plans


@dataclass(frozen=True)
class MatchPlan:
    """The plan of a match query.

    `text`: the canonical text without the query's name; ids of results hash it.
    `key`: attributes of [attr], in order; all events of a match have equal values of them, none null.
    `flat`: the pattern is a SEQ of single events and Kleene plus, with one strategy and TIME ORDERED, and no condition
    reads NTH or THROUGH. `conditions` has the conjuncts of flat plans on their edges; `checks` has those of all plans.
    `begins`, `continues`: by positive component, the strategy while a run waits for it, and between its events, as in
    the next iteration of its loop.
    `strict`: TIME STRICT. `consume`: components whose events serve one match only (CONSUME).
    `into`: the event type of results that other queries read. `confidence`: the threshold, None without CONFIDENCE.
    `returns`: () for RETURN * and without RETURN. `waits`: descriptions of types and attributes that no event has had
    yet. `unseen`: names of those attributes that the schema lacks. `computed`: names of the computed values that it
    reads (`schema.computed`).
    """

    name: str
    text: str
    stream: str
    components: tuple[Component, ...]
    strategy: Strategy
    key: tuple[str, ...]
    conditions: tuple[Condition, ...]
    window: Window
    returns: tuple[ReturnItem, ...]
    pattern: Shape = InOrder(())
    flat: bool = True
    checks: tuple[Check, ...] = ()
    absences: tuple[Absence, ...] = ()
    distinct: tuple[Distinct, ...] = ()
    begins: tuple[Strategy, ...] = ()
    continues: tuple[Strategy, ...] = ()
    strict: bool = False
    output: Output = Output.ALL
    timeouts: bool = False
    consume: tuple[int, ...] = ()
    into: str | None = None
    confidence: float | None = None
    waits: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()

    @property
    def positive(self) -> int:
        """The number of components that a match can bind; the negated ones come behind them."""
        return len(self.components) - sum(len(absence.components) for absence in self.absences)


@dataclass(frozen=True)
class TrendState:
    """A state of a template, reached by an event of one component (T2).

    `start`, `end`: a trend may begin, or end, here. `leading`: negatives (indices into `TrendPlan.negatives`) without a
    trend between the window's start and a trend's first event here. `trailing`: the same between a trend's last event
    here and the window's end.
    """

    component: int
    start: bool
    end: bool
    leading: tuple[int, ...] = ()
    trailing: tuple[int, ...] = ()


@dataclass(frozen=True)
class Transition:
    """The adjacency of states `source` and `target` (T2), indices into `Template.states`; one for each pair.

    `conditions`: edge predicates (T6). They read the earlier event as SINGLE (component of `source`), and the later
    one as ADJACENT (component of `target`).
    `absences`: negatives without a trend strictly between the two events (T4).
    `strategy`: what may be skipped between the two events.
    `ends`: transitions (indices) of the same source that an event stops waiting for once this one has taken a later
    event, under skip-till-next-match. Types, conditions and TIME decide that; `absences` do not.
    """

    source: int
    target: int
    conditions: tuple[Expr, ...]
    absences: tuple[int, ...] = ()
    strategy: Strategy = Strategy.ANY
    ends: tuple[int, ...] = ()


@dataclass(frozen=True)
class Template:
    """A GRETA template (T2). `local[s]`: conditions on the event of state s alone, read as SINGLE."""

    states: tuple[TrendState, ...]
    transitions: tuple[Transition, ...]
    local: tuple[tuple[Expr, ...], ...]


@dataclass(frozen=True)
class TrendAggregate:
    """An aggregate over the trends of a window and group (T9): "count", "min", "max", "sum" or "avg".

    `component`: None for COUNT(*). `attribute`, `kind`: None for COUNT(*) and COUNT(E). Null values are skipped:
    "count" is the number of values, "avg" the sum divided by it. Without values "min", "max" and "avg" are null, and
    "sum" is 0.
    """

    function: str
    component: int | None
    attribute: str | None
    kind: Kind | None


@dataclass(frozen=True)
class TrendPlan:
    """The plan of an aggregate query (T1).

    `components`: the positive ones in pattern order, then those inside NOTs, each in the order of the text.
    `template`: of the trends; with AND, of the left side. `sides`: (), or with AND the templates of the right side and
    of the sequences that both sides match.
    `negatives[k]`: the template of NOT k, without a trend where k is named. It names later negatives only (T4).
    `strategy`: of steps that name none. `strict`: TIME STRICT, events with equal ts are never adjacent.
    `key`: attributes of [attr] and GROUP BY, which partition the graph (T6, T7); none is null.
    `group`: attributes of GROUP BY; the aggregates of all keys of a group are combined.
    `window`: with `slide` or `opens` (WITHIN alone means SLIDE = WITHIN).
    `aggregates`: each once. `returns`, `having`: expressions over TrendValue, GroupValue and Const.
    `exact`: EXACT, integers of any size. `waits`, `unseen`, `computed`: see MatchPlan.
    """

    name: str
    text: str
    stream: str
    components: tuple[Component, ...]
    template: Template
    strategy: Strategy
    strict: bool
    key: tuple[str, ...]
    group: tuple[str, ...]
    window: Window
    aggregates: tuple[TrendAggregate, ...]
    returns: tuple[ReturnItem, ...]
    negatives: tuple[Template, ...] = ()
    sides: tuple[Template, ...] = ()
    having: Expr | None = None
    exact: bool = False
    waits: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()


Plan = MatchPlan | TrendPlan
