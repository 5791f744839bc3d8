"""What a query means, bound to a stream's schema: the contract between the language and the engines.

All dataclasses are frozen and hold no reference to the text's syntax tree. Variables are named by the index of
their component; attributes by name and kind. `explain` prints these, `engine.match` and `engine.trends` run them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saffron.schema.schema import Kind

# ---------------------------------------------------------------- expressions


DEFAULT_STREAM = "events"
"""The stream of a query without FROM."""
MAX_COMPONENTS = 30
"""Most components of a match query: its engine keeps two bits of an int64 for each."""
MAX_SEQUENCES = 128
"""Most sequences that one NOT rules out (AND inside a NOT has one for each order)."""
MAX_TABLE_STATES = 5_000
"""States of the automaton of a pattern that is not flat."""
MAX_STATES = 62
"""Most states of an aggregate query: its engine keeps a bit of an int64 for each."""
MAX_WINDOWS = 10_000
"""Most windows that an event of an aggregate query lies in: it keeps an aggregate for each (T5)."""


class Which(Enum):
    """Which event of a component's binding an attribute is taken from."""

    SINGLE = "single"  # a.x           the event of a component that is no closure
    CURRENT = "i"  # b[i].x        the event being taken
    PREVIOUS = "i-k"  # b[i-k].x      the k-th event before it (k in `back`)
    FIRST = "1"  # b[1].x, b[first].x
    LAST = "last"  # b[last].x, b[b.len].x
    ADJACENT = "next"  # NEXT(A).x    trend queries: the later event of an adjacent pair


class Scope(Enum):
    """Over which events of a closure an aggregate runs."""

    BEFORE = "..i-1"  # f(b[..i-1].x)  those taken before the current one
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
    """count, sum, avg, min, max, first, last or stddev over a closure's events. `name` is None for count(b[])."""

    function: str
    component: int
    scope: Scope
    name: str | None
    kind: Kind | None


@dataclass(frozen=True)
class Length:
    """b.len: number of events of the finished closure."""

    component: int


@dataclass(frozen=True)
class Unary:
    """operator: "-" or "not"."""

    operator: str
    operand: Expr


@dataclass(frozen=True)
class Binary:
    """operator: + - * / %  = != < <= > >=  and or.

    Numbers are computed as float64. A comparison with null, or between kinds, is false; arithmetic with null is
    null; x / 0 and x % 0 are null; % has the sign of the dividend (C's fmod).
    """

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Call:
    """abs(x) sqrt(x) min.. max.. are spelled abs, sqrt, least, greatest here. sqrt of a negative number is null."""

    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class In:
    """operand IN (choices): literals of one kind."""

    operand: Expr
    choices: tuple[Const, ...]


@dataclass(frozen=True)
class TrendValue:
    """In RETURN and HAVING of an aggregate query: `TrendPlan.aggregates[index]`."""

    index: int
    kind: Kind


@dataclass(frozen=True)
class GroupValue:
    """In RETURN and HAVING of an aggregate query: `TrendPlan.group[index]`."""

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
    """One conjunct of WHERE, on one edge of the state of its last identifier.

    A condition on b[i] gives two: one on TAKE, and one on BEGIN (b[i] being the first event), the latter only if it
    does not look back (b[i-1], b[..i-1]); where b[i-k] with k > 1 has nothing to look at, the condition holds.
    `local`: it reads only the event being taken (plus constants), so that it can be asked of a whole block at once.
    `text`: the conjunct as the user wrote it, for explain.
    """

    component: int
    edge: Edge
    expr: Expr
    local: bool
    text: str


@dataclass(frozen=True)
class Component:
    """An event type in the pattern, in pattern order. `variable` is what results call it (unique).

    `closure`: it stands in a repetition: its binding is a list of events, in order. Negated components come after all
    others: those of `Absence` k are `MatchPlan.absences[k].components`, and no match binds them.
    """

    variable: str
    type: str
    closure: bool


# ---------------------------------------------------------------- shapes of patterns


@dataclass(frozen=True)
class Take:
    """One event of a component."""

    component: int


