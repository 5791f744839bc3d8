"""The measurement of loss by shadows: a second set of runs without drops, whose matches a query's are compared with.

While something is dropped for a query, its shadow goes on from the runs that the query had before. All events come to
the shadow, and no drop order reaches it. Of its partial matches it keeps only those whose first event is in a seeded
sample. So it finds the true matches that begin in the sample.

They are compared, block by block, with the matches that the query reports. A true match that the query does not report
is missed. A reported match that begins in the sample and is not true is false (G10). The ids compared are those of
`replay --truth`. All matches of one first event count as one observation.

The share of the sample is high until enough has been seen, and low after. It is halved where the shadow costs more than
it may. So the shadow lives all the time in which something is dropped. Only patterns whose matches depend on no other
first event can be sampled so (see `can_shadow`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.match.core.stream import NO_SLOT, Range
from saffron.engine.match.output.render import Written
from saffron.engine.match.output.timed_out import matches_in
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.runs.runs import Runs
from saffron.engine.match.shedding import sample
from saffron.engine.match.shedding.candidates import candidates
from saffron.engine.match.shedding.removal import remove
from saffron.engine.match.shedding.retained import drawn
from saffron.engine.match.shedding.sample import Sampled
from saffron.engine.match.shedding.traces import Traced
from saffron.language.plan.clauses import Output

Ids = NDArray[np.uint64]

MOST_HALVINGS, _PATIENCE = 8, 0.125
"""MOST_HALVINGS: the halvings of the share before a shadow ends. _PATIENCE: the excess over the allowed checks, for
each halving so far, that leads to the next.
"""
_DRAW = "shadow"


def can_shadow(runs: QueryRuns) -> bool:
    """True if the matches of a first event depend on no other first event.

    That is so where nothing is chosen among matches, and no events are consumed but first ones. A shadow passes over
    parts of the stream; so no events before the first one may matter, such as those that open windows, or a NOT's.
    """
    plan = runs.plan
    plain = plan.output is Output.ALL and not plan.timeouts and plan.into is None and not runs.composed
    first = (not plan.components[one].closure and runs.program.may_begin(one) for one in plan.consume)
    alone = plan.window.opens is None and runs.program.founds == runs.program.begins
    return plain and alone and bool(runs.pools) and all(first)


@dataclass
class Shadow:
    """The runs of one query that lose nothing.

    `since`: matches that begin before are not compared, being incomplete. `until`: an instant behind which all is as if
    nothing had been dropped.
    """

    runs: QueryRuns
    sums: Sampled
    since: int
    until: int

    @classmethod
    def of(cls, runs: QueryRuns, sums: Sampled, since: int) -> Shadow:
        """The shadow of a query as it stands. Nothing that began at `since` or later has been dropped of the query."""
        own = runs.twin(NO_SLOT)
        own.watch = None
        shadow = cls(own, sums, since, 0)
        shadow._thin_out()
        return shadow

    def advance(self, part: Range, opened: Sequence[int]) -> None:
        """Take the next events, if a partial match of the shadow is alive or may begin."""
        before = self.runs.live
        if not before and not (drawn(0, _DRAW, part.seq) < self.sums.share).any():
            self.runs.clock = int((part.seq if self.runs.plan.window.events else part.ts)[-1])
            return
        self.runs.advance(part, opened)
        self.sums.events += len(part)
        self.sums.met += len(part) * (before + self.runs.live) / 2

    def end_block(self, block: Block) -> None:
        """End a block."""
        self.runs.end_block(block.watermark, block.next_seq, end=block.end)
        self._thin_out()

    def _thin_out(self) -> None:
        """Remove the shadow's partial matches whose first event is no longer in the sample."""
        if not self.runs.live:
            return
        found = candidates(self.runs)
        gone = drawn(0, _DRAW, found.first) >= self.sums.share
        if gone.any():
            remove(self.runs, found, gone)

    def compare(self, name: str, partition: int, block: Block, reported: Sequence[Written], traced: Traced) -> None:
        """Compare the query's `reported` matches of the block with the true ones. `traced` takes some of these."""
        self.sums.compared += sum(int(np.count_nonzero(part.first >= self.since)) for part in reported)
        ours = matches_in(self.runs.fired(name, partition, block)) if self.runs.unreported else []
        true, firsts = self._sampled(ours)
        if traced.masked >= self.runs.clock:  # else the query's own matches are all true matches
            for part in ours:
                traced.add(part, self._in_sample(part))
        found, also = self._sampled(reported)
        if len(true) or len(found):
            right = int(np.count_nonzero(np.isin(true, found)))
            self.sums.add(len(true), len(true) - right, len(found) - right, len(np.union1d(firsts, also)))

    def _sampled(self, parts: Sequence[Written]) -> tuple[Ids, NDArray[np.int64]]:
        """Ids (one word of them), and first events, of the matches that begin in the sample."""
        ids, firsts = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
        for part in parts:
            chosen = self._in_sample(part)
            if len(chosen):
                ids.append(part.ids(chosen)[:, 0])
                firsts.append(part.first[chosen])
        return np.concatenate(ids), np.concatenate(firsts)

    def _in_sample(self, part: Written) -> NDArray[np.intp]:
        first = part.first
        return np.flatnonzero((first >= self.since) & (drawn(0, _DRAW, first) < self.sums.share))


