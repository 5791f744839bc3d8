"""Sources of events for a replay: files, tables, data frames and dicts as raw batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from saffron.engine.events.formats.tabular_rows import Rows, rows_of
from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.errors import InputError
from saffron.schema.schema import Schema

if TYPE_CHECKING:
    from saffron.runtime.replay.merged_stream import InnerFiles, MergedFiles

BATCH_EVENTS = 8192

_INDEX = "__index_level_"
"""Prefix of the columns that pandas makes of a frame's index in Arrow."""
_OF_ONE_KIND = frozenset(("string", "empty", "boolean", "integer", "floating", "decimal", "bytes"))
"""What pandas calls objects whose values Arrow keeps."""


@dataclass(frozen=True)
class Source:
    """A source of events. `batches(schema)` reads them from the beginning; `again`: it can be called more than once.

    `name`: a description of the events. `ahead`: they are in files, which another thread may read. `merged`: opens the
    files of a merged stream; None: it is none.
    """

    name: str
    batches: Callable[[Schema | None], Iterator[RawBatch]]
    again: bool
    ahead: bool = False
    merged: Callable[[], MergedFiles | InnerFiles] | None = None


def source_of(events: Any) -> Source:
    """The source of `events`: paths, an Arrow table or anything that converts itself to one, or dicts.

    Raises InputError for other types.
    """
    if isinstance(events, str | os.PathLike):
        return _files([os.fspath(events)])
    if isinstance(events, Sequence) and events and all(isinstance(one, str | os.PathLike) for one in events):
        return _files([os.fspath(one) for one in events])
    if hasattr(events, "__arrow_c_stream__"):
        readable_again = not hasattr(events, "read_next_batch")  # a RecordBatchReader is read once
        return Source(f"a {type(events).__name__}", lambda _: _numbered(_tables(events)), again=readable_again)
    if isinstance(events, Mapping) or not isinstance(events, Iterable):
        raise InputError(
            f"events are a {type(events).__name__}; give a path, an Arrow table, a data frame, or an iterable of dicts"
        )
    again = iter(events) is not events
    return Source(f"a {type(events).__name__}", lambda _: _numbered(_objects(events)), again)


def merged_source(
    stream: str | os.PathLike[str], events: Any, partitions: int | None, queries: Iterable[str]
) -> Source:
    """The source of a merged stream: its definition's path, and its topics' files, by topic.

    `queries`: texts, whose look-ups in tables are made. InputError: `events` are no files by topic, or the definition
    cannot be read.
    """
    from saffron.mapping.definition_file import definition_at
    from saffron.runtime.replay.merged_stream import opened

    if not isinstance(events, Mapping) or not events:
        raise InputError('with `stream`, events are files by topic: {"orders": "orders.ndjson", ...}')
    definition = definition_at(stream, queries)
    files = {
        topic: [Path(one)] if isinstance(one, str | os.PathLike) else [*map(Path, one)] for topic, one in events.items()
    }

    def merged() -> MergedFiles | InnerFiles:
        return opened(definition, files, partitions)

    return Source(f"stream {definition.name}", lambda _: merged().batches(), again=True, ahead=True, merged=merged)


def message_batches(messages: Any) -> Iterator[RawBatch]:
    """Messages as lines: a dict or bytes, several of them, or a file's path.

    A dict that is no JSON is refused, as an event is. InputError: they are none of these; it is raised after the
    batches of those before.
    """
    if isinstance(messages, str | os.PathLike):
        from saffron.engine.events.formats.files import read_events

        yield from (chunk.batch for chunk in read_events([os.fspath(messages)], typed=False))
    elif isinstance(messages, bytes | Mapping):
        yield from message_batches([messages])
    elif isinstance(messages, Iterable):
        for some in _parts(messages):
            for form, run in groupby(some, _form):
                yield from _of_one_form(form, list(run))
    else:
        raise InputError(f"messages are a {type(messages).__name__}; give a dict, bytes, several of them, or a path")


def _form(message: Any) -> type:
    """What a message is given as: a Mapping, bytes, or anything else (object)."""
    return next((form for form in (Mapping, bytes) if isinstance(message, form)), object)


def _of_one_form(form: type, messages: list[Any]) -> Iterator[RawBatch]:
    if form is bytes:
        yield batch_of_values(messages)
    elif form is Mapping:
        yield rows_of(messages, 0).batch(np.arange(len(messages), dtype=np.int64))
    else:
        yield from chain.from_iterable(map(message_batches, messages))


def _files(names: list[str]) -> Source:
    """The source of files; standard input (-) can be read only once."""

    def batches(schema: Schema | None) -> Iterator[RawBatch]:
        from saffron.engine.events.formats.files import read_events

        return (chunk.batch for chunk in read_events(names, schema=schema))

    at_once = "-" not in names
    return Source(", ".join(names), batches, again=at_once, ahead=at_once)


def _tables(events: Any) -> Iterator[Rows]:
    """Rows of an Arrow table, or of a data frame some of whose columns Arrow would not read as they are."""
    import pyarrow as pa

    from saffron.engine.events.formats.tabular import require_single, table_events

    is_pandas = hasattr(events, "notna")
    try:
        reader = None if is_pandas and _has_mixed_column(events) else pa.RecordBatchReader.from_stream(events)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:  # one is sparse, a number too large
        if not is_pandas:
            raise InputError(f"the {type(events).__name__} cannot be read as an Arrow table: {error}") from error
        reader = None
    if reader is None:
        require_single("the DataFrame", map(str, events.columns))
        return _objects(events.astype(object).where(events.notna(), None).to_dict("records"))
    kept = [number for number, name in enumerate(reader.schema.names) if not name.startswith(_INDEX)]
    batches = (
        part.select(kept)
        for batch in reader
        for part in (batch.slice(start, BATCH_EVENTS) for start in range(0, len(batch), BATCH_EVENTS))
    )
    names = [reader.schema.names[number] for number in kept]
    return table_events("the table", names, batches)


def _has_mixed_column(frame: Any) -> bool:
    """True if a column of a pandas frame has Python objects that may be of more than one kind, or that have parts.

    Arrow gives such a column one type, and makes 12:00 of 1 May a date, and 5 beside a duration 5 microseconds. Of a
    period it makes a number.
    """
    from pandas.api.types import infer_dtype

    if any(dtype.name.startswith(("period", "interval")) for dtype in frame.dtypes):
        return True
    objects = (frame.iloc[:, place] for place, dtype in enumerate(frame.dtypes) if dtype.name == "object")
    return any(infer_dtype(column, skipna=True) not in _OF_ONE_KIND for column in objects)


def _objects(events: Iterable[Any]) -> Iterator[Rows]:
    return (rows_of(some, 0) for some in _parts(events))


def _parts(given: Iterable[Any]) -> Iterator[list[Any]]:
    """What an iterable gives, in lists of at most BATCH_EVENTS. Its error is raised after what it gave before."""
    source, failure = iter(given), None
    while failure is None:
        some: list[Any] = []
        try:
            some.extend(islice(source, BATCH_EVENTS))  # keeps what came before an error
        except Exception as error:
            failure = error
        if some:
            yield some
        elif failure is None:
            return
    raise failure


def _numbered(batches: Iterable[Rows]) -> Iterator[RawBatch]:
    """Raw batches of rows, numbered from 0."""
    start = 0
    for rows in batches:
        stop = start + len(rows.events)
        yield rows.batch(np.arange(start, stop, dtype=np.int64))
        start = stop