@dataclass(frozen=True)
class InOrder:
    """SEQ: the parts one after the other. Only here parts may be `Absent`."""

    parts: tuple[Shape, ...]


@dataclass(frozen=True)
class Loop:
    """{low,high} times the body, `high` None without end: + is (1, None). ? and * are a `Choice` with an empty InOrder
    (`*` of a loop (1, None)), {0,m} likewise, so that low is at least 1. Loops are numbered from 0, outer ones first.
    """

    number: int
    body: Shape
    low: int
    high: int | None


@dataclass(frozen=True)
class Choice:
    """OR: one of the parts, of which one may be InOrder(()), nothing."""

    parts: tuple[Shape, ...]


@dataclass(frozen=True)
class Together:
    """AND, ANY: `count` of the parts (AND: all), interleaved or not, sharing no event."""

    parts: tuple[Shape, ...]
    count: int


@dataclass(frozen=True)
class Absent:
    """NOT: no match of `MatchPlan.absences[number]` here. Neighbouring ones are one, as NOT SEQ of both."""

    number: int


Shape = Take | InOrder | Loop | Choice | Together | Absent


@dataclass(frozen=True)
class Absence:
    """What a NOT rules out: any of `sequences`, each a tuple of components (indices) of single events, in order.

    A repetition inside NOT is there once, an option not at all, AND in every order: enough, as a NOT asks only whether
    there is a match. `checks`: conditions that name a component of it, and others that the match bound (unbound: they
    hold); all components are read as SINGLE. `loops`: the repetitions around it, in whose iterations it is asked.
    """

    components: tuple[int, ...]
    sequences: tuple[tuple[int, ...], ...]
    checks: tuple[Check, ...]
    loops: tuple[int, ...] = ()


@dataclass(frozen=True)
class Check:
    """A conjunct of WHERE, wherever its variables stand. It is asked as soon as all of them can be read.

    CURRENT, PREVIOUS and BEFORE read the event being taken, of every component that is read so: those of one iteration
    of the repetitions that they share; LAST, CLOSED and Length read a finished list. A component that the match has
    not bound: the check holds. So it does where there is nothing to look back at.
    """

    expr: Expr
    text: str


@dataclass(frozen=True)
class Distinct:
    """ANY ... DISTINCT attr: the events that the components bind have different values of it, none null.

    `loops`: the repetitions around the ANY, of which each iteration stands for itself.
    """

    components: tuple[int, ...]
    attribute: str
    kind: Kind
    loops: tuple[int, ...] = ()


class Output(Enum):
    """Which matches are reported."""

    ALL = "ALL"
    NON_OVERLAP = "NON-OVERLAP"
    COMPRESSED = "COMPRESSED"
    FIRST = "FIRST"
    LONGEST = "LONGEST"


@dataclass(frozen=True)
class OpenOn:
    """OPEN ON Type [var] [WHERE expr]: `expr` reads component 0 as SINGLE; None when there is no WHERE."""

    type: str
    expr: Expr | None


@dataclass(frozen=True)
class Window:
    """WITHIN size [SLIDE slide] [OPEN ON ...].

    `events`: sizes are numbers of events of the partition's stream, else ms.
    `slide` None and `opens` None: match queries, last - first <= size (events: <= size - 1).
    `slide`: windows [k*slide, k*slide + size) for all integers k, over ts (aligned to the epoch) or positions (k >= 0).
    `opens`: a window [o, o + size) opens at every event o that fits.
    """

    size: int
    events: bool
    slide: int | None
    opens: OpenOn | None


@dataclass(frozen=True)
class ReturnItem:
    """One item of RETURN: `name` is the key in the result's "return" object."""

    name: str
    expr: Expr


# ---------------------------------------------------------------- plans


