"""The automaton of a plan of any shape: its table, and the features of its runs besides the state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from saffron.engine.match.core.automaton import Feature, State, What, aggregate_features, leaves, support
from saffron.engine.match.core.runs import FIRST_FEATURE
from saffron.engine.match.general.checks import Asked, due, due_at_end, joint
from saffron.engine.match.general.pending import UNTIMED
from saffron.engine.match.general.transition_table import Builder, TransitionTable
from saffron.language.patterns.stances import Gap
from saffron.language.plan.expressions import Aggregate, Attribute, Length, Scope, Which
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Absence, Strategy

_OWN = -1
"""The component of features of the run itself."""


def own(name: str) -> Feature:
    """A number that a run carries: its state, which components it has bound, ..."""
    return Feature(_OWN, What.LENGTH, name)


STATE, BOUND, FRESH, ORDINAL, MOMENT = (own(name) for name in ("state", "bound", "fresh", "ordinal", "moment"))
"""FRESH: components bound in the iteration under way; ORDINAL, MOMENT: of the event bound last."""

WANTED = own("wanted")
"""The components of which an event can concern a patient run, as bits."""


PENDING = tuple(own(name) for name in ("chain", "ended", "part", "lead", "low", "serial"))
"""Features of a match that waits for a trailing NOT: rows CHAIN, LAST_ROW, PART, LEAD, LOW, SERIAL of `found`."""
DUE, UNTIL = own("due"), own("until")
"""Features of a match that waits for a NOT with a time: DUE, its end; UNTIL, under EVERY, the last instant for that."""
LEADING, LED = own("leading"), own("led")
"""LEADING: 1 + the number of the match's leading NOTs, 0 for none. LED: the row before which they stand."""

REPORTED, REFUSED = own("reported"), own("refused")
"""Features of a run WITH TIMEOUTS. REPORTED: the instant up to which closed windows reported the run.
REFUSED: a NOT has ruled out its match; the run waits all the same.
"""


def mark(gap: int) -> Feature:
    """The row behind which a gap begins."""
    return own(f"mark{gap}")


def met(gap: int) -> Feature:
    """The feature with the row before which a gap ends, for NOTs evaluated at the end; 0: it has not ended."""
    return own(f"met{gap}")


def since(distinct: int) -> Feature:
    """The row of the first event of the iteration in which values must differ."""
    return own(f"since{distinct}")


