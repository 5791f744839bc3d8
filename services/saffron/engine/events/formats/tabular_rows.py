"""Rows of a table or file that were made JSON events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.formats.as_json import NoJsonError, event_as_json
from saffron.engine.events.raw import RawBatch, Refusal, batch_of_values


@dataclass(frozen=True)
class Rows:
    """n rows. `events`: [n] JSON; `lines`: [n] 1-based number of the row, or of the line where it begins.

    `refused`: place of a row that is no JSON event (`events` has what it is instead) -> (reason, sentence).
    """

    events: list[bytes]
    lines: list[int]
    refused: Mapping[int, Refusal] = field(default_factory=dict)

    def batch(self, offsets: NDArray[np.int64]) -> RawBatch:
        """The rows as records at these offsets [n]."""
        refused = {int(offsets[place]): why for place, why in self.refused.items()}
        return batch_of_values(self.events, offsets, refused=refused)


def rows_of(events: Iterable[Any], first: int) -> Rows:
    """Events of Python, each a mapping of attributes; the first is row number `first`."""
    texts: list[bytes] = []
    refused: dict[int, Refusal] = {}
    for place, event in enumerate(events):
        try:
            if not isinstance(event, Mapping):
                raise NoJsonError(f"a {type(event).__name__}; each event is a dict with 'type' and 'ts'")
            texts.append(event_as_json(event))
        except NoJsonError as error:
            refused[place] = ("not-json", str(error))
            texts.append(_shown(event).encode("utf-8", "backslashreplace"))
    return Rows(texts, list(range(first, first + len(texts))), refused)


def _shown(event: Any) -> str:
    """What a dead letter has of an event that is no JSON."""
    try:
        return repr(event)
    except Exception:  # of an object of the user's own, or one nested too deep
        return f"a {type(event).__name__} whose repr() fails"
