"""Names and places in generated kernels: event attributes, features of runs, bits of masks, counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from saffron.engine.match.core.automaton import RESTS, Automaton, Feature, State, What, attribute_feature
from saffron.engine.match.core.source.expressions import Term
from saffron.language.plan.expressions import Aggregate, Attribute, Length, Which
from saffron.language.plan.pairs import OF_EXTREME, rest_name
from saffron.schema.schema import Kind

# Places in the array of counters that a step kernel reads and writes.
ROW_MASK, NODE, NODE_TAIL, FOUND, AT, BEGAN, LAST_ORDINAL, LAST_TIME, LIVED, ROW_TAIL, LONGEST_LIFE = range(11)
PER_STATE = 11
LIVE, MET, MOVED, LEFT, DIED = range(5)  # of state c: PER_STATE + 5 * c + ...
STATE_COUNTERS = 5

# Rows of the list of matches: first row, node before the last event or -1, last row and its component; and of general
# automata the first row of the latest thing before the match that a leading NOT rules out or -1, the deadline at which
# the match became known or AT_ONCE, and the one window it is meant for: first instant (ALL_WINDOWS: every one that
# holds it) and serial number. Of merged runs (N7) the chain up to node MARK_OF alone; before it comes that of OWN_OF
# (0: the chain is whole).
FIRST_ROW, CHAIN, LAST_ROW, PART, LEAD, DEADLINE_OF, LOW, SERIAL, MARK_OF, OWN_OF = range(10)
FOUND_ROWS = 10
DUE_OF = OWN_OF
"""The row of general automata, whose runs do not merge: the time at which the NOT that ends the match was over.

AT_ONCE: no NOT with a time ends the match.
"""
AT_ONCE = ALL_WINDOWS = -(2**62)
STATE_BITS = 20
"""A run that is reported because its window is over has LEAD = -2 - (ordinal of its last event << these | state)."""

# Return codes of a step kernel: everything done, or the array to grow before the next call (POOL + c for state c).
DONE, GROW_NODES, GROW_FOUND, GROW_POOL = range(4)


UNCOUNTED = 1 << 60
"""A bit of an event's mask: the event is a result of another query, and is ignored by contiguity."""


def begin_bit(component: int) -> int:
    """The event's type and its own attributes allow it to begin this component."""
    return 1 << (2 * component)


def take_bit(component: int) -> int:
    """The event's type and its own attributes allow this closure to take it."""
    return 2 << (2 * component)


def counters(states: int) -> int:
    """The number of counters of a query."""
    return PER_STATE + STATE_COUNTERS * states


def place(state: int, counter: int) -> int:
    """The index of a state's counter."""
    return PER_STATE + STATE_COUNTERS * state + counter


def numbered(pools: Sequence[str], components: int) -> dict[str, int]:
    """The constants of a query's own text: LIVE_0, ... place the counters of pool 0, BEGIN_0 and TAKE_0 are the bits of
    component 0."""
    places = {f"{name}_{pool}": place(n, of) for n, pool in enumerate(pools) for name, of in _OF_POOL.items()}
    begins = {f"BEGIN_{c}": begin_bit(c) for c in range(components)}
    return places | begins | {f"TAKE_{c}": take_bit(c) for c in range(components)}


_OF_POOL = {"LIVE": LIVE, "MET": MET, "MOVED": MOVED, "LEFT": LEFT, "DIED": DIED}


@dataclass
class Names:
    """The attributes that a kernel uses, in the order in which it first used them, and its array of constants.

    Every use of a constant has a place of its own: queries of one shape have the same text, whatever is equal in them.
    """

    attributes: dict[str, Kind] = field(default_factory=dict)
    constants: list[str | int | float] = field(default_factory=list)

    def attribute(self, name: str, kind: Kind) -> int:
        self.attributes.setdefault(name, kind)
        return list(self.attributes).index(name)

    def constant(self, value: str | float) -> int:
        self.constants.append(value)
        return len(self.constants) - 1


def null_text(kind: Kind) -> str:
    """The sentinel of a kind."""
    return "math.nan" if kind is Kind.FLOAT else str(kind.null)


@dataclass(frozen=True)
class EventReader:
    """The event at hand as the whole binding of the component that it begins."""

    names: Names

    def attribute(self, leaf: Attribute) -> Term:
        text = f"x{self.names.attribute(leaf.name, leaf.kind)}"
        return Term(text, leaf.kind, leaf.name not in ("ts", "type"))

    def aggregate(self, leaf: Aggregate) -> Term:
        if leaf.function == "count":
            return Term("0", Kind.INT, False)
        return Term("0.0" if leaf.function == "sum" else "math.nan", Kind.FLOAT)

    def length(self, leaf: Length) -> Term:
        return Term("0", Kind.INT, False)


