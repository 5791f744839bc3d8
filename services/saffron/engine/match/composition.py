"""Match queries over each other's results (INTO, N11): a block goes through them makers first.

A part of a block is given to a query together with what those before it have made of the part. At the end of the
block its watermark closes windows: what that makes known stands behind all events of the block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from saffron.engine.events.block import Block
from saffron.engine.match.core.stream import Range
from saffron.engine.match.observe import spent
from saffron.engine.match.output.reporting import Listing
from saffron.engine.match.queries.registered import StandingMatchQuery, TakeStep
from saffron.engine.match.queries.results_as_events import Before, made_of
from saffron.engine.match.runs.derived import Made, merged
from saffron.engine.match.runs.runs import Runs
from saffron.engine.operators.composition import in_order
from saffron.engine.operators.containment import ADVANCING
from saffron.engine.operators.stopwatch import Stopwatch

Opened = Callable[[str], Sequence[int]]
"""Name of a query -> positions at which its windows open."""


class Composition:
    """The queries in the order in which they are given a part: every one after those whose results it reads.

    `step`: of the operator, which ends an exception of a query with the query.
    """

    def __init__(self, queries: Sequence[StandingMatchQuery], partition: int, step: TakeStep) -> None:
        self._queries = queries
        self._partition = partition
        self._step = step

    def advance(
        self, part: Range, block: Block, before: Before, opened: Opened, stopwatch: Stopwatch
    ) -> list[tuple[str, Made]]:
        """Take some events of a block; returns the results that queries made of them.

        `before`: position and time of the event before them.
        """
        made: list[tuple[str, Made]] = []
        began = stopwatch()
        for query in self._queries:
            runs = query.active
            if runs is None:
                continue
            with self._step(query, ADVANCING):
                runs.advance(self._given(query, part, made), opened(query.name))
                runs.end_part()
                made += self._making(query, runs, block, before)
            now = stopwatch()
            spent(query, now - began)
            began = now
        return made

    def finish(self, block: Block, before: Before) -> list[tuple[str, Made]]:
        """End the block; returns the results that queries made then."""
        made: list[tuple[str, Made]] = []
        nothing = Range(block.columns, len(block.columns), len(block.columns))
        for query in self._queries:
            runs = query.active
            if runs is None:
                continue
            with self._step(query, ADVANCING):
                given = self._given(query, nothing, made)
                if len(given):
                    runs.advance(given, ())
                runs.end_block(block.watermark, block.next_seq, end=block.end)
                made += self._making(query, runs, block, before)
        return made

    @staticmethod
    def _given(query: StandingMatchQuery, part: Range, made: Sequence[tuple[str, Made]]) -> Range:
        runs = query.runs
        if not query.derived or runs is None:
            return part
        own = [one for name in query.derived for _, one in made if one.type == name]
        return merged(part, own, runs.schema, runs.plan.computed)

    def _making(self, query: StandingMatchQuery, runs: Runs, block: Block, before: Before) -> list[tuple[str, Made]]:
        exact = runs.droppable
        if runs.plan.into is None or exact is None:
            return []
        reporter = exact.reporter
        assert isinstance(reporter, Listing), "INTO and OUTPUT COMPRESSED do not go together"
        found = made_of(exact, reporter.settled(), query.name, self._partition, block, before)
        return [(query.name, one) for one in found]


def composed(standing: Mapping[str, StandingMatchQuery], partition: int, step: TakeStep) -> Composition | None:
    """The composition of the running queries; None where no query makes events (INTO)."""
    plans = {name: one.runs.plan for name, one in standing.items() if one.runs is not None}
    if all(plan.into is None for plan in plans.values()):
        return None
    return Composition([standing[name] for name in in_order(plans)], partition, step)
