"""Readers of conditions for general kernels: a run's lane, the event, the ring of rows, as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from saffron.engine.match.core.automaton import Feature, State, What, aggregate_features
from saffron.engine.match.core.kernel_layout import Names, lane_array, updated
from saffron.engine.match.core.source.expressions import Term, Writer
from saffron.engine.match.core.source.user_functions import final_name, step_name
from saffron.engine.match.general.automaton import BOUND, FRESH, GeneralAutomaton, held, so_far
from saffron.engine.match.general.checks import Asked
from saffron.engine.operators.aggregates import BUILT_IN
from saffron.language.plan.expressions import Aggregate, Attribute, Length, Scope, Which
from saffron.schema.schema import Kind


@dataclass(frozen=True)
class LaneReader:
    """The run in a lane. `taken`: the component whose event is being taken (None: the run is complete as it is).

    `rows`: negated components, by the variable that holds the place of their event in the ring of rows.
    """

    automaton: GeneralAutomaton
    names: Names
    lane: str
    taken: int | None = None
    rows: Mapping[int, str] | None = None

    wide = False

    @property
    def state(self) -> State:
        return self.automaton.state

    def text(self, feature: Feature) -> str:
        return f"{lane_array(self.state, feature)}[{self.lane}]"

    def attribute(self, leaf: Attribute) -> Term:
        """The term of an attribute: of the row of a negated component, of the event at hand, or as the lane holds it.

        The lane has not taken the event at hand yet: that may be the first or n-th event of its component.
        """
        nullable = leaf.name not in ("ts", "type")
        if self.rows and leaf.component in self.rows:
            column = f"c{self.names.attribute(leaf.name, leaf.kind)}[{self.rows[leaf.component]}]"
            return Term(column if leaf.kind is Kind.FLOAT else f"np.int64({column})", leaf.kind, nullable)
        mine = leaf.component == self.taken
        if mine and leaf.which in (Which.CURRENT, Which.SINGLE):
            return Term(self._event(leaf), leaf.kind, nullable)
        if leaf.which in (Which.FIRST, Which.SINGLE):
            first = self.text(held(leaf, What.FIRST))
            text = (
                f"({first} if {self.text(BOUND)} & (1 << {leaf.component}) else {self._event(leaf)})" if mine else first
            )
            return Term(text, leaf.kind, nullable)
        if leaf.which is Which.NTH:
            nth = self.text(held(leaf, What.NTH, leaf.back))
            length = self.text(Feature(leaf.component, What.LENGTH))
            text = f"({self._event(leaf)} if {length} == {leaf.back - 1} else {nth})" if mine else nth
            return Term(text, leaf.kind, nullable)
        if leaf.which is Which.PREVIOUS:
            back = leaf.back if mine else leaf.back + 1
            feature = held(leaf, What.LAST) if back == 1 else held(leaf, What.PREVIOUS, back)
            return Term(self.text(feature), leaf.kind, nullable)
        return Term(self.text(held(leaf, What.LAST)), leaf.kind, nullable)

    def _event(self, leaf: Attribute) -> str:
        return f"x{self.names.attribute(leaf.name, leaf.kind)}"

    def aggregate(self, leaf: Aggregate) -> Term:
        """The term of an aggregate by the lane's features; a user's aggregate is null without values, or if infinite.

        BEFORE leaves out the last event of a component other than `taken`. THROUGH adds the event at hand to `taken`.
        """
        before = leaf.scope is Scope.BEFORE and leaf.component != self.taken  # the current event is in the list
        through = leaf.scope is Scope.THROUGH and leaf.component == self.taken  # it is not yet
        if leaf.name is None or leaf.kind is None:
            length = self.length(Length(leaf.component))
            return replace(length, text=f"({length.text} {'-' if before else '+'} 1)") if before or through else length
        kept = {feature.what: feature for feature in (so_far(leaf) if before else aggregate_features(leaf))}

        def value(what: What) -> str:
            return self._with_event(kept[what]) if through else self.text(kept[what])

        if leaf.function not in BUILT_IN:
            ended = f"{final_name(leaf.function)}({value(What.FOLD)}, np.int64({value(What.NUMBER)}))"
            return Term(f"(finite({ended}) if {value(What.NUMBER)} > 0.0 else math.nan)", Kind.FLOAT)
        if leaf.function == "avg":
            return Term(f"quotient({value(What.SUM)}, {value(What.NUMBER)})", Kind.FLOAT)
        if leaf.function == "stddev":
            return Term(f"deviation({value(What.SPREAD)}, {value(What.NUMBER)})", Kind.FLOAT)
        if leaf.function == "sum" and leaf.scope is Scope.CLOSED:
            bound = f"{self.text(BOUND)} & (1 << {leaf.component})"  # of the empty list it is null
            return Term(f"({value(What.SUM)} if {bound} else math.nan)", Kind.FLOAT)
        what = next(iter(kept))
        kind = leaf.kind if what in (What.FIRST, What.LAST, What.MIN, What.MAX) else Kind.FLOAT
        return Term(value(what), kind)

    def _with_event(self, feature: Feature) -> str:
        """The value of a feature once the run has taken the event."""
        lane = self.text(feature)
        if feature.what is What.FIRST:
            event = f"x{self.names.attribute(feature.name, feature.kind)}"
            return f"({lane} if {self.text(BOUND)} & (1 << {feature.component}) else {event})"
        if feature.what is What.FOLD:
            number = self.names.attribute(feature.name, feature.kind)
            return f"({step_name(feature.function)}({lane}, z{number}) if k{number} != 0.0 else {lane})"
        return f"({updated(feature, self.names, self)})"

    def length(self, leaf: Length) -> Term:
        return Term(self.text(Feature(leaf.component, What.LENGTH)), Kind.INT, False)


def condition(asked: Asked, read: LaneReader) -> str:
    """The text of a check that holds where an event that it reads is not bound, or a list does not have it."""
    text = Writer(read, read.names.constant).condition(asked.expr)
    negated = read.rows or {}
    elsewhere = [c for c in asked.reads if c != read.taken and c not in negated]
    mask = sum(1 << c for c in elsewhere if c in asked.events - asked.taking)
    fresh = sum(1 << c for c in elsewhere if c in asked.taking)
    if mask:
        text = f"({read.text(BOUND)} & {mask} != {mask}) or {text}"
    if fresh:
        under_way = f"{read.text(FRESH)} & ~edges[e, CLEARS]" if read.taken is not None else read.text(FRESH)
        text = f"({under_way} & {fresh} != {fresh}) or {text}"
    for component in sorted(asked.taking):
        needed = asked.needed(component, read.taken)
        if needed == 1:
            text = f"({read.text(BOUND)} & (1 << {component}) == 0) or {text}"
        elif needed:
            text = f"({read.text(Feature(component, What.LENGTH))} < {needed}) or {text}"
    for component, number in sorted(asked.numbered.items()):
        held_before = number - (component == read.taken)
        text = f"({read.text(Feature(component, What.LENGTH))} < {held_before}) or {text}"
    return f"({text})"
