"""Values of NumPy as those of Python that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from saffron.engine.events.formats.times_as_json import Moment, milliseconds
from saffron.schema.iso_times import iso_date, iso_duration

_MONTHS = {"Y": 12, "M": 1}
_SECONDS = {"W": 604_800, "D": 86_400, "h": 3600, "m": 60, "s": 1}
_NANOSECONDS = {"ms": 1_000_000, "us": 1000, "ns": 1, **{unit: n * 1_000_000_000 for unit, n in _SECONDS.items()}}
_OF_A_NANOSECOND = {"ps": 1000, "fs": 1_000_000, "as": 1_000_000_000}


def numpy_value(value: Any) -> Any:
    """A scalar as a value, an array as a list. TypeError: it stands for no value of JSON."""
    if isinstance(value, np.ndarray):
        return _listed(value) if value.ndim else value[()]
    if isinstance(value, np.datetime64 | np.timedelta64):
        return None if np.isnat(value) else _time(value)
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating):
        return float(value)
    raise TypeError(f"JSON has no value of type {type(value).__name__}")


def _listed(array: Any) -> list[Any]:
    plain = array.dtype.kind in "biuSU" or (
        array.dtype.kind == "f" and array.itemsize <= 8 and np.isfinite(array).all()
    )
    return list(array.tolist() if plain else array)


def _time(value: Any) -> Any:
    """A date as text, a time as a Moment, a duration in milliseconds, or as text if its unit has no fixed length."""
    unit, count = np.datetime_data(value.dtype)
    number = int(value.astype(np.int64)) * count
    is_duration = isinstance(value, np.timedelta64)
    if unit in _MONTHS:
        years, month = divmod(number * _MONTHS[unit], 12)
        return iso_duration(12 * years + month, 0, 0) if is_duration else f"{1970 + years:04d}-{month + 1:02d}-01"
    if unit not in _NANOSECONDS and unit not in _OF_A_NANOSECOND:
        raise TypeError(f"a {type(value).__name__} without a unit is no time")
    nanoseconds = number * _NANOSECONDS[unit] if unit in _NANOSECONDS else number // _OF_A_NANOSECOND[unit]
    if is_duration:
        return milliseconds(nanoseconds)
    return iso_date(nanoseconds // _NANOSECONDS["D"]) if unit in ("W", "D") else Moment(nanoseconds, "")
