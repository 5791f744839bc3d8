"""Queries that have failed on a partition of the last hop, each with the place from which on it is without results.

What a failure rests on may be gone at the next start, and the stream does not tell of it. So the place is committed
with the results: whoever takes over, from whatever snapshot, stops the query there. It is kept until the log itself has
said that the query is no more (windowing passes on what `query-status` says of it).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from saffron.engine.events.block import Block, Control
from saffron.engine.operators.containment import Failure
from saffron.engine.operators.operator import ResultOperator
from saffron.engine.operators.results import Results
from saffron.errors import SaffronError

_LOG = logging.getLogger(__name__)
_MOST_BYTES = 3_800
"""Of all marks, since brokers take 4,096 bytes beside an offset."""

Tell = Callable[[Failure], None]


@dataclass(frozen=True)
class Mark:
    """A query (`name`, and the `version` by which it was added) and where it stops.

    It takes no event of the block at `offset`, and has no results of it. With `index` it has taken the block, and is
    without results from that one of all results on. `until`: the block that says so itself, once it is known.
    """

    name: str
    version: int
    offset: int
    index: int | None = None
    until: int | None = None

    @property
    def stops_at(self) -> int:
        """The first block that it does not take."""
        return self.offset + (self.index is not None)


class Marks:
    """Those of one chain."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._marks: dict[tuple[str, int], Mark] = {}
        self._stopped: set[tuple[str, int]] = set()

    def take_over(self, committed: Iterable[Mark]) -> None:
        """Those that stand beside the committed place, before those that did not come that far."""
        self._marks |= {(one.name, one.version): one for one in committed}
        self._stopped.clear()

    def stop(self, operator: ResultOperator, offset: int) -> None:
        """Before the block at `offset` is applied."""
        for key, mark in self._marks.items():
            if mark.stops_at <= offset and key not in self._stopped:
                self._stopped.add(key)
                operator.stop(mark.name, mark.version, "it failed before: query-status says with what")

    def note(self, failures: Sequence[Failure], offset: int, index: int | None = None, *, stopped: bool = True) -> None:
        """Queries have failed; from where on they are without results. `stopped`: the operator knows."""
        for one in failures:
            if (one.name, one.version) in self._marks:
                continue
            _LOG.error("query %s failed: %s", one.name, one.reason, exc_info=one.error)
            if not one.logged:
                self._marks[one.name, one.version] = Mark(one.name, one.version, offset, index)
                if stopped:
                    self._stopped.add((one.name, one.version))
            self._tell(replace(one, error=None))

    def passed(self, block: Block, offset: int) -> None:
        """A block has been applied: what it says of queries need not be kept behind it."""
        ended = dict(one for control in block.controls if (one := _ended(control)) is not None)
        for key, mark in self._marks.items() if ended else ():
            if mark.version <= ended.get(mark.name, 0) and mark.until is None and mark.stops_at <= offset:
                self._marks[key] = replace(mark, until=offset)

    def left_out(self, offset: int, index: int) -> frozenset[str]:
        """Of the block at `offset`, the queries whose results from `index` on are left out."""
        if not self._marks:
            return frozenset()
        found = (one for one in self._marks.values() if one.offset == offset and one.index is not None)
        return frozenset(one.name for one in found if one.index is not None and one.index <= index)

    def at(self, offset: int) -> tuple[Mark, ...]:
        """What is to be committed with a place before the block at `offset`, or in it."""
        if not self._marks:
            return ()
        self._marks = {key: one for key, one in self._marks.items() if one.until is None or one.until >= offset}
        return tuple(self._marks.values())


def marks_record(marks: Sequence[Mark]) -> list[list[str | int | None]]:
    """As they are kept with the group; SaffronError where so many fail at once that it cannot be the queries."""
    record = [[one.name, one.version, one.offset, one.index, one.until] for one in marks]
    if sum(len(one.name.encode()) + 24 for one in marks) > _MOST_BYTES:
        first = marks[0].name
        raise SaffronError(
            f"{len(marks)} queries failed at once, {first} first: the log says with what. Mend what they have in common"
            " (the installation, the disk that kernels are written to, a module of aggregates), then start again"
        )
    return record


def marks_of(record: Iterable[Sequence[object]]) -> tuple[Mark, ...]:
    """The marks that were kept."""
    return tuple(
        Mark(str(name), int(str(version)), int(str(offset)), _number(index), _number(until))
        for name, version, offset, index, until in record
    )


def counts_until(results: Results, index: int) -> Mapping[str, int]:
    """How many of the first `index` results are of which query."""
    counts = np.bincount(results.query[:index], minlength=len(results.names)).tolist()
    return {name: count for name, count in zip(results.names, counts, strict=True) if count}


def _ended(control: Control) -> tuple[str, int] | None:
    """The query, and the newest of its versions, that a control ends."""
    if control.kind != "query":
        return None
    body = control.body
    version = {"add": int(body["version"]) - 1, "remove": int(body["version"]), "fail": body.get("added")}
    ended = version.get(body["op"])
    return None if ended is None else (str(body["name"]), int(ended))


def _number(value: object) -> int | None:
    return None if value is None else int(str(value))
