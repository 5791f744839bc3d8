"""A model of events as records of the `models` topic: parts of a size that every broker takes, put together again.

Each part is sealed by itself. It names its version, its number and the number of parts. Arrays are little-endian, in
base64, cut where a part is full. A model is read once all parts of one version are there. While some are still of an
older version, the last whole model stays in use.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.events.event_arrays import arrays_of, head_of, model_of
from saffron.engine.models.features.event_model import EVENTS, EventModel
from saffron.records.envelope import ModelError, Version, seal, unseal, version_of

MOST_BYTES = 900_000
"""The greatest size of a part. A broker's default limit for messages is 1 MiB."""
MOST_PARTS = 64

_TYPES: dict[str, np.dtype[Any]] = {"u8": np.dtype("<u8"), "f8": np.dtype("<f8"), "i4": np.dtype("<i4")}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}

Piece = tuple[str, int, NDArray[Any]]


def records_of(model: EventModel, most: int = MOST_BYTES) -> list[tuple[bytes, bytes]]:
    """(key, value) of each part: equal models are equal bytes."""
    parts = _packed(_pieces(model, most // 2), most)
    records = []
    for number, pieces in enumerate(parts):
        content: dict[str, Any] = {
            "query": model.query,
            "query_version": model.query_version,
            "kind": EVENTS,
            "version": list(model.version),
            "part": number,
            "parts": len(parts),
            "trained_through": model.trained_through,
            "observations": model.observations,
            "model": {"arrays": [_written(piece) for piece in pieces]},
        }
        if number == 0:
            content["model"]["head"] = head_of(model)
        records.append((part_key(model.query, number), seal(content)))
    return records


def part_key(query: str, number: int) -> bytes:
    """The record's key: QUERY/events for the first part, QUERY/events/NUMBER for the others."""
    return (f"{query}/{EVENTS}" + (f"/{number}" if number else "")).encode()


@dataclass
class EventParts:
    """Parts of one query's model as they come, in any order; those of older versions give way."""

    version: Version | None = None
    held: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    def take(self, key: bytes, value: bytes) -> EventModel | None:
        """The model, if this part completes it. ModelError: the part, or the whole, is refused."""
        content = unseal(value)
        version = version_of(content)
        number, parts = content.get("part"), content.get("parts")
        if not (type(number) is int and type(parts) is int and 0 <= number < parts <= MOST_PARTS):
            raise ModelError("incomplete", f"part {number!r} of {parts!r} is none")
        if part_key(str(content.get("query")), number) != key:
            raise ModelError(
                "query", f"part {number} of {content.get('query')} came under {key.decode(errors='replace')}"
            )
        if self.version is not None and version < self.version:
            raise ModelError("older", f"a part of version {list(version)} came behind one of {list(self.version)}")
        if version != self.version:
            self.version, self.held = version, {}
        self.held[number] = content
        if len(self.held) < parts:
            return None
        return self._whole(version)

    def _whole(self, version: Version) -> EventModel:
        """The model of all parts held. ModelError: a part is missing or wrong."""
        held, self.held = self.held, {}
        try:
            contents = [held[number] for number in range(held[0]["parts"])]
            if any(content["parts"] != len(contents) for content in contents):
                raise ValueError("parts of one version that do not agree how many there are")
            return model_of(contents[0], version, contents[0]["model"]["head"], _read(contents))
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            raise ModelError("incomplete", f"the model of events lacks a part or has a wrong one: {error!r}") from None


def _pieces(model: EventModel, most: int) -> list[Piece]:
    """Arrays cut to `most` bytes."""
    pieces = []
    for name, array in arrays_of(model).items():
        step = max(1, most // array.dtype.itemsize)
        pieces += [(name, at, array[at : at + step]) for at in range(0, max(1, len(array)), step)]
    return pieces


def _packed(pieces: list[Piece], most: int) -> list[list[Piece]]:
    """Pieces by part, none over `most` bytes as base64."""
    parts: list[list[Piece]] = [[]]
    size = most // 4  # the first part has the head besides
    for piece in pieces:
        length = 4 * piece[2].nbytes // 3 + 200
        if size + length > most and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append(piece)
        size += length
    return parts


def _written(piece: Piece) -> dict[str, Any]:
    name, begin, array = piece
    kind = _NAMES[array.dtype.newbyteorder("<")]
    data = base64.b64encode(array.astype(_TYPES[kind]).tobytes()).decode()
    return {"name": name, "from": begin, "type": kind, "data": data}


def _read(contents: list[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
    """The arrays by name, joined from all parts. ValueError: a piece is missing."""
    found: dict[str, list[NDArray[Any]]] = {}
    for piece in (piece for content in contents for piece in content["model"]["arrays"]):
        array = np.frombuffer(base64.b64decode(piece["data"], validate=True), dtype=_TYPES[piece["type"]])
        pieces = found.setdefault(str(piece["name"]), [])
        if sum(map(len, pieces)) != piece["from"]:
            raise ValueError(f"a gap in {piece['name']}")
        pieces.append(array.astype(array.dtype.newbyteorder("=")))
    return {name: np.concatenate(pieces) for name, pieces in found.items()}
