"""Results of a block, as the last hop publishes them: ordered, counted, and rendered lazily."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from saffron.engine.operators.addresses import Address

Ints = NDArray[np.int64]


class Results(Protocol):
    """The results of one block in their published order, which is that of `OrderedResults`.

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

    @property
    def with_event(self) -> NDArray[np.bool_]:
        """[n] whether a result fires with the event at its position, which completes it; else because time has passed,
        or a query has come."""

    @property
    def past(self) -> NDArray[np.bool_] | None:
        """[n] whether a result is of the past, which a query saw when it was added; None where no result is."""

    def __len__(self) -> int: ...

    def json(self, start: int, stop: int) -> list[bytes]:
        """Results start..stop-1 as JSON objects (UTF-8, no newline), without `detected_at`, which the shell adds.

        Empty texts of a query that fails while they are rendered, and of results that only other queries read (INTO).
        """

    def addresses(self, start: int, stop: int) -> Sequence[Address | None]:
        """The addresses of results start..stop-1; None: the topic of all results."""

    def fail(self, index: int, error: Exception) -> None:
        """Fails the query of this result, which cannot be written. An error that is not the query's is raised."""


class QueryResults(Protocol):
    """Results of one query, in the order in which they fired. `position`, `last_time`: int64 [n], as in `Results`."""

    position: Ints
    last_time: Ints

    def __len__(self) -> int: ...

    def json(self, chosen: Ints) -> list[bytes]:
        """These results as JSON objects."""

    def addresses(self, chosen: Ints) -> Sequence[Address | None] | None:
        """The addresses of these results; None: all go to the topic of all results."""


FULL, PAST, DUE = range(3)
BEHIND_DEADLINES = 2**62


def uncontained(error: Exception) -> NoReturn:
    """Raise the error: there is no containment."""
    raise error


@dataclass(frozen=True)
class Fired:
    """A part, and how it stands among those of other queries.

    `phase`: at one position stand first the EVENTS windows that are full (FULL), then what a query added there says of
    the past (PAST), then what the next event or the watermark brings about (DUE). `deadline`: int64 [n], those of the
    results' windows; None where they fire with the event at their position, behind all deadlines that pass there.
    `fail`: fails the query with an error.
    """

    name: str
    results: QueryResults
    phase: int = DUE
    deadline: Ints | None = None
    fail: Callable[[Exception], None] = uncontained


class OrderedResults:
    """The results of a block (`Results`), ordered by (position, phase, deadline, query, order within the part)."""

    def __init__(self, fired: Iterable[Fired]) -> None:
        # Parts stand in the order of their queries' names, which a stable sort keeps where all else is equal.
        parts = sorted((part for part in fired if len(part.results)), key=lambda part: part.name)
        self.names = tuple(dict.fromkeys(part.name for part in parts))
        self._parts = [part.results for part in parts]
        self._fail = [part.fail for part in parts]
        self._past = [part.phase == PAST for part in parts]
        self._with_event = [part.phase == DUE and part.deadline is None for part in parts]
        if len(parts) == 1:  # nothing to sort
            (only,) = self._parts
            count = len(only)
            self._part, self._row = np.zeros(count, np.int64), np.arange(count)
            self.position, self.last_time = only.position, only.last_time
            self.query: NDArray[np.int32] = np.zeros(count, np.int32)
            return
        sizes = [len(part) for part in self._parts]
        position = _joined([part.position for part in self._parts])
        order = _order(parts, sizes, position)
        self._part, self._row = interleaved(sizes, order)
        self.position = position[order]
        self.last_time = _joined([part.last_time for part in self._parts])[order]
        codes = np.array([self.names.index(part.name) for part in parts], np.int32)
        self.query = codes[self._part]

    @property
    def with_event(self) -> NDArray[np.bool_]:
        """[n] whether a result fires with the event at its position, which completes it."""
        return np.array(self._with_event, dtype=np.bool_)[self._part]

    @property
    def past(self) -> NDArray[np.bool_] | None:
        """[n] whether a result is of the past; None where no result is."""
        return np.array(self._past, dtype=np.bool_)[self._part] if any(self._past) else None

    def __len__(self) -> int:
        return len(self.query)

    def json(self, start: int, stop: int) -> list[bytes]:
        """Results start..stop-1, each a JSON object in UTF-8."""
        parts, rows = self._part[start:stop], self._row[start:stop]
        texts = [b""] * len(rows)
        for number in np.unique(parts).tolist():
            here = np.flatnonzero(parts == number)
            for index, text in zip(here.tolist(), self._parts[number].json(rows[here]), strict=True):
                texts[index] = text
        return texts

    def addresses(self, start: int, stop: int) -> list[Address | None]:
        """The addresses of results start..stop-1."""
        parts, rows = self._part[start:stop], self._row[start:stop]
        found: list[Address | None] = [None] * len(rows)
        for number in np.unique(parts).tolist():
            here = np.flatnonzero(parts == number)
            own = self._parts[number].addresses(rows[here])
            if own is not None:
                for index, address in zip(here.tolist(), own, strict=True):
                    found[index] = address
        return found

    def fail(self, index: int, error: Exception) -> None:
        """Fails the query of this result, which cannot be written."""
        self._fail[int(self._part[index])](error)


def interleaved(sizes: Sequence[int], order: Ints) -> tuple[Ints, Ints]:
    """[n] the part, and the row in it, of each result, if `order` sorts the parts laid end to end."""
    part = np.repeat(np.arange(len(sizes)), sizes)
    row = _joined([np.arange(size) for size in sizes])
    return part[order], row[order]


def _order(parts: Sequence[Fired], sizes: Sequence[int], position: Ints) -> Ints:
    keys = [position]
    if len({part.phase for part in parts}) > 1:
        keys.insert(0, np.repeat([part.phase for part in parts], sizes))
    if any(part.deadline is not None for part in parts):
        none = np.full(max(sizes), BEHIND_DEADLINES)
        keys.insert(0, _joined([none[: len(p.results)] if p.deadline is None else p.deadline for p in parts]))
    return np.lexsort(keys)


def _joined(arrays: Sequence[Ints]) -> Ints:
    return np.concatenate(arrays) if arrays else np.zeros(0, np.int64)
