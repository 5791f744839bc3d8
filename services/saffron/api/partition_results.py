"""The results of one partition of a topic, whole: large ones come in chunks, with other results between these."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

Body = Mapping[str, Any]


class PartitionResults:
    """The results of a partition in the order of their first records."""

    def __init__(self, start: int) -> None:
        self._end = start
        self._begun: deque[tuple[int, list[Body]]] = deque()

    @property
    def position(self) -> int:
        """The offset to read on from, behind the last result given: no result begins before it and ends behind it."""
        return self._begun[0][0] if self._begun else self._end

    def take(self, offset: int, body: Body | None) -> Iterator[Body]:
        """The results that are complete with the record at `offset`.

        `body`: its result, or a chunk of one; None if the result is not wanted. A chunk whose first one lies before the
        start is left out: its result was given before, or is not wanted.
        """
        self._end = offset + 1
        if body is not None:
            if body.get("chunk", 0) == 0:
                self._give_up(body)
                self._begun.append((offset, [body]))
            else:
                for _, chunks in self._begun:
                    if chunks[0]["id"] == body["id"]:
                        chunks.append(body)
        while self._begun and len(self._begun[0][1]) == self._begun[0][1][0].get("chunks", 1):
            chunks = self._begun.popleft()[1]
            yield from chunks if len(chunks) == 1 else _together(chunks)

    def _give_up(self, body: Body) -> None:
        """Give up a result of the same query and partition as `body` that lacks chunks: none comes any more.

        A chunk may be a dead letter for its size, or its query may have failed between two chunks.
        """
        for begun in list(self._begun):
            first = begun[1][0]
            same = all(first.get(name) == body.get(name) for name in ("query", "partition"))
            if same and len(begun[1]) < first.get("chunks", 1):
                self._begun.remove(begun)
                missing = f"{len(begun[1])} of {first['chunks']} chunks"
                warnings.warn(f"result {first['id']} of query {first['query']} has {missing} only", stacklevel=2)


def _together(chunks: list[Body]) -> Iterator[Body]:
    from saffron.engine.match.output.listing import whole  # here, for only large results need it

    return whole(map(dict, chunks))
