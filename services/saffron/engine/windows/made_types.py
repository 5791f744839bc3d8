"""Event types that queries make (INTO): events of them that come from outside are none of the stream's.

Such an event would be taken for a result. As the first of its type it would also give the stream a type that a query
makes already, and the query could not be bound again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import orjson

from saffron.engine.events.decoding.exact import parse_object
from saffron.engine.events.decoding.rules.outcomes import Bad
from saffron.engine.events.raw import RawBatch

_ESCAPED = rb"\\[u/]"
"""A name may be written with escapes."""


def without_made(batch: RawBatch, made: Mapping[str, str]) -> RawBatch:
    """The batch with the events of these types refused. `made`: type -> the query that makes it."""
    if not made or not len(batch):
        return batch
    refused = {}
    for row in _rows(batch, made):
        event = None if batch.is_absent(row) else parse_object(batch.value(row))
        kind = None if event is None or isinstance(event, Bad) else event.get("type")
        if isinstance(kind, str) and kind in made:
            why = f"query {made[kind]} makes the events of type {kind!r} (INTO), so that none can come from elsewhere"
            refused[int(batch.offsets[row])] = ("schema", why)
    return replace(batch, refused={**refused, **batch.refused}) if refused else batch


def _rows(batch: RawBatch, made: Mapping[str, str]) -> Iterator[int]:
    """The records that may be of such a type: the text of one is in them."""
    pattern = re.compile(b"|".join([*(re.escape(orjson.dumps(name)) for name in made), _ESCAPED]))
    low = int(batch.starts.min())
    text = batch.buffer[low : int(batch.ends.max())].tobytes()
    if pattern.search(text) is None:
        return
    for row, (start, end) in enumerate(zip(batch.starts.tolist(), batch.ends.tolist(), strict=True)):
        if pattern.search(text, start - low, end - low) is not None:
            yield row