@dataclass(frozen=True)
class GeneralAutomaton:
    """The automaton of a general plan, as a table of states and edges that kernels walk.

    `state`: layout of the one pool of runs. `uncounted`: some events do not count for strict contiguity.

    `since`: the gaps of NOTs that count since before the AND that they are a part of.
    """

    plan: MatchPlan
    checks: tuple[Asked, ...]
    table: TransitionTable
    state: State
    uncounted: bool = False
    since: tuple[Gap, ...] = ()

    @cached_property
    def local(self) -> Mapping[int, list[Asked]]:
        """The local conditions by component: its event decides them alone."""
        found: dict[int, list[Asked]] = {}
        for asked in (*self.checks, *self.absent):
            if asked.is_local:
                found.setdefault(min(asked.reads, default=0), []).append(asked)
        return found

    @property
    def patient(self) -> bool:
        """True if an event leaves all runs as they are that do not wait for it."""
        return WANTED in self.state.ints

    @cached_property
    def leading(self) -> tuple[tuple[Gap, ...], ...]:
        """The gaps before a first event, as they stand together."""
        return tuple(dict.fromkeys(gaps for kind in self.table.kinds if (gaps := without_left(kind.gaps))))

    @cached_property
    def leading_components(self) -> frozenset[int]:
        """The components that must be absent before a match."""
        numbers = (number for gaps in self.leading for gap in gaps for number in gap.absences)
        return frozenset(one for number in numbers for one in self.plan.absences[number].components)

    @cached_property
    def trailing(self) -> tuple[tuple[Gap, ...], ...]:
        """The gaps behind a last event, as they stand together; a run that waits for them is in state
        `len(table.states)` + their number."""
        return tuple(dict.fromkeys(ending.trailing for ending in self.table.endings if ending.trailing))

    @cached_property
    def timed(self) -> tuple[Absence, ...]:
        """The NOTs with a time that may end a match."""
        numbers = {number for gaps in self.trailing for gap in gaps for number in gap.absences}
        return tuple(one for number, one in enumerate(self.plan.absences) if number in numbers and one.duration)

    @property
    def period(self) -> int:
        """The interval (ms) at which a match that NOT ... EVERY ends is reported again; 0: it is reported once."""
        return next((one.duration or 0 for one in self.timed if one.every), 0)

    @property
    def due(self) -> tuple[int, int]:
        """The argument `due` of `pending.close`: the row of runs with the instant at which a NOT ends, and `period`."""
        if DUE not in self.state.ints:
            return UNTIMED
        return FIRST_FEATURE + self.state.ints.index(DUE), self.period

    @property
    def lag(self) -> int:
        """The time (ms) before a match's first event in which leading NOTs look, beyond the windows."""
        numbers = (number for gaps in self.leading for gap in gaps for number in gap.absences)
        return max((self.plan.absences[number].duration or 0 for number in numbers), default=0)

    @cached_property
    def postponed(self) -> Mapping[int, tuple[int, ...]]:
        """The NOTs that are evaluated when the match is complete, by gap of the table."""
        found: dict[int, set[int]] = {}
        for kind in self.table.kinds:
            for gap in kind.waiting:
                found.setdefault(self.table.gaps.index(gap), set()).update(kind.later & set(gap.absences))
        return {gap: tuple(sorted(numbers)) for gap, numbers in sorted(found.items())}

    @cached_property
    def absent(self) -> tuple[Asked, ...]:
        """The conditions of all NOTs."""
        return tuple(Asked(check) for absence in self.plan.absences for check in absence.checks)


def without_left(gaps: tuple[Gap, ...]) -> tuple[Gap, ...]:
    """The gaps at the beginning of a match: no event of the match comes before them."""
    return tuple(gap for gap in gaps if not gap.left)


def build(plan: MatchPlan, derived: frozenset[str] = frozenset()) -> GeneralAutomaton:
    """The automaton of a plan; SaffronError where the pattern has too many states.

    `derived`: types of results of other queries; none where contiguity, in which they do not count, is not asked for.
    """
    checks = tuple(Asked(check) for check in plan.checks)
    builder = Builder(plan, checks, derived)
    table = builder.build()
    absent = tuple(Asked(check) for absence in plan.absences for check in absence.checks)
    needed = {*_read(plan, (*checks, *absent)), *_looked_back(plan, table, checks)}
    while extra := {more for feature in needed for more in support(feature)} - needed:
        needed |= extra
    carried = _carried(plan, table, (*checks, *absent))
    ordered = sorted(needed, key=lambda f: (f.component, f.what.value, f.name, -f.back, f.function))
    floats = tuple(feature for feature in ordered if feature.floating)
    ints = (*carried, *(feature for feature in ordered if not feature.floating))
    return GeneralAutomaton(plan, checks, table, State(0, True, floats, ints), bool(derived), builder.since)


