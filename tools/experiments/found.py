"""Results as experiments compare them: which they are, and over which events they stretch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson
from experiments.run import Load

from saffron.engine.events.formats.files import read_events
from saffron.experiments.virtual_truth import positions
from saffron.runtime.replay.fused import Query
from saffron.runtime.replay.replay import Replay


@dataclass(frozen=True)
class Found:
    """A result: its query, its id, and the positions of its events, in order."""

    query: str
    id: str
    events: tuple[int, ...]

    @property
    def first(self) -> int:
        return self.events[0]

    @property
    def last(self) -> int:
        return self.events[-1]

    @classmethod
    def of(cls, body: bytes) -> Found:
        result = orjson.loads(body)
        return cls(result["query"], result["id"], tuple(sorted(positions(result["events"]))))


def true_results(load: Load) -> Iterator[Found]:
    """The results of a run without shedding."""
    replay = Replay([Query(name, text) for name, text in load.queries.items()])
    for merged in replay.results(chunk.batch for chunk in read_events([load.events])):
        for texts in merged.json():
            yield from map(Found.of, texts)