class Shadows:
    """The shadows of an operator's queries.

    `clean`: nothing was dropped before it began. False for an operator that goes on from a snapshot, which does not say
    what was dropped.
    """

    def __init__(self, *, clean: bool) -> None:
        self._clean = clean
        self._ended: set[str] = set()
        self._of: dict[str, Shadow] = {}
        self._allowed: dict[str, float] = {}
        self._unclean: set[str] = set()
        self._sums: dict[str, Sampled] = {}

    def dropped(self, name: str, runs: QueryRuns, position: int, instants: tuple[int, int] | None = None) -> None:
        """Start a shadow of a query, if it may have one: something is about to be dropped for it.

        The drop is before event `position`, or up to the event at this position and time.
        """
        if name not in self._of:
            if not can_shadow(runs) or not self._may_go_on(name):
                self._unclean.add(name)
                return
            sums = self._sums.setdefault(name, Sampled())
            self._of[name] = Shadow.of(runs, sums, -1 if self._is_clean(name) else position)
        at = runs.clock if instants is None else instants[0 if runs.plan.window.events else 1]
        self._of[name].until = at + 2 * runs.plan.window.size

    def begin_block(self, name: str, instants: tuple[int, int]) -> None:
        """Begin a block with events at this position and time, for a query."""
        if name in self._of:
            runs = self._of[name].runs
            runs.begin_block(instants[0] if runs.plan.window.events else instants[1])

    def forget_matches(self) -> None:
        """Begin a block without events."""
        for shadow in self._of.values():
            shadow.runs.forget_matches()

    def advance(self, name: str, part: Range, opened: Sequence[int]) -> None:
        """Give events to the shadow of a query."""
        if name in self._of:
            self._of[name].advance(part, opened)

    def end_block(
        self,
        name: str,
        runs: Runs | None,
        partition: int,
        block: Block,
        reported: Sequence[Written],
        traced: Traced,
    ) -> None:
        """End a block: compare a query's matches with its shadow's. `traced`: takes some of the true matches."""
        shadow = self._of.get(name)
        if runs is not None:
            budget = self._sums.get(name, Sampled()).budget if shadow is not None else sample.BUDGET
            self._allowed[name] = self._allowed.get(name, 0.0) + budget * len(block.columns) * (1.0 + runs.held)
        if shadow is None:
            if reported and self._is_clean(name) and runs is not None and runs.droppable and can_shadow(runs.droppable):
                sums, count = self._sums.setdefault(name, Sampled()), sum(map(len, reported))
                sums.true += count
                sums.compared += count
            return
        shadow.end_block(block)
        shadow.compare(name, partition, block, reported, traced)
        if shadow.runs.clock > shadow.until:
            self._end(name)
        elif not self._may_go_on(name):
            self._end(name)
            self._unclean.add(name)

    def _may_go_on(self, name: str) -> bool:
        """True if a query may have a shadow.

        If the shadow has taken more checks than it may, it samples half as many first events from now on (`halvings`).
        After `MOST_HALVINGS` there is none.
        """
        sums = self._sums.get(name, Sampled())
        if sums.checks <= (1 + _PATIENCE * sums.halvings) * self._allowed.get(name, 0.0):
            return True
        if sums.halvings == MOST_HALVINGS:
            return False
        sums.halvings += 1
        return True

    def _is_clean(self, name: str) -> bool:
        """True if matches that have begun already can be compared, too.

        That is so where nothing that they need was dropped while the query had no shadow.
        """
        return name not in self._unclean and (self._clean or name in self._ended)

    def forget(self, name: str, *, gone: bool) -> None:
        """Drop the shadow and the sums of a query that begins anew or is `gone`.

        A query that begins anew is clean: nothing has been dropped of it.
        """
        if name in self._of:
            self._of.pop(name).runs.close()
        self._sums.pop(name, None)
        self._allowed.pop(name, None)
        self._unclean.discard(name)
        if gone:
            self._ended.discard(name)
        else:
            self._ended.add(name)

    def suspend(self, names: Iterable[str]) -> None:
        """End all shadows; further drops of these queries are not measured."""
        for name in list(self._of):
            self._end(name)
        self._unclean.update(names)

    def forget_all(self) -> None:
        """End all shadows and their sums: a schema comes into force that changes their state."""
        for name in list(self._of):
            self._end(name)
        self._sums.clear()

    def string_codes(self) -> Iterator[NDArray[np.int32]]:
        """The codes of all strings that they hold."""
        for shadow in self._of.values():
            yield from shadow.runs.string_codes()

    def _end(self, name: str) -> None:
        self._of.pop(name).runs.close()
        self._ended.add(name)
        self._unclean.discard(name)

    def statistics(self) -> dict[str, Sampled]:
        """The sums of each query's shadow since the start of this operator."""
        return dict(self._sums)
