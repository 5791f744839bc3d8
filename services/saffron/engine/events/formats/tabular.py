"""Arrow and Parquet tables as JSON events, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from saffron.engine.events.formats.as_json import NoValue, bytes_as_text, name_as_text, number_as_text
from saffron.engine.events.formats.tabular_rows import Rows, rows_of
from saffron.engine.events.formats.times_as_json import has_offset_of_iso, milliseconds
from saffron.errors import InputError
from saffron.schema.iso_times import NS_OF_DAY, iso_date, iso_duration, iso_of_day, iso_text

BATCH_ROWS = 8192

_TO_MICROSECONDS = len("2026-05-01T12:00:00.000000")
_NO_TIME = (OverflowError, ValueError, KeyError, pa.ArrowException)
"""Raised for a time that Python has not; KeyError: its zone is not known."""
_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1000, "ns": 1}


def parquet_events(name: str, source: Path | bytes, *, typed: bool = True) -> Iterator[Rows]:
    """The rows of a Parquet file; a `ts` that is a timestamp becomes milliseconds, other ones ISO 8601 text."""
    file = pq.ParquetFile(pa.BufferReader(source) if isinstance(source, bytes) else source)
    return table_events(name, file.schema_arrow.names, file.iter_batches(batch_size=BATCH_ROWS), typed=typed)


def table_events(
    name: str, columns: Sequence[str], batches: Iterable[pa.RecordBatch], *, typed: bool = True
) -> Iterator[Rows]:
    """The rows of Arrow batches, as of a Parquet file's. `name`: of the table, for errors. `typed`: it has a `type`."""
    if typed and "type" not in columns:
        raise InputError(f"{name}: has no column 'type', which names the type of each event")
    require_single(name, columns)
    row = 1
    for batch in batches:
        names = batch.schema.names
        values = [_values(column, array) for column, array in zip(names, batch.columns, strict=True)]
        yield rows_of((dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)), row)
        row += batch.num_rows


def require_single(name: str, columns: Iterable[str]) -> None:
    """InputError: two columns, or two fields of a struct, have one name, so that one of them would be lost."""
    twice = sorted(one for one, count in Counter(columns).items() if count > 1)
    if twice:
        raise InputError(f"{name} has {', '.join(map(repr, twice))} twice: give each a name of its own")


def _values(name: str, array: Any) -> list[Any]:
    """The values of a column as Python has them, or as text where Python has none such."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _values(name, array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return _values(name, pc.call_function("run_end_decode", [array]))
    if pa.types.is_timestamp(kind):
        count = _NANOSECONDS[kind.unit]
        return (
            _each(array, lambda t: _ms(t * count))
            if name == "ts"
            else _moments(array, count, "+00:00" if kind.tz else "")
        )
    if pa.types.is_time(kind):
        count = _NANOSECONDS[kind.unit]
        return _each(array, lambda t: _of_day(t * count))
    if pa.types.is_duration(kind):
        count = _NANOSECONDS[kind.unit]
        return _each(array, lambda t: milliseconds(t * count))
    if pa.types.is_date(kind):
        days = array.cast(pa.date32(), safe=False).cast(pa.int32())
        return _each(days, iso_date)
    if pa.types.is_interval(kind):
        return [None if value is None else iso_duration(*value) for value in array.to_pylist()]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _lists(array)
    if pa.types.is_struct(kind):
        return _structs(array)
    if pa.types.is_map(kind):
        return _maps(array)
    if pa.types.is_union(kind):
        return [_values("", pa.array([one.value], one.value.type))[0] if one.is_valid else None for one in array]
    values = _objects(array)
    if pa.types.is_floating(kind) and not pc.all(pc.is_finite(array)).as_py():
        return [value if value is None or np.isfinite(value) else number_as_text(value) for value in values]
    return values


def _lists(array: Any) -> list[Any]:
    """Each list of a column, its items as the values of a column of their own."""
    items = iter(_values("", array.flatten()))
    lengths = pc.list_value_length(array).to_pylist()
    return [None if length is None else list(islice(items, length)) for length in lengths]


def _structs(array: Any) -> list[Any]:
    """Each struct of a column as an object."""
    names = [field.name for field in array.type]
    require_single("a struct of the table", names)
    # Without fields there are no columns that could say how many rows there are.
    rows = zip(*(_values("", part) for part in array.flatten()), strict=True) if names else [()] * len(array)
    return [
        dict(zip(names, row, strict=True)) if valid.as_py() else None
        for row, valid in zip(rows, array.is_valid(), strict=True)
    ]


def _maps(array: Any) -> list[Any]:
    """Each map of a column as an object, its keys as texts."""
    if pa.types.is_nested(array.type.key_type):
        why = f"a map's keys are {array.type.key_type}, and the names of attributes are scalars"
        return [NoValue(why) if valid.as_py() else None for valid in array.is_valid()]
    starts = array.offsets.to_pylist()
    first = starts[0]
    names = [name_as_text(key) for key in _values("", array.keys.slice(first, starts[-1] - first))]
    items = _values("", array.items.slice(first, starts[-1] - first))
    spans = zip(starts, starts[1:], array.is_valid(), strict=False)
    return [
        dict(zip(names[low - first : high - first], items[low - first : high - first], strict=True))
        if valid.as_py()
        else None
        for low, high, valid in spans
    ]


def _each(array: Any, said: Callable[[int], Any]) -> list[Any]:
    """Each value of a column of integers, or of a type stored as such, as text."""
    whole = array if pa.types.is_integer(array.type) else array.view(f"int{array.type.bit_width}")
    return [None if value is None else said(value) for value in whole.to_pylist()]


def _objects(array: Any) -> list[Any]:
    """The values as Python objects. Text of a file may be invalid UTF-8."""
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        return [None if one is None else bytes_as_text(one) for one in array.cast(pa.large_binary()).to_pylist()]


def _of_day(nanoseconds: int) -> Any:
    """A time of day. A file may hold any number as one."""
    if not 0 <= nanoseconds < NS_OF_DAY:
        return NoValue(f"a time of day is {nanoseconds} ns, which is none")
    return iso_of_day(nanoseconds)


def _ms(nanoseconds: int) -> int:
    """Cut off towards the past, before 1970 too."""
    return nanoseconds // 1_000_000


def _moments(array: Any, count: int, zone: str) -> list[Any]:
    """Timestamps for orjson; as text where Python has none such: of years beyond its calendar, or with nanoseconds.

    A zone that is not known is UTC. What one value is does not depend on those around it: halves are tried, until the
    others are alone.
    """
    try:
        us = pa.timestamp("us", tz=array.type.tz)
        return list(array.cast(us).to_pylist())
    except _NO_TIME:
        if len(array) > 1:
            half = len(array) // 2
            return _moments(array[:half], count, zone) + _moments(array[half:], count, zone)
        return _each(array, lambda t: _moment(t * count, array.type.tz, zone))


def _moment(nanoseconds: int, tz: str | None, zone: str) -> str:
    """A moment as text. `zone`: what stands behind a time whose offset Python cannot tell."""
    cut, rest = divmod(nanoseconds, 1000)
    try:
        moment: Any = pa.scalar(cut, pa.timestamp("us", tz=tz)).as_py()
    except _NO_TIME:
        return iso_text(nanoseconds, zone)
    if not has_offset_of_iso(moment):
        return iso_text(nanoseconds, "+00:00")
    near = moment.isoformat(timespec="microseconds")
    return f"{near[:_TO_MICROSECONDS]}{rest:03d}{near[_TO_MICROSECONDS:]}"
