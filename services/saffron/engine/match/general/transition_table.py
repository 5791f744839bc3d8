"""The pattern as a table for kernels: states, their edges, and the targets of each edge.

State 0 is where nothing is taken yet. A state is a stance of a position. If no edge waits under skip-till-next-match,
the stances of a position are one state, as then either every run stays or none does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.general.checks import Asked, joint
from saffron.errors import SaffronError
from saffron.language.patterns.positions import Positions, components_of, is_past
from saffron.language.patterns.stances import Edge, Gap, Position, Stance
from saffron.language.plan.limits import MAX_TABLE_STATES
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Absence, Absent, InOrder, Loop, Shape, Strategy, Take

START_STATE = 0
NOWHERE = -1

# Columns of the states' and edges' arrays.
FIRST, STOP, WANTS, HELD, PASSED, SKIPS = range(6)
(
    BIT, COMPONENT, KIND, STRICT, HOLDS, FIRST_TARGET, STOP_TARGET, CLEARS, MARKS, RESETS, ENDING,
    FIRED,
) = range(12)  # fmt: skip
STATE_COLUMNS, EDGE_COLUMNS = 6, 12
MAX_SKIPPED = 6
"""Most edges of a state that ask for contiguity and may take a result of another query."""

Components = frozenset[int]
Item = TypeVar("Item")
Key = tuple[Position | None, tuple[Edge, ...]]


@dataclass(frozen=True)
class Kind:
    """The checks and actions of an edge that takes an event. Edges of one kind share their code.

    `over`: finished lists that a condition reads, `newly` those of them that this event finishes. `later`: NOTs of the
    gaps that are asked at the end, as they read what the match takes behind this event.
    """

    component: int
    over: Components
    newly: Components
    gaps: tuple[Gap, ...]
    later: frozenset[int] = frozenset()

    @property
    def waiting(self) -> tuple[Gap, ...]:
        """The gaps with NOTs that are evaluated later."""
        return tuple(gap for gap in self.gaps if self.later & set(gap.absences))


@dataclass(frozen=True)
class Ending:
    """The checks of a complete match. `over`: lists that were complete before its last event."""

    over: Components
    trailing: tuple[Gap, ...]


@dataclass
class TransitionTable:
    """The transitions of a general plan. `kinds`, `endings`: numbered as in the edges' columns KIND and ENDING.

    `gaps`: each has a register of its own in a run.
    """

    kinds: list[Kind] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    states: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, STATE_COLUMNS), np.int64))
    edges: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, EDGE_COLUMNS), np.int64))
    targets: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    fan: int = 1  # most runs that one run may become through one event
    ends: int = 0  # most ways in which one run may end with one event


class Builder:
    """Walks all positions that a run can come to."""

    def __init__(self, plan: MatchPlan, checks: tuple[Asked, ...], derived: frozenset[str] = frozenset()) -> None:
        """`derived`: types of events that count in nobody's contiguity (results of other queries)."""
        self.derived = derived
        self.plan = plan
        self.positions = Positions(plan.pattern)
        self.listed = frozenset().union(*(asked.finished for asked in checks)) if checks else frozenset()
        self.since = tuple(_since(plan.pattern))
        self.table = TransitionTable()
        self.numbers: dict[Key, int] = {}
        self.queue: list[Key] = []

    def build(self) -> TransitionTable:
        """SaffronError where the pattern has too many states."""
        first = [edge for stance in self.positions.first() for edge in stance.edges]
        self._number((None, tuple(dict.fromkeys(first))))
        states: list[list[int]] = []
        edges: list[list[int]] = []
        targets: list[int] = []
        while self.queue:
            position, own = self.queue.pop(0)
            begin = len(edges)
            fan = 0
            uncounted = [edge for edge in own if self._uncounted(edge)]
            for edge in own:
                row, into = self._edge(position, edge, len(targets))
                row[FIRED] = 1 << uncounted.index(edge) if edge in uncounted else 0
                edges.append(row)
                targets += into
                fan += max(1, len(into))
            wants = 0
            for edge in own:
                wants |= 1 << edge.component
            held = passed = NOWHERE
            if position is not None:
                held = self._reduced(position, own, (Strategy.ANY,))
                passed = self._reduced(position, own, (Strategy.ANY, Strategy.NEXT))
            states.append([begin, len(edges), wants, held, passed, len(targets)])
            targets += self._skips(position, own, uncounted)
            self.table.fan = max(self.table.fan, fan)
            self.table.ends = max(self.table.ends, sum(row[ENDING] >= 0 for row in edges[begin:]))
        self.table.states = np.array(states, np.int64).reshape(-1, STATE_COLUMNS)
        self.table.edges = np.array(edges, np.int64).reshape(-1, EDGE_COLUMNS)
        self.table.targets = np.array(targets, np.int64)
        return self.table

    def strategy(self, edge: Edge) -> Strategy:
        return (self.plan.continues if edge.again else self.plan.begins)[edge.component]

    def _number(self, key: Key) -> int:
        """The number of a state; a new one is put on the queue. SaffronError beyond MAX_TABLE_STATES."""
        if key not in self.numbers:
            if len(self.numbers) == MAX_TABLE_STATES:
                raise SaffronError(
                    f"query {self.plan.name}: the pattern has more than {MAX_TABLE_STATES:,} states: repeat with + "
                    "instead of {n,m}, or list fewer parts in ANY and AND"
                )
            self.numbers[key] = len(self.numbers)
            self.queue.append(key)
        return self.numbers[key]

    def _reduced(self, position: Position | None, edges: tuple[Edge, ...], kept: Iterable[Strategy]) -> int:
        """The state that is left of one when only edges under these strategies go on waiting."""
        rest = tuple(edge for edge in edges if self.strategy(edge) in kept)
        return self._number((position, rest)) if rest else NOWHERE

    def _uncounted(self, edge: Edge) -> bool:
        """True if the edge may take a result of another query, and would not outlive it if that counted."""
        contiguous = self.strategy(edge) in (Strategy.STRICT, Strategy.PARTITION)
        return contiguous and any(name in self.derived for name in self.plan.components[edge.component].types.known)

    def _skips(self, position: Position | None, edges: tuple[Edge, ...], uncounted: list[Edge]) -> list[int]:
        """The states of a run after an event that does not count, at 2 * bits of the edges that took it + whether held.

        The edges that did not take the event go on waiting.
        """
        if not self.derived:
            return []
        if len(uncounted) > MAX_SKIPPED:
            raise SaffronError(
                f"query {self.plan.name}: {len(uncounted)} parts may follow at one place, each contiguous and a result "
                f"of another query; at most {MAX_SKIPPED} can"
            )
        found = []
        for fired in range(1 << len(uncounted)):
            took = {edge for number, edge in enumerate(uncounted) if fired >> number & 1}
            for lost in ((), (Strategy.NEXT,)):
                rest = tuple(edge for edge in edges if edge not in took and self.strategy(edge) not in lost)
                found.append(self._number((position, rest)) if rest and position is not None else NOWHERE)
        return found

    def _edge(self, position: Position | None, edge: Edge, at: int) -> tuple[list[int], list[int]]:
        """The edge's row in the table, and the states to which it leads. `at`: their first place in `targets`.

        New kinds, endings and gaps are added to the table; FIRED of the row is left 0. SaffronError: see `_later`.
        """
        stances = self.positions.after(edge.position)
        groups = self._states(stances)
        into = [self._number((edge.position, group)) for group in groups]
        before, after = self._over(position), self._over(edge.position)
        kind = _index(self.table.kinds, Kind(edge.component, after, after - before, edge.gaps, self._later(edge)))
        ends = [stance for stance in stances if stance.over]
        ending = NOWHERE
        if ends:
            trailing = () if any(not stance.trailing for stance in ends) else ends[0].trailing
            ending = _index(self.table.endings, Ending(after, trailing))
        row = [0] * EDGE_COLUMNS
        row[BIT], row[COMPONENT], row[KIND] = 1 << edge.component, edge.component, kind
        row[STRICT], row[HOLDS] = int(self.strategy(edge) is Strategy.STRICT), int(edge.exclusive)
        row[FIRST_TARGET], row[STOP_TARGET] = at, at + len(into)
        row[CLEARS] = self._cleared(edge)
        row[MARKS] = self._marks(edge.component, stances)
        row[RESETS] = sum(1 << n for n, one in enumerate(self.plan.distinct) if edge.begins & set(one.loops))
        row[ENDING] = ending
        return row, into

    def _later(self, edge: Edge) -> frozenset[int]:
        """The NOTs before the edge's event that read later events; SaffronError in a repetition."""
        numbers = {number for gap in edge.gaps if gap.left for number in gap.absences}
        numbers = {number for number in numbers if not self.plan.absences[number].or_else}
        found = frozenset(number for number in numbers if self._reads_on(self.plan.absences[number], edge))
        if any(self.plan.absences[number].loops for number in found):
            raise SaffronError(
                f"query {self.plan.name}: a NOT in a repetition cannot know what comes later: compare it with events "
                "before it, or with the one directly behind it"
            )
        return found

    def _reads_on(self, absence: Absence, edge: Edge) -> bool:
        asked = joint(absence)
        ahead = self.positions.ahead(edge.position, frozenset(absence.loops)) if asked else frozenset()
        unknown = ahead | {edge.component}  # a list that the event finishes does not have it yet
        return any(
            (one.reads - {edge.component}) & ahead or (one.finished | one.numbered.keys()) & unknown for one in asked
        )

    def _states(self, stances: tuple[Stance, ...]) -> list[tuple[Edge, ...]]:
        groups = [stance.edges for stance in stances if stance.edges]
        if any(self.strategy(edge) is Strategy.NEXT for group in groups for edge in group):
            return list(dict.fromkeys(groups))
        merged = tuple(dict.fromkeys(edge for group in groups for edge in group))
        return [merged] if merged else []

    def _over(self, position: Position | None) -> Components:
        return frozenset(one for one in self.listed if is_past(self.plan.pattern, position, one))

    def _cleared(self, edge: Edge) -> int:
        """The components that have no event yet in an iteration that begins."""
        inside = (c for number in edge.begins for c in loops_of(self.plan.pattern)[number])
        return sum(1 << component for component in set(inside))

    def _marks(self, component: int, stances: tuple[Stance, ...]) -> int:
        """The gaps that begin behind the event."""
        gaps = [gap for stance in stances for edge in stance.edges for gap in edge.gaps]
        gaps += [gap for stance in stances for gap in stance.trailing]
        open_here = {gap for gap in (*gaps, *self.since) if component in gap.left}
        return sum(1 << _index(self.table.gaps, gap) for gap in sorted(open_here, key=repr))


def _since(pattern: Shape) -> Iterator[Gap]:
    """The gaps of NOTs that count since before the AND that they are a part of."""
    for part in pattern.parts if isinstance(pattern, InOrder) else ():
        if isinstance(part, Absent) and part.since:
            yield Gap((part.number,), part.since)


def loops_of(shape: Shape) -> dict[int, Components]:
    """The components inside each repetition, by its number."""
    if isinstance(shape, Take | Absent):
        return {}
    if isinstance(shape, Loop):
        return {shape.number: components_of(shape.body), **loops_of(shape.body)}
    found: dict[int, Components] = {}
    for part in shape.parts:
        found |= loops_of(part)
    return found


def _index(items: list[Item], item: Item) -> int:
    if item not in items:
        items.append(item)
    return items.index(item)