def _carried(plan: MatchPlan, table: TransitionTable, checks: tuple[Asked, ...]) -> list[Feature]:
    """The features of a run that are kept for the run itself, only those that are read: a run is copied often."""
    strategies = {*plan.begins, *plan.continues}
    carried = [STATE]
    if any(ending.trailing for ending in table.endings):
        carried += PENDING
    numbers = {number for one in table.endings for gap in one.trailing for number in gap.absences}
    if timed := [plan.absences[number] for number in sorted(numbers) if plan.absences[number].duration]:
        carried.append(DUE)
        carried += [UNTIL] * any(one.every for one in timed)
    if not strategies & {Strategy.STRICT, Strategy.PARTITION}:
        carried.append(WANTED)
    carried.append(BOUND)
    if any(asked.taking and not asked.is_local for asked in checks):
        carried.append(FRESH)
    if Strategy.STRICT in strategies or plan.timeouts:
        carried.append(ORDINAL)
    if plan.strict:
        carried.append(MOMENT)
    if any(without_left(kind.gaps) for kind in table.kinds):
        carried += [LEADING, LED]
    if plan.timeouts:
        carried += [REPORTED, REFUSED]
    carried += [mark(number) for number in range(len(table.gaps))]
    later = {gap for kind in table.kinds for gap in kind.waiting}
    carried += [met(number) for number, gap in enumerate(table.gaps) if gap in later]
    carried += [since(number) for number in range(len(plan.distinct))]
    return carried


def _read(plan: MatchPlan, checks: tuple[Asked, ...]) -> Iterator[Feature]:
    """The features of a run that the expressions of checks read."""
    for asked in checks:
        if not asked.is_local:
            for leaf in leaves(asked.expr):
                if leaf.component < plan.positive:
                    yield from features_of(leaf)


def _looked_back(plan: MatchPlan, table: TransitionTable, checks: tuple[Asked, ...]) -> Iterator[Feature]:
    """Features for checks that look back at a list: its length, and its aggregates before the current event.

    The length says whether there is something to look back at.
    """
    for taken, asked in _moments(plan, table, checks):
        for one in asked:
            yield from (Feature(c, What.LENGTH) for c in one.taking if one.needed(c, taken) > 1)
            for leaf in leaves(one.expr):
                if isinstance(leaf, Aggregate) and leaf.scope is Scope.BEFORE and leaf.component != taken:
                    yield from so_far(leaf)


def _moments(
    plan: MatchPlan, table: TransitionTable, checks: tuple[Asked, ...]
) -> Iterator[tuple[int | None, Iterable[Asked]]]:
    """(component whose event is taken, or None for a whole match) -> the checks that a kernel asks then."""
    for kind in table.kinds:
        yield kind.component, due(checks, kind.component, kind.over, kind.newly)
        for number in (number for gap in kind.gaps for number in gap.absences):
            later = not any(gap.left for gap in kind.gaps if number in gap.absences) or number in kind.later
            yield None if later else kind.component, joint(plan.absences[number])
    for ending in table.endings:
        yield None, due_at_end(checks, ending.over)
        for number in (number for gap in ending.trailing for number in gap.absences):
            yield None, joint(plan.absences[number])


def features_of(leaf: Attribute | Aggregate | Length) -> Iterator[Feature]:
    """The features of a run that an expression may read."""
    if isinstance(leaf, Length):
        yield Feature(leaf.component, What.LENGTH)
    elif isinstance(leaf, Aggregate):
        yield from aggregate_features(leaf)
    elif leaf.which in (Which.SINGLE, Which.FIRST):
        yield held(leaf, What.FIRST)
    elif leaf.which is Which.NTH:
        yield held(leaf, What.NTH, leaf.back)
    else:
        yield held(leaf, What.LAST)
        if leaf.which is Which.PREVIOUS:
            # Of another component than the one being taken, the event being taken is the last one already.
            yield from (held(leaf, What.PREVIOUS, back) for back in (leaf.back, leaf.back + 1) if back > 1)


def so_far(leaf: Aggregate) -> tuple[Feature, ...]:
    """The features of f(b[..i-1]) for a run that has taken b[i] already."""
    features = aggregate_features(leaf)
    return tuple(one if one.what in (What.FIRST, What.LENGTH) else replace(one, back=1) for one in features)


def held(leaf: Attribute, what: What, back: int = 0) -> Feature:
    """The feature of an attribute of a bound event."""
    return Feature(leaf.component, what, leaf.name, leaf.kind, back)
