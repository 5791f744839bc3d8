"""The plan of a match query, bound to a stream's schema: the contract between the language and `engine.match`.

All dataclasses of plans are frozen and independent of the syntax tree. `explain` prints plans.
"""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.plan.clauses import Output, ReturnItem, Window
from saffron.language.plan.delivery import USUAL, Delivery
from saffron.language.plan.pattern import Absence, Check, Component, Condition, Distinct, InOrder, Shape, Strategy
from saffron.schema.computed import ComputedRead


@dataclass(frozen=True)
class MatchPlan:
    """The plan of a match query.

    `text`: the canonical text without the query's name, EMIT and PUBLISH; ids of results hash it.
    `key`: attributes of [attr], in order; all events of a match have equal values of them, none null.
    `flat`: the pattern is a SEQ of single events and Kleene plus, with one strategy and TIME ORDERED, and no condition
    reads NTH or THROUGH. `conditions` has the conjuncts of flat plans on their edges; `checks` has those of all plans.
    `begins`, `continues`: by positive component, the strategy while a run waits for it, and between its events, as in
    the next iteration of its loop.
    `strict`: TIME STRICT. `consume`: components whose events serve one match only (CONSUME).
    `into`: the event type of results that other queries read. `delivery`: EMIT and PUBLISH.
    `confidence`: the threshold, None without CONFIDENCE.
    `returns`: () for RETURN * and without RETURN. `waits`: descriptions of types and attributes that no event has had
    yet. `unseen`: names of those attributes that the schema lacks. `computed`: the computed values that it reads.
    `timestamps`: types without an attribute `timestamp`, of which the query reads ts by that name.
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
    delivery: Delivery = USUAL
    confidence: float | None = None
    waits: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    computed: tuple[ComputedRead, ...] = ()
    timestamps: tuple[str, ...] = ()

    @property
    def positive(self) -> int:
        """The number of components that a match can bind; the negated ones come behind them."""
        return len(self.components) - sum(len(absence.components) for absence in self.absences)
