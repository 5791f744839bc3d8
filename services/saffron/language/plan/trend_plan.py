"""The plan of an aggregate query, bound to a stream's schema: the contract between the language and `engine.trends`."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.plan.clauses import ReturnItem, Window
from saffron.language.plan.delivery import USUAL, Delivery
from saffron.language.plan.expressions import Expr
from saffron.language.plan.pattern import Component, Strategy
from saffron.schema.computed import ComputedRead
from saffron.schema.schema import Kind


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
    `scanned`: the predecessors are in a list, whatever the conditions allow.
    """

    source: int
    target: int
    conditions: tuple[Expr, ...]
    absences: tuple[int, ...] = ()
    strategy: Strategy = Strategy.ANY
    ends: tuple[int, ...] = ()
    scanned: bool = False


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
    `exact`: EXACT, integers of any size. `delivery`: PUBLISH. `waits`, `unseen`, `computed`, `timestamps`: see
    MatchPlan.
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
    delivery: Delivery = USUAL
    waits: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    computed: tuple[ComputedRead, ...] = ()
    timestamps: tuple[str, ...] = ()
