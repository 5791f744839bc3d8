"""The results of a trend query, which write themselves as JSON on request."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from saffron.engine.operators.addresses import Address, addresses
from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Ints
from saffron.engine.trends.queries.reader import Reader
from saffron.engine.trends.values.returns import Rows
from saffron.engine.trends.writer import Writer


class Trends:
    """Results of one query that fired one after another: `rows`.

    `at`: the position at which all of them stand, None for each row's own. Valid until the query's next block.
    """

    def __init__(self, query: Reader, partition: int, rows: Rows, at: int | None = None) -> None:
        self.position: Ints = (
            rows.out[:, layout.O_POSITION] if at is None else np.full(len(rows.out), at, dtype=np.int64)
        )
        self.last_time: Ints = rows.out[:, layout.O_TIME]
        self.deadline: Ints = rows.out[:, layout.O_LOW] + query.plan.window.size - 1
        self._query = query
        self._strings = query.counting.strings
        self._partition = partition
        self._rows = rows
        self._shed = query.counting.shed.within(rows.out[:, layout.O_LOW], rows.out[:, layout.O_SEQ])

    def __len__(self) -> int:
        return len(self._rows.out)

    def json(self, chosen: Ints) -> list[bytes]:
        """These results as JSON objects."""
        return self._writer.lines(self._rows.at(chosen), self._shed[chosen]) if len(chosen) else []

    def addresses(self, chosen: Ints) -> list[Address] | None:
        """The topics and keys to which PUBLISH sends these results; None without PUBLISH."""
        rows = self._rows.at(chosen)
        return addresses(self._query.plan.delivery, lambda key: self._writer.values(rows, key), len(chosen))

    @cached_property
    def _writer(self) -> Writer:
        return Writer(self._query, self._strings, self._partition)
