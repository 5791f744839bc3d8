"""A block: the unit of the internal topics, and the control records that travel in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.events.columns import Columns


@dataclass(frozen=True)
class Control:
    """A record of the stream that can change an answer. It stands before the event `position`.

    The `body` (JSON-able) depends on `kind`:

    - "schema": the schema that is in force from here on. {"schema": JSON of a Schema}
    - "query": a change of a query. {"op": "add"|"remove"|"pause"|"resume"|"fail", "name", "version", "text",
      "slot": int, "from": "now"|"earliest", "shed": name of its shedder}
    - "keep": an order to keep at most n partial matches of these queries together (`engine.match.shedding.orders`).
      {"n": int, "queries": {name: {"utility", "loss": [bins][states], ...}}}
    - "model": the model in force in the shedder. {"query": name, "version": [epoch, batch]}
    - "features": the features whose keys events carry from here on. {"spec": identity, "specification", "queries": the
      versions of those that they were chosen for}
    - "checkpoint": all that is in force; a reader may start here. {"schema", "queries", "models", "windows"}

    A query is replaced by "remove" and "add" at the same position. `slot` is the bit in `Columns.dropped`, -1 if all 64
    are taken. "fail" also has "added", the version by which the query was added, and "reason". A failed query is
    stopped until it is removed or replaced.
    """

    position: int
    kind: str
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Block:
    """A run of a partition's stream: events [first_seq, next_seq), those dropped whole included, and controls.

    `claim`: number of the writer's claim; a block of a lower claim that comes after a higher one is ignored.
    `counter`: how many records (events, dropped ones included, and controls) stood before this block.
    `watermark`: no event with a smaller ts will come after this block.
    `end`: every window opened so far closes after this block, those in EVENTS too (`$watermark` with "end": true,
    the end of a replay); windows that begin before `next_seq` take no later event.
    `controls`: ascending by position, first_seq <= position <= next_seq.
    `opened`: query name -> positions (seq) of events in this block at which an OPEN ON window opens.
    `input`: the input position that this block is a function of (keys are the writing service's own).
    `features`: value of `Columns.key` -> the binned features behind it (G1), for keys seen here first since the last
    checkpoint.
    """

    columns: Columns
    first_seq: int
    next_seq: int
    watermark: int
    claim: int = 0
    counter: int = 0
    end: bool = False
    controls: tuple[Control, ...] = ()
    opened: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    input: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def next_counter(self) -> int:
        """The counter that the block after this one must carry."""
        return self.counter + (self.next_seq - self.first_seq) + len(self.controls)
