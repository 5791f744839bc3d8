"""The committed position of a routed stream's chain in its source partition."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from saffron.runtime.hops.input_state import InputState
from saffron.runtime.log import Committed


@dataclass(frozen=True)
class RoutePosition:
    """A chain's position in the source partition, its watermark there, and the state of the source topic."""

    position: int
    watermark: int
    input: InputState = InputState()

    def to_committed(self) -> Committed:
        """The form that is committed with the group."""
        metadata = orjson.dumps({"watermark": self.watermark, **self.input.record()})
        return Committed(self.position, metadata.decode())

    @classmethod
    def from_committed(cls, committed: Committed) -> RoutePosition | None:
        """The position in a commit, or None if a chain did not write it."""
        try:
            body = orjson.loads(committed.metadata)
            return cls(committed.offset, int(body["watermark"]), InputState.from_record(body))
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
            return None