@dataclass(frozen=True)
class RunReader:
    """The run in lane `lane` of `state`; the event at hand is `current`'s (component index, or -1).

    `wide`: the eight runs from lane `lane` on. `fresh`: variables that hold values not to be read from memory again.
    """

    automaton: Automaton
    names: Names
    state: State
    current: int
    lane: str
    wide: bool = False
    fresh: dict[Feature, str] = field(default_factory=dict)

    def attribute(self, leaf: Attribute) -> Term:
        taking = self.current == self.state.index
        if leaf.component == self.current and (not taking or leaf.which in (Which.CURRENT, Which.SINGLE)):
            return EventReader(self.names).attribute(leaf)
        feature = attribute_feature(leaf, self.automaton.plan)
        return Term(self.text(feature), leaf.kind, leaf.name not in ("ts", "type"), wide=self.wide)

    def aggregate(self, leaf: Aggregate) -> Term:
        """The term of an aggregate by the run's features; that of an empty list if the event begins the component."""
        if leaf.component == self.current != self.state.index:
            return EventReader(self.names).aggregate(leaf)
        if leaf.name is None or leaf.kind is None:
            return self.length(Length(leaf.component))
        if leaf.function == "stddev":
            spread, number = (Feature(leaf.component, w, leaf.name, leaf.kind) for w in (What.SPREAD, What.NUMBER))
            function = "deviation8" if self.wide else "deviation"
            return Term(f"{function}({self.text(spread)}, {self.text(number)})", Kind.FLOAT, wide=self.wide)
        if leaf.function == "avg":
            return self._mean(leaf)
        what = _AGGREGATES[leaf.function]
        feature = Feature(leaf.component, what, leaf.name, leaf.kind)
        held = leaf.kind if what in (What.FIRST, What.LAST, What.MIN, What.MAX) else Kind.FLOAT
        return Term(self.text(feature), held, wide=self.wide)

    def _mean(self, leaf: Aggregate) -> Term:
        assert leaf.name is not None
        assert leaf.kind is not None
        total, number = (
            self.text(Feature(leaf.component, what, leaf.name, leaf.kind)) for what in (What.SUM, What.NUMBER)
        )
        function = "quotient8" if self.wide else "quotient"
        return Term(f"{function}({total}, {number})", Kind.FLOAT, wide=self.wide, mean=f"{total}, {number}")

    def length(self, leaf: Length) -> Term:
        return Term(self.text(Feature(leaf.component, What.LENGTH)), Kind.INT, False, wide=self.wide)

    def text(self, feature: Feature) -> str:
        if feature in self.fresh:
            return self.fresh[feature]
        array = lane_array(self.state, feature)
        return f"lanes({array}, {self.lane})" if self.wide else f"{array}[{self.lane}]"


_AGGREGATES = {
    "count": What.NUMBER,
    "sum": What.SUM,
    "min": What.MIN,
    "max": What.MAX,
    OF_EXTREME["min"]: What.MIN_REST,
    OF_EXTREME["max"]: What.MAX_REST,
    "first": What.FIRST,
    "last": What.LAST,
}


def lane_array(state: State, feature: Feature) -> str:
    """The name of the array that holds a feature of the runs of a state."""
    rows = state.floats if feature.floating else state.ints
    return f"s{state.index}{'f' if feature.floating else 'i'}{rows.index(feature)}"


def initial(feature: Feature, names: Names) -> str:
    """The value of a feature of the component that the event at hand begins."""
    if feature.what is What.LENGTH:
        return "1"
    event = names.attribute(feature.name, feature.kind)
    if feature.what in RESTS:
        return f"x{names.attribute(rest_name(feature.name), feature.kind)}"
    return {
        What.PREVIOUS: null_text(feature.kind),
        What.NUMBER: f"k{event}",
        What.SUM: f"z{event}",
        What.MEAN: f"z{event}",
        What.SPREAD: "0.0",
    }.get(feature.what, f"x{event}")


class Carried(Protocol):
    """A reader of a run's features for `updated`: the text of a feature, and whether the text is of eight lanes."""

    @property
    def wide(self) -> bool: ...

    def text(self, feature: Feature) -> str: ...


def updated(feature: Feature, names: Names, read: Carried) -> str:
    """The value of a feature of the closure that takes the event at hand (that of FIRST never changes)."""
    old = read.text(feature)
    if feature.what is What.LENGTH:
        return f"{old} + 1"

    def beside(what: What, back: int = 0) -> str:
        return read.text(Feature(feature.component, what, feature.name, feature.kind, back))

    event = names.attribute(feature.name, feature.kind)
    null = null_text(feature.kind)
    if feature.what is What.PREVIOUS:
        return beside(What.PREVIOUS, feature.back - 1) if feature.back > 2 else beside(What.LAST)
    if feature.what in RESTS:
        best, rest = beside(RESTS[feature.what]), f"x{names.attribute(rest_name(feature.name), feature.kind)}"
        sign = "<" if feature.what is What.MIN_REST else ">"
        same = f"((x{event} == {best}) & ({rest} {sign} {old}))"
        replaced = f"(({best} != {best}) | (x{event} {sign} {best}) | {same})"
        return f"choose({replaced}, {rest}, {old})" if read.wide else f"{rest} if {replaced} else {old}"
    if feature.what in (What.MIN, What.MAX):
        sign = "<" if feature.what is What.MIN else ">"
        absent = f"({old} != {old})" if feature.floating else f"({old} == {null})"
        present = "" if feature.floating else f"(x{event} != {null}) & "
        replaced = f"{present}({absent} | (x{event} {sign} {old}))"
        return f"choose({replaced}, x{event}, {old})" if read.wide else f"x{event} if {replaced} else {old}"
    if feature.what is What.LAST:
        return f"x{event}"
    if feature.what is What.NUMBER:
        return f"{old} + k{event}"
    if feature.what is What.SUM:
        return f"{old} + z{event}"
    mean = beside(What.MEAN)
    # A null (k = 0) moves nothing.
    moved = f"{mean} + k{event} * (z{event} - {mean}) / ({beside(What.NUMBER)} + 1.0)"
    if feature.what is What.MEAN:
        return moved
    return f"{old} + k{event} * (z{event} - {mean}) * (z{event} - ({moved}))"
