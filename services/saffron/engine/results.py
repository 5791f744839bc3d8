"""Results of a block, as the last hop publishes them: ordered, counted, and rendered lazily."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Results(Protocol):
    """The results of one block in their published order (design/recovery: "in which order results stand").

    Rendering is lazy, since one event may complete millions of matches: `json(start, stop)` renders a slice.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the queries that `query` indexes."""

    @property
    def query(self) -> NDArray[np.int32]:
        """[n] index into `names` of each result's query."""

    @property
    def position(self) -> NDArray[np.int64]:
        """[n] position (seq) at which each result fires, ascending: a deadline before that event, a match with it."""

    @property
    def last_time(self) -> NDArray[np.int64]:
        """[n] message time (ms) of the last contributing event: start of the detection latency."""

    def __len__(self) -> int: ...

    def json(self, start: int, stop: int) -> list[bytes]:
        """Results start..stop-1 as JSON objects (UTF-8, no newline), without `detected_at`, which the shell adds."""
