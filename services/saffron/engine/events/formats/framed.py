"""Messages in the wire format of schema registries, as JSON events: a zero byte, a schema's id, and the payload.

A message that begins with a brace has no frame and is read as JSON. `$watermark`s come so, and events of producers that
do not use the registry yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.errors import one_line

FORMATS = ("json", "json-schema", "avro", "protobuf")
"""The formats of a stream's messages: JSON, or a schema's format in a registry's frame."""
HEAD = 5
"""Bytes of a frame before the payload."""
PLAIN, BROKEN = -1, -2
_BRACE = ord("{")

Reader = Callable[[bytes], bytes]
"""The payload of one writer's schema as a JSON object; ValueError: it is none of that schema, for the reason given."""


@dataclass(frozen=True)
class NoReader:
    """Why nothing by a schema can be read: a code of a dead letter, and a sentence."""

    reason: str
    detail: str


def frame_head(schema: int) -> bytes:
    """The header before a payload of the schema with this id."""
    return b"\0" + schema.to_bytes(HEAD - 1, "big")


def schema_ids(batch: RawBatch) -> NDArray[np.int64]:
    """[n] the id in each record's frame; PLAIN where there is none and need be none, BROKEN where one is missing."""
    found = np.full(len(batch), BROKEN, dtype=np.int64)
    sizes = batch.ends - batch.starts
    some = np.flatnonzero(sizes > 0)
    first = batch.buffer[batch.starts[some]]
    found[some[first == _BRACE]] = PLAIN
    framed = some[(first == 0) & (sizes[some] >= HEAD)]
    head = batch.buffer[batch.starts[framed, None] + np.arange(1, HEAD)].astype(np.int64)
    found[framed] = head @ (1 << np.arange(24, -1, -8))
    return found


def unframed(batch: RawBatch, ids: NDArray[np.int64]) -> RawBatch:
    """The payloads, which are JSON already (format json-schema)."""
    starts = np.where(ids >= 0, batch.starts + HEAD, batch.starts)
    starts = np.where(ids == BROKEN, batch.ends, starts)
    return replace(batch, starts=starts, originals=batch, refused=_broken(batch, ids))


def translated(batch: RawBatch, ids: NDArray[np.int64], readers: Mapping[int, Reader | NoReader]) -> RawBatch:
    """The batch as JSON; `readers`: of every id in it."""
    values: list[bytes] = []
    refused = dict(_broken(batch, ids))
    for row, schema in enumerate(ids.tolist()):
        value = b"" if schema == BROKEN else batch.value(row)
        if schema >= 0:
            reader = readers[schema]
            why = reader if isinstance(reader, NoReader) else None
            if not isinstance(reader, NoReader):
                try:
                    value = reader(value[HEAD:])
                except MemoryError:
                    raise
                except Exception as error:  # a wrong payload, or a schema that promises what it does not keep
                    told = str(error) if isinstance(error, ValueError) else one_line(error, repr)
                    why = NoReader("bad-payload", f"not by schema {schema}, which it names: {told}")
            if why is not None:
                refused[int(batch.offsets[row])] = (why.reason, why.detail)
                value = b""
        values.append(value)
    made = batch_of_values(values, batch.offsets, batch.times)
    return replace(made, traces=batch.traces, originals=batch, refused=refused)


def _broken(batch: RawBatch, ids: NDArray[np.int64]) -> dict[int, tuple[str, str]]:
    return {
        int(batch.offsets[row]): ("no-frame", _why_broken(batch.value(row)))
        for row in np.flatnonzero(ids == BROKEN).tolist()
    }


def _why_broken(value: bytes) -> str:
    expected = "a zero byte and the four bytes of a schema's id"
    if not value:
        return f"the message is empty; expected {expected}"
    return f"begins with {value[:HEAD].hex(' ')}; expected {expected}"
