"""Translation of a stream's messages to JSON events, for other message formats."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Protocol

import numpy as np

from saffron.distribution import install
from saffron.engine.events.formats.framed import NoReader, Reader, schema_ids, translated, unframed
from saffron.engine.events.raw import RawBatch
from saffron.errors import SchemaError, UnavailableError, one_line
from saffron.records.stream import JSON_SCHEMA, WITH_REGISTRY, StreamRecord
from saffron.runtime.process.background import Background
from saffron.runtime.streams.registry import Registry, RegistryLog, WriterSchema, over_http

_LOG = logging.getLogger(__name__)

_ATTEMPTS = 3
"""Attempts to translate: one to send the request, one to take the answer, one in reserve."""


class Written(Protocol):
    """The format of messages, as a stream's record or a source of a definition gives it."""

    @property
    def format(self) -> str: ...

    @property
    def registry(self) -> str | None: ...


Translation = Callable[[RawBatch], RawBatch | None]
"""A function from a batch to JSON events. None: the registry has not answered yet; call again."""


class Formats:
    """The translations of all streams of a process.

    `registry_auth`: as the setting, for their registries. `clock`: ms. `background`: runs registry requests; a thread
    for each registry if None, so that none waits for another.
    """

    def __init__(self, registry_auth: str, clock: Callable[[], int], background: Background | None = None) -> None:
        self._registry_auth = registry_auth
        self._wait_log = RegistryLog(_LOG, "events that need it wait")
        self._clock = clock
        self._background = background
        self._threads = ExitStack()
        self._registries: dict[str, _Readers] = {}

    def translation(self, current: Callable[[], Written]) -> Translation:
        """The translation of a topic's messages. `current`: returns what they are now, since a registry may move.

        Messages without a frame (JSON, CSV) are left as they are.
        """

        def translate(batch: RawBatch) -> RawBatch | None:
            written = current()
            made = self._translated(written, batch)
            if made is None and (why := self.waiting(written)):
                self._wait_log.waits(why, self._clock())
            return made

        return translate

    def waiting(self, written: Written) -> str:
        """The reason why messages of this format cannot be translated; "" while the registry may still answer."""
        return self._readers(written.registry or "").waiting if written.format in WITH_REGISTRY else ""

    def translated_now(self, written: Written, batch: RawBatch) -> RawBatch:
        """The translated batch. For callers without other work, with a `background` that runs requests at once.

        UnavailableError: the registry does not answer.
        """
        for _ in range(_ATTEMPTS):
            if (made := self._translated(written, batch)) is not None:
                return made
        raise UnavailableError(self.waiting(written) or "the schema registry does not answer")

    def kinds(self, registry: str) -> Mapping[int, str]:
        """The kinds (AVRO, PROTOBUF, JSON) of the registry's schemas that messages so far were written with, by id."""
        return self._readers(registry).kinds

    def close(self) -> None:
        self._threads.close()

    # ------------------------------------------------------------ inside

    def _readers(self, url: str) -> _Readers:
        if url not in self._registries:
            get = over_http(url, self._registry_auth)
            background = self._background or self._threads.enter_context(ThreadPoolExecutor(1, "registry")).submit
            self._registries[url] = _Readers(Registry(get, background))
        return self._registries[url]

    def _translated(self, written: Written, batch: RawBatch) -> RawBatch | None:
        """The translated batch; None: the registry has not answered yet."""
        if written.format not in WITH_REGISTRY:
            return unframed(batch, schema_ids(batch)) if written.format == JSON_SCHEMA else batch
        ids = schema_ids(batch)
        asked = [one for one in np.unique(ids).tolist() if one >= 0]
        found = self._readers(written.registry or "").of(asked, self._clock())
        return None if found is None else translated(batch, ids, found)


def registry_trouble(record: StreamRecord, why: str) -> str:
    """A stream that waits for a schema registry: which, why, and how to end it."""
    merged = (
        "apply a definition that"
        if record.definition is not None
        else f"saffron stream set {record.name} --registry URL"
    )
    return f"stream {record.name}: {why}: is it up, and SAFFRON_REGISTRY_AUTH right? {merged} names another"


class _Readers:
    """Readers for one registry's schemas, each created once. `kinds`: of the schemas, by id."""

    def __init__(self, registry: Registry) -> None:
        self.kinds: dict[int, str] = {}
        self._registry = registry
        self._missing_package = ""
        self._made: dict[int, Reader | NoReader] = {}

    @property
    def waiting(self) -> str:
        """The reason why no reader comes; "" while a request may still be answered."""
        return self._missing_package or self._registry.waiting

    def of(self, ids: list[int], now_ms: int) -> Mapping[int, Reader | NoReader] | None:
        """The readers by schema id, or None until all are known."""
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
            self.kinds[one] = schema.kind
            try:
                self._made[one] = _reader(one, schema)
            except ImportError as error:
                self._missing_package = (
                    f"schema {one} is {schema.kind}, and {error.name} is missing: {install('registry')}"
                )
                return None
        return {**self._made, **unknown}


def _reader(one: int, schema: WriterSchema) -> Reader | NoReader:
    """The reader for a writer's schema. Its own kind decides, since a stream's messages may change their format.

    ImportError: the package for this kind is not installed.
    """
    try:
        if schema.kind == "AVRO":
            from saffron.engine.events.formats.avro import avro_reader

            return avro_reader(schema.text, [text for _, text in schema.references])
        if schema.kind == "PROTOBUF":
            from saffron.engine.events.formats.protobuf import protobuf_reader

            return protobuf_reader(schema.text, schema.references)
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # whatever stands in a schema, it holds up its own messages alone
        told = str(error) if isinstance(error, SchemaError) else one_line(error, repr)
        return NoReader("unknown-schema", f"schema {one} cannot be used: {told}")
    return lambda payload: payload
