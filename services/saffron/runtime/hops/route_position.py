"""The committed position of a routed stream's chain in its source partition."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from saffron.runtime.hops.input_state import InputState
from saffron.runtime.log import Committed


@dataclass(frozen=True)
class RoutePosition:
    """A chain's position in the source partition, its watermark there, and the state of the source topic.

    `said`: the watermark that readers of the stream know, which may be lower; None: the same.

    `made_anew`: the number of partitions of a source topic that was created again, and the number of partitions of all
    sources before. It stands until readers of the stream are told which partitions are gone; None: they know.
    """

    position: int
    watermark: int
    input: InputState = InputState()
    made_anew: tuple[int, int] | None = None
    said: int | None = None

    def to_committed(self) -> Committed:
        """The form that is committed with the group."""
        body = {"watermark": self.watermark, **self.input.record()}
        if self.said not in (None, self.watermark):
            body["said"] = self.said
        if self.made_anew is not None:
            body["made_anew"] = self.made_anew
        return Committed(self.position, orjson.dumps(body).decode())

    @classmethod
    def from_committed(cls, committed: Committed) -> RoutePosition | None:
        """The position in a commit, or None if a chain did not write it."""
        try:
            body = orjson.loads(committed.metadata)
            partitions, sources = map(int, body.get("made_anew") or (0, 0))
            made_anew = (partitions, sources) if partitions else None
            watermark = int(body["watermark"])
            said = int(body.get("said", watermark))
            return cls(committed.offset, watermark, InputState.from_record(body), made_anew, said)
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
            return None
