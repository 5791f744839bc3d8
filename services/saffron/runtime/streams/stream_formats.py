"""What turns a stream's messages into JSON events, where they are of another format."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np

from saffron.distribution import install
from saffron.engine.events.formats.framed import NoReader, Reader, schema_ids, translated, unframed
from saffron.engine.events.raw import RawBatch
from saffron.errors import SchemaError, UnavailableError
from saffron.records.stream import JSON, WITH_REGISTRY, StreamRecord
from saffron.runtime.process.background import Background
from saffron.runtime.streams.registry import Awaited, Registry, WriterSchema, over_http
from saffron.runtime.telemetry.health import Health

_LOG = logging.getLogger(__name__)

_ATTEMPTS = 3
"""To ask a registry, to take its answer, and one more."""

Translation = Callable[[RawBatch], RawBatch | None]
"""A batch as JSON events; None while the registry has not said what it needs to know: try again."""


class Formats:
    """Of all streams of a process. `credentials`: for their registries. `clock`: ms. `background`: where registries
    are asked (a thread of its own, if None)."""

    def __init__(
        self, credentials: str, health: Health, clock: Callable[[], int], background: Background | None = None
    ) -> None:
        self._credentials = credentials
        self._awaited = Awaited(health, _LOG, "events that need it wait")
        self._clock = clock
        self._background = background
        self._threads = ExitStack()
        self._registries: dict[str, _Readers] = {}

    def translation(self, current: Callable[[], StreamRecord]) -> Translation:
        """Of a stream, by its record as it is then: its registry may move."""

        def translate(batch: RawBatch) -> RawBatch | None:
            record = current()
            if record.format == JSON:
                return batch
            if record.format not in WITH_REGISTRY:
                return unframed(batch, schema_ids(batch))
            return self._translate(batch, self._readers(record.registry or ""))

        return translate

    def translated_now(self, record: StreamRecord, batch: RawBatch) -> RawBatch:
        """What `translation` gives, in the end: whoever asks has nothing else to do, and `background` asks at once.

        UnavailableError: the registry does not say what it needs to know.
        """
        translate = self.translation(lambda: record)
        for _ in range(_ATTEMPTS):
            if (made := translate(batch)) is not None:
                return made
        waiting = self._readers(record.registry or "").waiting
        raise UnavailableError(waiting or "the schema registry does not answer")

    def close(self) -> None:
        self._threads.close()

    # ------------------------------------------------------------ inside

    def _readers(self, url: str) -> _Readers:
        if url not in self._registries:
            if self._background is None:
                self._background = self._threads.enter_context(ThreadPoolExecutor(1, "registry")).submit
            self._registries[url] = _Readers(Registry(over_http(url, self._credentials), self._background))
        return self._registries[url]

    def _translate(self, batch: RawBatch, readers: _Readers) -> RawBatch | None:
        ids = schema_ids(batch)
        found = readers.of([one for one in np.unique(ids).tolist() if one >= 0], self._clock())
        if found is None:
            if readers.waiting:
                self._awaited.wait(readers.waiting, self._clock())
            return None
        self._awaited.done()
        return translated(batch, ids, found)


class _Readers:
    """Readers of one registry's schemas, each made once."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._lacking = ""
        self._made: dict[int, Reader | NoReader] = {}

    @property
    def waiting(self) -> str:
        """Why nothing comes; empty while the registry has been asked and may yet answer."""
        return self._lacking or self._registry.waiting

    def of(self, ids: list[int], now_ms: int) -> Mapping[int, Reader | NoReader] | None:
        missing = [one for one in ids if one not in self._made]
        if not missing:
            return self._made
        schemas = self._registry.schemas(missing, now_ms)
        if schemas is None:
            return None
        unknown = {}
        for one, schema in schemas.items():
            if schema is None:
                unknown[one] = NoReader("unknown-schema", f"the registry knows no schema {one}")
                continue
            try:
                self._made[one] = _reader(one, schema)
            except ImportError as error:
                self._lacking = f"schema {one} is {schema.kind}, and {error.name} is missing: {install('registry')}"
                return None
        return {**self._made, **unknown}


def _reader(one: int, schema: WriterSchema) -> Reader | NoReader:
    """For the writer's schema, whatever the stream is said to be: its messages may change from one to the other.

    ImportError: what reads such schemas is not installed.
    """
    try:
        if schema.kind == "AVRO":
            from saffron.engine.events.formats.avro import avro_reader

            return avro_reader(schema.text, [text for _, text in schema.references])
        if schema.kind == "PROTOBUF":
            from saffron.engine.events.formats.protobuf import protobuf_reader

            return protobuf_reader(schema.text, schema.references)
    except SchemaError as error:
        return NoReader("unknown-schema", f"schema {one} cannot be used: {error}")
    return lambda payload: payload
