"""The results of one partition of a topic, whole: large ones come in chunks, with other results between these."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from saffron.counted import counted

Body = Mapping[str, Any]


_PATIENCE = 10_000
"""Records for which a result is waited for after its newest chunk. Chunks are written in few transactions."""


@dataclass
class _Begun:
    """A result that has begun at `offset`. `newest`: the offset of its newest chunk. `lost`: it is given up."""

    offset: int
    newest: int
    chunks: list[Body]
    lost: bool = False

    @property
    def is_whole(self) -> bool:
        return len(self.chunks) >= int(self.chunks[0].get("chunks", 1))

    @property
    def of(self) -> tuple[str, int | None]:
        """Its query and partition, which have no other open result."""
        return self.chunks[0]["query"], self.chunks[0].get("partition")

    @property
    def missing(self) -> str:
        """What there is of it, for the user."""
        first = self.chunks[0]
        return f"result {first['id']} of query {first['query']} has {len(self.chunks)} of {first['chunks']} chunks only"


class PartitionResults:
    """The results of a partition in the order of their first records.

    One that lacks chunks holds up those behind it until the next one of its query, or for so many records.
    """

    def __init__(self, start: int) -> None:
        self._end = start
        self._begun: deque[_Begun] = deque()
        self._open: dict[tuple[str, int | None], _Begun] = {}  # those that lack chunks, by query and partition

    @property
    def position(self) -> int:
        """The offset to read on from, behind the last result given: no result begins before it and ends behind it."""
        return self._begun[0].offset if self._begun else self._end

    def take(self, offset: int, body: Body | None) -> Iterator[Body]:
        """The results that are complete with the record at `offset`.

        `body`: its result, or a chunk of one; None if the result is not wanted. A chunk whose first one lies before the
        start is left out: its result was given before, or is not wanted.
        """
        self._end = offset + 1
        if body is not None:
            self._add(offset, body)
        while self._begun:
            first = self._begun[0]
            if not first.lost and not first.is_whole:
                if offset - first.newest < _PATIENCE:
                    return
                self._give_up(first)
            self._begun.popleft()
            if not first.lost:
                yield from _together(first.chunks)

    def rest(self) -> Iterator[Body]:
        """The whole results behind one that lacks chunks, where no record comes any more.

        They come again from `position` on, for the other one may become whole.
        """
        whole = [one for one in self._begun if one.is_whole]
        for one in self._begun:
            if not one.lost and not one.is_whole:
                where = f"positions stay before it, and {counted(len(whole), 'result')} behind it would come again"
                warnings.warn(f"{one.missing}; {where}", stacklevel=2)
        for one in whole:
            yield from _together(one.chunks)

    def _add(self, offset: int, body: Body) -> None:
        """Add a result, or a chunk of one. The next result of a query and partition ends an open one."""
        new = _Begun(offset, offset, [body])
        one = self._open.get(new.of)
        if body.get("chunk", 0) == 0:
            if one is not None:
                self._give_up(one)
            self._begun.append(new)
            if not new.is_whole:
                self._open[new.of] = new
        elif one is not None and one.chunks[0]["id"] == body["id"]:
            one.chunks.append(body)
            one.newest = offset
            if one.is_whole:
                del self._open[one.of]

    def _give_up(self, one: _Begun) -> None:
        """Wait for it no longer: a chunk may be a dead letter for its size, or its query failed between two chunks."""
        one.lost = True
        del self._open[one.of]
        warnings.warn(one.missing, stacklevel=2)


def _together(chunks: list[Body]) -> Iterable[Body]:
    if len(chunks) == 1:
        return chunks
    from saffron.engine.match.output.listing import whole  # here, for only large results need it

    return whole(map(dict, chunks))
