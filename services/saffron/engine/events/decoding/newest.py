"""The version of an inferred schema that knows all of some events."""

from __future__ import annotations

from collections.abc import Iterable

from saffron.engine.events.decoding.decode import Decoder
from saffron.engine.events.decoding.growth import needed
from saffron.engine.events.raw import RawBatch
from saffron.schema.schema import Schema


def newest(schema: Schema, batches: Iterable[RawBatch]) -> Schema:
    """The least version above `schema` that knows all of these events."""
    decoder = Decoder(schema)
    for batch in batches:
        version = needed(decoder.schema, batch, decoder.decode(batch))
        if version is not decoder.schema:
            decoder = Decoder(version)
    return decoder.schema