@dataclass(frozen=True)
class MatchPlan:
    """A match query.

    `flat`: the pattern is a SEQ of single events and Kleene plus, one strategy throughout, TIME ORDERED. Then
    `conditions` has the conjuncts on their edges; `checks` has them in any case.
    `begins`, `continues`: for each positive component the strategy that governs what may be skipped while waiting for
    it, and between its events (its loop's next iteration).
    `strict`: TIME STRICT. `consume`: components whose events serve one match only (CONSUME).
    `into`: the type of the events that results are to other queries. `confidence`: its threshold, None: not asked for.
    `text` is the normalised text (clauses in a fixed order, one space, canonical spellings, without the query's
    name): results' ids hash it. `key`: attributes of [attr], in order; all events of a match agree on them, none null.
    `returns`: empty for RETURN * and for none. `waits`: types and attributes, in words, that no event has had yet;
    `unseen`: names of those attributes that the schema does not have.
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

    @property
    def positive(self) -> int:
        """How many components a match can bind: those before the negated ones."""
        return len(self.components) - sum(len(absence.components) for absence in self.absences)


@dataclass(frozen=True)
class TrendState:
    """A place of the pattern, reached by an event of one component (T2).

    `start`, `end`: a trend may begin, or end, here. `leading`: negatives (indices into `TrendPlan.negatives`) of which
    no trend may lie between the window's start and a trend's first event here; `trailing`: between its last event
    here and the window's end.
    """

    component: int
    start: bool
    end: bool
    leading: tuple[int, ...] = ()
    trailing: tuple[int, ...] = ()


@dataclass(frozen=True)
class Transition:
    """An adjacency from state `source` to state `target` (T2), both indices into `states`; one for each pair.

    `conditions`: edge predicates on this pair (T6). They read the component of `source` as SINGLE (the earlier event),
    the component of `target` as ADJACENT (the later one), be it the same.
    `absences`: negatives of which no trend may lie strictly between the two events (T4).
    `strategy`: what may be skipped between the two events.
    `ends`: under skip-till-next-match, transitions (indices) of the same source that an event waits along no longer
    once this one has taken one behind it. Types, conditions and TIME decide whether it takes it, not `absences`, which
    rule out trends and no choice.
    """

    source: int
    target: int
    conditions: tuple[Expr, ...]
    absences: tuple[int, ...] = ()
    strategy: Strategy = Strategy.ANY
    ends: tuple[int, ...] = ()


@dataclass(frozen=True)
class Template:
    """A GRETA template (T2). `local[s]`: conditions on the event of state s alone, its component read as SINGLE."""

    states: tuple[TrendState, ...]
    transitions: tuple[Transition, ...]
    local: tuple[tuple[Expr, ...], ...]


@dataclass(frozen=True)
class TrendAggregate:
    """An aggregate over the trends of a window and group (T9): function "count", "min", "max", "sum" or "avg".

    `component` None: COUNT(*). `attribute` and its `kind` None: COUNT(*) and COUNT(E). Of an attribute, null is
    skipped: "count" is the number of values, "avg" the sum by that number; "min", "max", "avg" of nothing are null,
    "sum" of nothing is 0.
    """

    function: str
    component: int | None
    attribute: str | None
    kind: Kind | None


@dataclass(frozen=True)
class TrendPlan:
    """An aggregate query (T1).

    `components`: the positive ones in pattern order, then those inside NOTs, each in the order of the text.
    `template`: of the trends; with AND, of those of its left side.
    `negatives`: of NOT k, a template whose trends must be absent where k is named. Transitions and states there name
    later negatives only (T4). Of `sides`: () or, with AND, the templates of the right side and of what both match.
    `strategy`: of steps for which none is named. `strict`: TIME STRICT, events with equal ts are never adjacent.
    `key`: equivalence and group attributes together (the partition of the graph, T6, T7), none null.
    `group`: attributes of GROUP BY; aggregates of the keys of one group are put together.
    `window.slide` is always set or `opens` is (WITHIN alone means SLIDE = WITHIN).
    `aggregates`: each once; `returns`, `having` compute with them (leaves: TrendValue, GroupValue, Const).
    `exact`: EXACT, integers of any size. `waits`: types and attributes, in words, that no event has had yet;
    `unseen`: names of those attributes that the schema does not have.
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


Plan = MatchPlan | TrendPlan
