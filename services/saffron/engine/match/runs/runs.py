"""The protocol of runs, of every kind of engine: the operator gives them events, and they report matches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.events.strings import Strings
from saffron.engine.match.core.keys import Keys
from saffron.engine.match.core.rows import Rows
from saffron.engine.match.core.stream import Range
from saffron.engine.match.runs.store import EventStore
from saffron.engine.match.runs.transitions import Transitions
from saffron.engine.operators.results import Fired
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Schema

if TYPE_CHECKING:
    from saffron.engine.match.runs.query_runs import QueryRuns

Array = NDArray[np.generic]


class Runs(ABC):
    """One match query over one partition: a store of events, and a source of matches."""

    store: EventStore
    program: Any

    @property
    def plan(self) -> MatchPlan:
        return self.store.plan

    @property
    def schema(self) -> Schema:
        return self.store.schema

    @property
    def strings(self) -> Strings:
        return self.store.strings

    @property
    def rows(self) -> Rows:
        """The events kept."""
        return self.store.rows

    @property
    def keys(self) -> Keys:
        """The keys of the kept events."""
        return self.store.keys

    @property
    @abstractmethod
    def live(self) -> int:
        """Partial matches, as this kind of runs has them."""

    @property
    @abstractmethod
    def held(self) -> int:
        """An upper bound of `live`, at no cost."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Bytes of state."""

    @property
    def droppable(self) -> QueryRuns | None:
        """The runs whose partial matches orders may drop; None where partial matches are no runs."""
        return None

    @property
    def transitions(self) -> Transitions | None:
        """The observed transitions of its partial matches; None where they are not observed."""
        return None

    @property
    def states(self) -> int | None:
        """The number of states of its transitions, the match included; None where none are reported."""
        return None

    # ---------------------------------------------------------------- events

    @abstractmethod
    def begin_block(self, now: int) -> None:
        """Forget the last block's matches, and events that no window holds at `now`, the instant of the next event."""

    @abstractmethod
    def advance(self, part: Range, opened: Iterable[int] | None) -> None:
        """Take the next events. `opened`: positions at which OPEN ON windows open (None: find them out here)."""

    @abstractmethod
    def end_part(self) -> None:
        """Find the matches whose windows the query's last event has closed."""

    @abstractmethod
    def end_block(self, watermark: int, next_seq: int, *, end: bool) -> None:
        """Find the matches whose windows have closed by now: all events before position `next_seq` were given."""

    # ---------------------------------------------------------------- results

    @property
    @abstractmethod
    def unreported(self) -> bool:
        """True if `fired` may have something to say of the block at hand."""

    @abstractmethod
    def fired(self, name: str, partition: int, block: Block) -> Sequence[Fired]:
        """The results of the block at hand; call it once a block.

        A result that waited for the end of a window stands before the first event behind it.
        """

    @abstractmethod
    def forget_matches(self) -> None:
        """Forget the matches of the last block, which have been published."""

    @abstractmethod
    def pause(self) -> None:
        """Forget all runs and waiting matches; decided results are reported."""

    # ---------------------------------------------------------------- state

    @abstractmethod
    def adopt(self, fresh: Self) -> bool:
        """Go on as `fresh`, which was started for the same text under a wider schema; False if it is made otherwise."""

    @abstractmethod
    def save(self) -> dict[str, Array]:
        """Everything that decides further results; the matches of the last block are not among it."""

    @abstractmethod
    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore the state of `save` into runs of the same program."""

    def string_codes(self) -> Iterator[NDArray[np.int32]]:
        """The codes of all strings that it holds."""
        return self.store.string_codes()

    def close(self) -> None:
        """Release the operator's strings that this query holds."""
        self.store.close()
